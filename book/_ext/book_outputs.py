"""What a cell may show on a page, where there is no kernel and not everybody sees."""

from html.parser import HTMLParser

from nbformat import NotebookNode

WIDGET = "application/vnd.jupyter.widget-view+json"


class _Pictures(HTMLParser):
    """Collects the pictures of an HTML output that say nothing to who cannot see."""

    def __init__(self) -> None:
        super().__init__()
        self.mute: list[str] = []
        self.inside = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "svg":
            self.inside += 1
            named = (
                given.get("role") == "img" and (given.get("aria-label") or "").strip()
            )
            if self.inside == 1 and not named and given.get("aria-hidden") != "true":
                self.mute.append('<svg> without role="img" and aria-label')
        elif tag == "img" and not (given.get("alt") or "").strip():
            self.mute.append("<img> without alt")

    def handle_endtag(self, tag: str) -> None:
        if tag == "svg":
            self.inside -= 1


def output_faults(output: NotebookNode) -> list[str]:
    """The reasons why one output may not stand on a page."""
    if output.output_type == "stream":
        if output.name == "stderr":
            return [f"writes to stderr: {output.text.strip()[:300]}"]
        return []
    data = output.get("data", {})
    if any(kind.startswith("image/") for kind in data):
        kind = next(kind for kind in data if kind.startswith("image/"))
        return [f"shows {kind}, which has no alt text: use picture(fig, alt=…)"]
    if WIDGET in data and "text/html" not in data:
        return ["shows a widget alone; without a kernel it needs text/html beside it"]
    if "text/html" in data:
        pictures = _Pictures()
        pictures.feed("".join(data["text/html"]))
        return [f"a figure without alt text: {mute}" for mute in pictures.mute]
    return []


def faults(notebook: NotebookNode) -> list[str]:
    """The same for all code cells, each with its number and first line."""
    found = []
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(cells, start=1):
        first = (cell.source.strip().splitlines() or ["(empty)"])[0]
        for output in cell.outputs:
            reasons = output_faults(output)
            found += [f"code cell {number} ({first}) {reason}" for reason in reasons]
    return found
