"""The tables of versions and of the seconds that each chapter took to execute."""

import platform
from importlib.metadata import version

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

NAMED = "jax", "jaxlib", "numpy", "matplotlib", "anywidget", "jupyter-book", "sphinx"


def table(head: list[str], rows: list[list[str]]) -> nodes.table:
    """A table of plain words under a line of heads."""
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    parts = nodes.thead(), nodes.tbody()
    for part, lines in zip(parts, ([head], rows), strict=True):
        for line in lines:
            row = nodes.row()
            row += [nodes.entry("", nodes.paragraph(text=word)) for word in line]
            part += row
    group += parts
    return nodes.table("", group, classes=["table"])


class Versions(Directive):
    """`versions`: what made this book, and how long it took."""

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        made = [["Python", platform.python_version()]]
        made += [[name, version(name)] for name in NAMED]
        times = [
            [page, f"{t['execution_seconds']:.1f}", f"{t['slowest_cell']:.1f}"]
            for page, t in env.execution_times.items()
        ]
        return [
            table(["library", "version"], made),
            table(["chapter", "seconds", "slowest cell"], times),
        ]


def setup(app: Sphinx) -> None:
    app.add_directive("versions", Versions)
