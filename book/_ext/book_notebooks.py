"""Gives each chapter a notebook in plain Markdown, and each page its links.

The notebooks lie in `notebooks/` of the built book. One has the chapter's cells, none
of their outputs, and a first cell that installs the package of the very commit.
"""

import base64
import html
import mimetypes
import posixpath
import tomllib
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import book_address
import nbformat
from book_blocks import is_cell, pieces
from book_writer import Page, Writer
from docutils import nodes
from nbformat import NotebookNode, v4
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

TITLE = "#@title Run this cell first: it installs the package of this chapter"
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
address_of = cache(book_address.find)


def page_of(app: Sphinx, name: str, site: str) -> Page:
    sources = {file: source for source, file in app.builder.images.items()}

    def embed(uri: str) -> str:
        uri = sources.get(posixpath.basename(uri), uri)
        if ":" in uri:
            return uri
        kind = mimetypes.guess_type(uri)[0]
        content = base64.b64encode(Path(app.srcdir, uri).read_bytes()).decode()
        return f"data:{kind};base64,{content}"

    return Page(
        name,
        site,
        app.env.toc_secnumbers.get(name, {}),
        app.env.toc_fignumbers.get(name, {}),
        app.config.numfig_format,
        embed,
    )


def works(doctree: nodes.document) -> dict[str, str]:
    """Where each work in the page's own list can be read, by its id."""
    found = {}
    for entry in doctree.findall(nodes.citation):
        for link in list(entry.findall(nodes.reference))[:1]:
            found |= dict.fromkeys(entry["ids"], link["refuri"])
    return found


def code_cell(cell: NotebookNode) -> NotebookNode:
    """A cell without what it showed; what the page folds is folded."""
    tags, metadata = set(cell.metadata.get("tags", [])), {}
    if tags & HIDDEN:
        metadata = {"cellView": "form", "jupyter": {"source_hidden": True}}
    if "raises-exception" in tags:
        metadata["tags"] = ["raises-exception"]
    return v4.new_code_cell(cell.source, metadata=metadata)


def first_cell(root: Path, address: book_address.Address) -> NotebookNode:
    source = Path(__file__).with_name("install_cell.py").read_text("utf8")
    function = source[source.index("def ") :]
    name = tomllib.loads((root / "pyproject.toml").read_text("utf8"))["project"]["name"]
    commit = address.commit if address.archive else ""
    call = f'prepare("{name}", "{commit}", "{address.archive}")'
    return v4.new_code_cell(
        f"{TITLE}\n{function}\n\n{call}",
        metadata={"cellView": "form", "jupyter": {"source_hidden": True}},
    )


def notebook_of(
    app: Sphinx, name: str, doctree: nodes.document, executed: NotebookNode
) -> NotebookNode:
    """A chapter as a notebook; ExtensionError with every place that has no form."""
    root = Path(app.srcdir)
    address = address_of(root)
    write = Writer(page_of(app, name, address.site), works(doctree))
    title = write.text(next(doctree.findall(nodes.title)))
    book = app.config.html_title
    if address.site:
        book = f"[{book}]({address.site})"
        title = f"[{title}]({address.site}{app.builder.get_target_uri(name)})"
    cells = [
        first_cell(root, address),
        v4.new_markdown_cell(f"*A chapter of {book}: {title}.*"),
    ]
    done = 0

    def add_code(upto: int) -> None:
        """The cells before this one, with those that the page leaves out."""
        sources = executed.cells[done:upto]
        cells.extend(code_cell(c) for c in sources if c.cell_type == "code")

    for piece in pieces(write, doctree.deepcopy()):
        if isinstance(piece, int):
            add_code(piece + 1)
            done = piece + 1
        elif piece.startswith("#") or cells[-1].cell_type == "code":
            cells.append(v4.new_markdown_cell(piece))
        else:
            cells[-1].source += f"\n\n{piece}"
    add_code(len(executed.cells))
    if write.faults:
        raise ExtensionError("no notebook can be made:\n" + "\n".join(write.faults))
    for number, cell in enumerate(cells):
        cell.id = f"{posixpath.basename(name)}-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "colab": {"provenance": []}}
    return v4.new_notebook(cells=cells, metadata=metadata)


def link(target: str, words: str, more: str = "") -> str:
    return f'<a href="{html.escape(target)}"{more}>{words}</a>'


def add(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write the notebook of a page that is being written, and link to it."""
    if doctree is None or app.builder.name != "html":
        return
    root, above, below = Path(app.srcdir), [], []
    address, short = address_of(root), posixpath.basename(name)
    if any(map(is_cell, doctree.findall(nodes.container))):
        executed = nbformat.read(root / "_build" / "notebooks" / f"{name}.ipynb", 4)
        target = Path(app.outdir, "notebooks", f"{short}.ipynb")
        target.parent.mkdir(exist_ok=True)
        nbformat.write(notebook_of(app, name, doctree, executed), target)
        if place := address.colab(short):
            above.append(link(place, "Open in Colab"))
        file = context["pathto"](f"notebooks/{short}.ipynb", 1)
        above.append(link(file, "Download notebook (.ipynb)", " download"))
    source = Path(app.env.doc2path(name))
    if address.repository and source.is_relative_to(root / "book"):
        path = source.relative_to(root).as_posix()
        if address.branch:
            edit = f"{address.repository}/edit/{address.branch}/{path}"
            below.append(link(edit, "Edit this page"))
        place = f"{path}, commit {address.commit}"
        told = {"title": f"A mistake in {path}", "body": f"In {place}:\n\n"}
        report = f"{address.repository}/issues/new?{urlencode(told)}"
        below.append(link(report, "Report a mistake"))
    head, mark, rest = context["body"].partition("</h1>")
    links = [f'\n<p class="page-links">{"".join(x)}</p>\n' for x in (above, below) if x]
    if above:
        rest = links.pop(0) + rest
    context["body"] = head + mark + rest + "".join(links)


def setup(app: Sphinx) -> None:
    app.add_css_file("page_links.css")
    app.connect("html-page-context", add)
