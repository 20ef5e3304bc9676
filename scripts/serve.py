"""Serves the built book on localhost, on the first free port from 8000 on."""

import functools
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
FIRST, LAST = 8000, 8100


class Quiet(SimpleHTTPRequestHandler):
    """A file server that does not write a line for each request."""

    def log_request(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    # With reuse, a port that another server still holds could look free.
    allow_reuse_address = False


def free_server(first: int = FIRST, last: int = LAST) -> Server:
    """A server on the first free port of the range; OSError where none is free."""
    handler = functools.partial(Quiet, directory=str(HTML))
    for port in range(first, last):
        try:
            return Server(("127.0.0.1", port), handler)
        except OSError:
            continue
    raise OSError(f"no port from {first} to {last - 1} is free")


if __name__ == "__main__":
    if not (HTML / "index.html").exists():
        sys.exit("there is no book in _build/html: run `make build` first")
    with free_server() as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        print(f"the book is at {address} (stop with Ctrl+C)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
