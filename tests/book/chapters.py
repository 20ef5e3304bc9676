"""Reads chapters as tests need them: cells, directives, headings, prose, in order."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^(`{3,}|~{3,}|:{3,})\s*(\{[^}]+\}|[\w+-]*)\s*(.*)$")
OPTION = re.compile(r"^:([\w-]+):\s*(.*)$")
LABEL = re.compile(r"^\([\w:.-]+\)=\s*$")


@dataclass(frozen=True)
class Block:
    """One piece of a chapter.

    `kind` is cell, directive, code, heading, math or prose. What stands inside a
    directive follows it, with the directive's name and argument in `within`.
    """

    kind: str
    line: int
    source: str
    name: str = ""
    argument: str = ""
    options: dict[str, str] = field(default_factory=dict)
    within: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Chapter:
    name: str
    blocks: tuple[Block, ...]

    @property
    def cells(self) -> list[Block]:
        return [block for block in self.blocks if block.kind == "cell"]

    @property
    def headings(self) -> list[str]:
        return [block.source for block in self.blocks if block.kind == "heading"]

    def directives(self, name: str) -> list[Block]:
        return [b for b in self.blocks if b.kind == "directive" and b.name == name]

    def solution(self, label: str) -> str:
        """The Python of the solution of one exercise."""
        wanted = ("solution", label)
        parts = [b for b in self.blocks if b.kind == "code" and b.within == wanted]
        return "\n".join(part.source for part in parts if part.name == "python")


def _options(body: list[str]) -> tuple[dict[str, str], int]:
    """The `:name: value` lines at the head of a directive, and how many there are."""
    found = {}
    for count, line in enumerate(body):
        match = OPTION.match(line)
        if not match:
            return found, count
        found[match[1]] = match[2]
    return found, len(body)


def _fenced(
    lines: list[str], at: int, first: int, within: tuple[str, str]
) -> tuple[list[Block], int]:
    """The blocks of the fence that opens at `at`, and the index after its end."""
    match = FENCE.match(lines[at])
    assert match
    marks, info, argument = match[1], match[2].strip("{}"), match[3].strip()
    end = at + 1
    while end < len(lines) and not re.fullmatch(
        rf"{marks[0]}{{{len(marks)},}}\s*", lines[end]
    ):
        end += 1
    body, line = lines[at + 1 : end], first + at
    if not match[2].startswith("{"):
        return [Block("code", line, "\n".join(body), info, within=within)], end + 1
    options, count = _options(body)
    rest = "\n".join(body[count:])
    if info == "code-cell":
        return [Block("cell", line, rest, info, argument, options, within)], end + 1
    if info == "math":
        return [Block("math", line, rest, info, argument, options, within)], end + 1
    directive = Block("directive", line, rest, info, argument, options, within)
    inner = _parse(body[count:], line + 1 + count, (info, argument))
    return [directive, *inner], end + 1


def _parse(
    lines: list[str], first: int, within: tuple[str, str] = ("", "")
) -> Iterator[Block]:
    """The blocks of some lines, the first of which has the number `first`."""
    paragraph: list[str] = []
    at = 0

    def prose() -> Iterator[Block]:
        if paragraph:
            start = first + at - len(paragraph)
            yield Block("prose", start, "\n".join(paragraph), within=within)
            paragraph.clear()

    while at < len(lines):
        line = lines[at]
        if FENCE.match(line):
            yield from prose()
            blocks, at = _fenced(lines, at, first, within)
            yield from blocks
        elif line.lstrip().startswith("$$"):
            yield from prose()
            end = at
            while "$$" not in (lines[end].strip()[2:] if end == at else lines[end]):
                end += 1
            text = "\n".join(lines[at : end + 1]).replace("$$", "")
            yield Block("math", first + at, re.sub(r"\([\w:.-]+\)\s*$", "", text))
            at = end + 1
        elif match := re.match(r"^#{1,6}\s+(.*)$", line):
            yield from prose()
            yield Block("heading", first + at, match[1], within=within)
            at += 1
        elif not line.strip() or LABEL.match(line) or line.startswith(("%", "+++")):
            yield from prose()
            at += 1
        else:
            paragraph.append(line)
            at += 1
    yield from prose()


def parse_chapter(name: str, text: str) -> Chapter:
    """A chapter from the text of its file."""
    lines, first = text.splitlines(), 1
    if lines and lines[0] == "---":
        end = lines.index("---", 1)
        lines, first = lines[end + 1 :], end + 2
    return Chapter(name, tuple(_parse(lines, first)))


def read_chapters(folder: Path) -> list[Chapter]:
    """All chapters of a book's folder, by name."""
    paths = sorted(folder.glob("*.md"))
    return [parse_chapter(path.stem, path.read_text("utf8")) for path in paths]
