"""Writes requirements.txt and requirements-colab.txt from the ranges in pyproject.toml.

Both hold for Python 3.11 to 3.13. uv resolves them; where it is missing, it is put
into an environment that lasts as long as this call.
"""

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMON = "pip compile --universal --python-version 3.11 --no-annotate --quiet --upgrade"
LOCKS = {
    "requirements.txt": ["--extra", "test", "pyproject.toml"],
    "requirements-colab.txt": ["--group", "colab"],
}


def lock(uv: str) -> None:
    for name, source in LOCKS.items():
        command = [uv, *COMMON.split(), "--custom-compile-command", "make lock"]
        print(f"resolving {name}", flush=True)
        subprocess.run([*command, *source, "-o", name], cwd=ROOT, check=True)


if __name__ == "__main__":
    if found := shutil.which("uv"):
        lock(found)
        sys.exit()
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        lock(str(Path(folder, "bin", "uv")))
