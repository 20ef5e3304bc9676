"""The book's Sphinx extension: executes, checks, typesets and finishes its pages."""

import book_bibliography
import book_execution
import book_formulas
import book_live
import book_pages
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    parts = book_bibliography, book_execution, book_formulas, book_live, book_pages
    for part in parts:
        part.setup(app)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
