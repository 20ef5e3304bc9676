"""Builds the book into _build/html, from cold, with every warning an error.

Only the executed cells are kept from one build to the next (see book/_ext). Call it
with the Python of the environment that has the requirements.
"""

import shutil
import sys
from pathlib import Path

from jupyter_book.cli.main import main

ROOT = Path(__file__).resolve().parents[1]


def build() -> None:
    # A page that is not read again does not warn again, and what an earlier build left
    # would be taken for this one's.
    for folder in ("html", ".doctrees", "jupyter_execute"):
        shutil.rmtree(ROOT / "_build" / folder, ignore_errors=True)
    try:
        main(["build", str(ROOT), "-W", "--keep-going", "--all", *sys.argv[1:]])
    except RuntimeError:  # it has said why; where in its own code helps nobody
        sys.exit("the book did not build: the reasons stand above")


if __name__ == "__main__":
    build()
