"""Finishes the written pages: no icon script, and names for screen readers."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import book_address
from sphinx.application import Sphinx

# The theme draws its icons twice, by a style sheet and by half a megabyte of script.
ICON_SCRIPT = re.compile(r"\s*<(?:script|link)[^>]*fontawesome\.js[^>]*>(?:</script>)?")
REPAIRS = [
    # A label that differs from the words in the button hides those words from speech.
    (
        re.compile(r'(<button class="[^"]*search-button[^>]*?)\s+aria-label="Search"'),
        r"\1",
    ),
    (
        re.compile(r'(<button class="[^"]*theme-switch-button[^>]*?)\s+aria-label="'),
        r'\1 title="',
    ),
    (re.compile(r'<summary aria-label="Toggle hidden content">'), "<summary>"),
    # The book's name and contents stand in no landmark.
    (
        re.compile(r'(<dialog|<div) id="pst-primary-sidebar"'),
        r'\1 id="pst-primary-sidebar" role="complementary" aria-label="Contents"',
    ),
    # Roles of a list and of its items that those elements may not have.
    (
        re.compile(r'<div role="list" class="citation-list">'),
        '<div class="citation-list">',
    ),
    (re.compile(r' role="doc-(?:biblioentry|backlink)"'), ""),
    # Every exercise and solution of a page would bear the same id.
    (re.compile(r' id="(?:exercise|solution)-content"'), ""),
]

# A host shows this page at any depth, so that its addresses begin at the host.
RELATIVE = re.compile(r'\b(href|src|action)="(?![a-z]+:|[#/])([^"]*)"')


def finish(app: Sphinx, failure: Exception | None) -> None:
    if failure or app.builder.name != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = ICON_SCRIPT.sub("", page.read_text("utf8"))
        for fault, repair in REPAIRS:
            text = fault.sub(repair, text)
        page.write_text(text, "utf8")
    for script in Path(app.outdir, "_static", "scripts").glob("fontawesome.js*"):
        script.unlink()
    lost = Path(app.outdir, "404.html")
    if lost.exists():
        root = urlsplit(book_address.find(Path(app.srcdir)).site).path.rstrip("/")
        text = RELATIVE.sub(rf'\1="{root}/\2"', lost.read_text("utf8"))
        lost.write_text(text, "utf8")
    # Some static hosts leave out folders that begin with an underscore without this.
    Path(app.outdir, ".nojekyll").touch()


def setup(app: Sphinx) -> None:
    app.connect("build-finished", finish)
