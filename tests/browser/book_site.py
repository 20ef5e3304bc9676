"""The built book behind a plain file server, under a path as on a static host."""

import functools
import os
import threading
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Another book can be named, to see the checks fail on one with faults.
HTML = Path(os.environ.get("BOOK_HTML", ROOT / "_build" / "html"))
PREFIX = "/some/book"
# The redirect of the front page is no page of its own, and the page for the lost has a
# host's root for its own.
BESIDE = HTML / "index.html", HTML / "404.html"
PAGES = sorted(
    path.relative_to(HTML).as_posix()
    for path in HTML.rglob("*.html")
    if path not in BESIDE and "_static" not in path.parts
)
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Handler(SimpleHTTPRequestHandler):
    def translate_path(self, path: str) -> str:
        if not path.startswith(PREFIX):
            return str(Path(self.directory, "outside-of-the-book"))
        return super().translate_path(path.removeprefix(PREFIX) or "/")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path = HTML):
    """Yields the address of the book, or another folder, while it is being served."""
    handler = functools.partial(Handler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{PREFIX}/"
        server.shutdown()
