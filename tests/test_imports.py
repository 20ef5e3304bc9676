"""The numerics stand alone: what draws and displays is loaded by those who ask."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOADED = """
import sys
import blocks
unwanted = "matplotlib IPython ipywidgets anywidget tqdm".split()
unwanted += ["blocks.page", "blocks.live"]
print(*(name for name in unwanted if name in sys.modules), sep=", ")
print(blocks.__file__)
"""


def test_importing_blocks_loads_no_figure_notebook_or_widget():
    output = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True
    )
    assert output.returncode == 0, output.stderr
    loaded, file = output.stdout.splitlines()
    assert loaded == ""
    assert Path(file) == ROOT / "blocks" / "__init__.py"
