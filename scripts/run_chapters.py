"""Runs the code of every chapter as one script each, in the Python that calls it.

For the environment like Colab's, where no book can be built: a chapter there is the
cells alone. The program of each live figure is compared with JAX on the way.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "book"))

from chapters import read_chapters  # noqa: E402

# A cell's display() and magics want an IPython shell around them.
PROGRAM = """
import sys
import against_jax
against_jax.watch()
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in eval(sys.stdin.read()):
    shell.run_cell(cell, silent=False).raise_error()
"""


def run(cells: list[str]) -> int:
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "live")]),
            "JAX_PLATFORMS": "cpu",
            "MPLBACKEND": "agg",
            "IPYTHONDIR": home,
        }
        return subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=repr(cells),
            encoding="utf8",
            env=environment,
            stdout=subprocess.DEVNULL,
        ).returncode


if __name__ == "__main__":
    failed = []
    for chapter in read_chapters(ROOT / "book"):
        if cells := [cell.source for cell in chapter.cells]:
            start = time.perf_counter()
            status = run(cells)
            seconds = time.perf_counter() - start
            print(f"{chapter.name}: {status or 'passed'} {seconds:.1f} s", flush=True)
            failed += [chapter.name] * bool(status)
    if failed:
        sys.exit(
            f"these chapters fail on {sys.version.split()[0]}: {', '.join(failed)}"
        )
