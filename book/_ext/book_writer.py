"""Writes a resolved page as plain Markdown: what stands inside a line.

Plain means what Colab and Jupyter show alike: no roles, no directives, `$` for formulas
and `details` for what is folded. A node without a rule is a fault of the page.
"""

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from docutils import nodes

RULES: dict[str, Callable[..., str]] = {}
SPECIAL = re.compile(
    r"[\\`*$]|\](?=[(\[:])|(?<!\w)_|_(?!\w)|~(?=~)|!$|<(?=[a-zA-Z/!?])|&(?=#?\w+;)"
)
BLOCK_START = re.compile(r"(#{1,6}|[-+>]|\d+[.)])(?=\s|$)|(-{3,}|={3,})$")


@dataclass
class Page:
    """What a page's nodes do not say themselves."""

    name: str  # "book/rotary"
    site: str  # where the book is read, "" if that is not known
    sections: dict[str, tuple[int, ...]]  # their numbers, as Sphinx keeps them
    numbers: dict[str, dict[str, tuple[int, ...]]]  # of figures, equations, exercises
    formats: dict[str, str]  # "Figure %s"
    embed: Callable[[str], str]  # the address of an image, complete in itself


@dataclass
class Writer:
    page: Page
    works: dict[str, str] = field(default_factory=dict)  # where a cited work is read
    quoted: int = 0
    faults: list[str] = field(default_factory=list)

    def __call__(self, node: nodes.Node) -> str:
        rule = RULES.get(node.tagname)
        if rule is None:
            self.fault(node, f"`{name_of(node)}` has no form in plain Markdown")
            return ""
        return rule(self, node)

    def fault(self, node: nodes.Node, reason: str) -> None:
        while not node.line and node.parent is not None:
            node = node.parent
        self.faults.append(f"{self.page.name}.md:{node.line}: {reason}")

    def text(self, node: nodes.Element) -> str:
        """What stands inside, as one line: so no line begins like a list."""
        return " ".join("".join(map(self, node.children)).split())

    def parts(self, node: nodes.Element) -> Iterator[str]:
        return filter(None, map(self, node.children))

    def blocks(self, node: nodes.Element) -> str:
        return "\n\n".join(self.parts(node))

    def number(self, kind: str, node: nodes.Element) -> str:
        """ "Exercise 3.1", "(3.1)" of an equation; nothing for what has no number."""
        known = self.page.numbers.get(kind, {})
        found = next((known[i] for i in node["ids"] if i in known), ())
        number = ".".join(map(str, found))
        return self.page.formats.get(kind, "%s") % number if number else ""


def rule(*names: str) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Make a function the rule for the nodes of these names."""

    def keep(function: Callable[..., str]) -> Callable[..., str]:
        RULES.update(dict.fromkeys(names, function))
        return function

    return keep


def name_of(node: Any) -> str:
    """The name by which an author knows a node."""
    return node.get("design_component") or node.get("nb_element") or node.tagname


@rule("#text")
def text(write: Writer, node: nodes.Text) -> str:
    html = {"<": "&lt;", "&": "&amp;"}
    return SPECIAL.sub(lambda m: html.get(m[0], f"\\{m[0]}"), node.astext())


@rule("inline", "generated")
def inline(write: Writer, node: nodes.inline) -> str:
    return "".join(map(write, node.children))


@rule("emphasis", "title_reference")
def emphasis(write: Writer, node: nodes.emphasis) -> str:
    return f"*{write.text(node)}*"


@rule("strong")
def strong(write: Writer, node: nodes.strong) -> str:
    return f"**{write.text(node)}**"


@rule("subscript")
def subscript(write: Writer, node: nodes.subscript) -> str:
    return f"<sub>{write.text(node)}</sub>"


@rule("superscript")
def superscript(write: Writer, node: nodes.superscript) -> str:
    return f"<sup>{write.text(node)}</sup>"


@rule("literal")
def literal(write: Writer, node: nodes.literal) -> str:
    code = " ".join(node.astext().split())
    fence = "`" * (longest(code) + 1)
    pad = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{fence}{pad}{code}{pad}{fence}"


def longest(code: str) -> int:
    """The length of the longest run of backticks."""
    return max(map(len, re.findall("`+", code)), default=0)


@rule("math")
def math(write: Writer, node: nodes.math) -> str:
    return f"${formula(node.astext())}$"


def formula(tex: str) -> str:
    """On one line, where no quotation mark of Markdown comes in between."""
    tex = re.sub(r"(?<!\\)%.*", "", tex)
    # What looks like a tag is taken for one before it is set as a formula.
    return " ".join(re.sub(r"<(?=[a-zA-Z/!?])", "< ", tex).split())


@rule("reference", "number_reference")
def reference(write: Writer, node: nodes.reference) -> str:
    shown, target = inline(write, node), node.get("refuri", "")
    if not re.match(r"[a-z]+:", target):
        fragment = node.get("refid") or target.partition("#")[2]
        work = "" if target.partition("#")[0] else write.works.get(fragment, "")
        target = work or online(write.page, target, fragment)
    target = target.translate({40: "%28", 41: "%29", 32: "%20"})
    return f"[{shown.strip()}]({target})" if target else shown


def online(page: Page, target: str, fragment: str) -> str:
    """A place in the book as it is read online, from a link relative to its page."""
    if not page.site:
        return ""
    path = target.partition("#")[0]
    place = posixpath.join(posixpath.dirname(page.name), path)
    place = posixpath.normpath(place) if path else f"{page.name}.html"
    return f"{page.site}{place}#{fragment}" if fragment else f"{page.site}{place}"


@rule("image")
def image(write: Writer, node: nodes.image) -> str:
    alt = " ".join(node.get("alt", "").replace("[", "(").replace("]", ")").split())
    if not alt:
        write.fault(node, "an image without alt text")
    return f"![{alt}]({write.page.embed(node['uri'])})"


@rule("comment", "target", "index", "toctree", "meta", "substitution_definition")
def nothing(write: Writer, node: nodes.Node) -> str:
    return ""
