"""Writes a resolved page as plain Markdown: paragraphs, lists, tables, what is folded.

`pieces` gives a page in order: strings of Markdown, and the numbers of its cells.
"""

import html
from collections.abc import Iterator

from book_formulas import display_tex
from book_writer import BLOCK_START, Writer, formula, longest, name_of, rule
from docutils import nodes
from sphinx.locale import admonitionlabels


def is_cell(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def pieces(write: Writer, node: nodes.Element, level: int = 0) -> Iterator[str | int]:
    """The content of a page or a section."""
    for child in node.children:
        if isinstance(child, nodes.section):
            yield from pieces(write, child, level + 1)
        elif isinstance(child, nodes.title):
            key = f"#{node['ids'][0]}" if level > 1 else ""
            number = write.page.sections.get(key) or ()
            head = "".join(f"{part}." for part in number)
            yield " ".join(filter(None, ["#" * level, head, write.text(child)]))
        elif is_cell(child):
            yield child["cell_index"]
        elif piece := write(child):
            yield piece


@rule("paragraph", "compact_paragraph")
def paragraph(write: Writer, node: nodes.paragraph) -> str:
    line = write.text(node)
    if match := BLOCK_START.match(line):
        at = match.end() - 1 if line[0].isdigit() else 0
        line = f"{line[:at]}\\{line[at:]}"
    return line


@rule("compound", "glossary", "section", "container", "legend")
def plain(write: Writer, node: nodes.Element) -> str:
    if is_cell(node):
        write.fault(node, "a code cell stands inside another block")
    elif node.get("design_component") or node.get("nb_element"):
        write.fault(node, f"`{name_of(node)}` has no form in plain Markdown")
    return write.blocks(node)


@rule("rubric")
def rubric(write: Writer, node: nodes.rubric) -> str:
    return f"**{write.text(node)}**"


@rule("transition")
def transition(write: Writer, node: nodes.transition) -> str:
    return "---"


@rule("literal_block", "doctest_block")
def literal_block(write: Writer, node: nodes.literal_block) -> str:
    code, language = node.astext().rstrip(), node.get("language", "")
    language = {"ipython3": "python", "default": "", "none": ""}.get(language, language)
    fence = "`" * max(3, longest(code) + 1)
    return f"{fence}{language}\n{code}\n{fence}"


@rule("math_block")
def math_block(write: Writer, node: nodes.math_block) -> str:
    tex, number = display_tex(node), write.number("displaymath", node)
    tag = rf"\tag{{{number}}}" if number else ""
    # Readers set a formula before they take the quotation marks off its lines.
    if write.quoted:
        return f"$${formula(tex)} {tag}$$"
    lines = filter(str.strip, [*map(formula, tex.splitlines()), tag])
    return "\n".join(["$$", *lines, "$$"])


@rule("block_quote")
def quote(write: Writer, node: nodes.Element, title: str = "") -> str:
    write.quoted += 1
    text = "\n\n".join(filter(None, [title, write.blocks(node)]))
    write.quoted -= 1
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def folded(summary: str, text: str) -> str:
    head = f"<details>\n<summary>{html.escape(summary, quote=False)}</summary>"
    return f"{head}\n\n{text}\n\n</details>"


def taken_title(node: nodes.Element) -> nodes.Element | None:
    """The title of a box, taken out of it."""
    first = node.next_node(nodes.title, descend=True)
    if first is not None and first.parent is node:
        node.remove(first)
        return first
    return None


@rule("admonition", "exercise_node", "exercise_enumerable_node", "solution_node")
@rule("note", "tip", "hint", "important", "attention", "warning", "caution", "danger")
@rule("error", "seealso")
def box(write: Writer, node: nodes.Element) -> str:
    """A quotation under its title; one that the page folds is folded here as well."""
    title = taken_title(node)
    words = [write.number("exercise", node)]
    if title is None:
        words.append(str(admonitionlabels.get(node.tagname, "")))
    elif "dropdown" in node["classes"]:
        words.append(" ".join(title.astext().split()))
    else:
        words.append(write.text(title))
    head = " ".join(filter(None, words))
    if "dropdown" in node["classes"]:
        return folded(head, write.blocks(node))
    return quote(write, node, f"**{head}**")


@rule("bullet_list", "enumerated_list")
def bullet_list(write: Writer, node: nodes.Element) -> str:
    first = node.get("start", 1) if "enumtype" in node else None
    items = []
    for count, item in enumerate(node.children):
        mark = "- " if first is None else f"{first + count}. "
        items.append(indented(mark, write.blocks(item)))
    tight = all("\n\n" not in item for item in items)
    return ("\n" if tight else "\n\n").join(items)


def indented(mark: str, text: str) -> str:
    """An item of a list: its mark, and its other lines below its first letter."""
    first, *others = text.splitlines() or [""]
    rest = (f"{' ' * len(mark)}{line}".rstrip() for line in others)
    return "\n".join([f"{mark}{first}", *rest])


@rule("definition_list")
def definition_list(write: Writer, node: nodes.definition_list) -> str:
    items = []
    for item in node.children:
        terms = [f"**{write.text(t)}**" for t in item.findall(nodes.term)]
        body = "\n\n".join(write.blocks(d) for d in item.findall(nodes.definition))
        items.append(indented("- ", f"{', '.join(terms)}: {body}"))
    return "\n".join(items)


@rule("citation")
def citation(write: Writer, node: nodes.citation) -> str:
    # A page that is resolved anew carries each entry's content once more.
    body = next(node.findall(nodes.paragraph))
    return indented("- ", write(body))


@rule("figure")
def figure(write: Writer, node: nodes.figure) -> str:
    number = write.number("figure", node)
    parts = []
    for child in node.children:
        if isinstance(child, nodes.caption):
            parts.append(f"*{' '.join(filter(None, [number, write.text(child)]))}*")
        else:
            parts.append(write(child))
    return "\n\n".join(filter(None, parts))


@rule("table")
def table(write: Writer, node: nodes.table) -> str:
    """With a row of heads, which Markdown asks for, and one line in each cell."""
    title = taken_title(node)
    rows = [[cell(write, e) for e in row] for row in node.findall(nodes.row)]
    if not list(node.findall(nodes.thead)):
        rows.insert(0, [""] * len(rows[0]))
    sides = {"text-left": ":--", "text-right": "--:", "text-center": ":-:"}
    rule = []
    for entry in next(node.findall(nodes.row)):
        rule.append(next((sides[c] for c in entry["classes"] if c in sides), "---"))
    lines = [f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]]]
    if title is not None:
        words = write.number("table", node), write.text(title)
        lines = [f"*{' '.join(filter(None, words))}*", "", *lines]
    return "\n".join(lines)


def cell(write: Writer, entry: nodes.entry) -> str:
    for inner in entry.findall(nodes.math):
        tex = inner.astext().replace(r"\|", r"\Vert ").replace("|", r"\vert ")
        inner.children = [nodes.Text(tex)]
    if any(not isinstance(child, nodes.paragraph) for child in entry):
        write.fault(entry, "a cell of a table holds more than paragraphs")
    return "<br>".join(map(write.text, entry.children)).replace("|", r"\|")
