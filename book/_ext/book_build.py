"""The book's Sphinx extension: executes, checks, typesets and finishes its pages."""

import sys

import book_api
import book_bibliography
import book_execution
import book_formulas
import book_icons
import book_live
import book_notebooks
import book_pages
import book_versions
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    sys.path.insert(0, str(app.srcdir))  # the API page imports the package
    for part in (
        book_api,
        book_bibliography,
        book_execution,
        book_formulas,
        book_notebooks,
        book_live,
        book_pages,
        book_icons,  # after the pages are finished
        book_versions,
    ):
        part.setup(app)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
