"""Runs each notebook of the built book as Colab would, two side by side.

Called with the Python of the environment like Colab's. A notebook lies alone in an
empty folder; its kernel lives in an environment of its own that sees Colab's packages
and no checkout, so that its first cell really installs `blocks`, from a wheel that is
built here. On the way the program of each live figure is compared with JAX. With
`--changed` a notebook that has passed is passed over as long as nothing has changed.
"""

import ast
import json
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import nbformat
import unchanged
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "_build" / "html" / "notebooks"
SECONDS = 180  # for one cell
# What a notebook is run with.
READ = "blocks", "results", "scripts", "tests/live"
READ += "pyproject.toml", "requirements-colab.txt"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
WATCH = f"""
import sys
sys.path.append({str(ROOT / "tests" / "live")!r})
import against_jax
against_jax.watch()"""
# What only the book's own parser understands, and what leads nowhere from Colab.
LEFT_OVER = {
    "a role": r"\{[a-z][\w:.-]*\}`",
    "a directive": r"^\s*>?\s*(?:`{3,}|~{3,}|:{3,})\s*\{",
    "a fence of colons": r"^\s*>?\s*:{3,}",
    "a label": r"^\s*\([\w:.-]+\)=\s*$|\$\$\s*\([\w:.-]+\)",
    "an option": r"^\s*:[a-z][\w-]*:(?:\s|$)",
    "a comment": r"^%|^\+\+\+",
    "a substitution": r"\{\{.*\}\}",
    "a relative link": r"\]\((?!https?://|data:|mailto:)",
    "a picture beside the page": r"<img[^>]*src=[\"'](?!https?://|data:)",
}
# Code and formulas hold anything; of each a mark is left, for a role stands before one.
HELD = [
    (r"^(?P<quote>[> ]*)(?P<fence>`{3,})(?!\{)[^`\n]*\n.*?^(?P=quote)(?P=fence)$", ""),
    (r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", "`"),
    (r"\$\$.*?\$\$", "$$"),
    (r"(?<!\$)\$(?!\$)[^$\n]+\$", "$"),
]


def left_over(markdown: str) -> list[str]:
    """What in this Markdown is not plain, with its name."""
    for held, mark in HELD:
        markdown = re.sub(held, lambda _, mark=mark: mark, markdown, flags=re.M | re.S)
    found = ((k, re.search(v, markdown, re.M)) for k, v in LEFT_OVER.items())
    return [f"{name}: {match[0].strip()}" for name, match in found if match]


def prepared(source: str) -> tuple[str, str]:
    """The name and the commit that the first cell of a notebook installs."""
    return ast.literal_eval(source.rsplit("\nprepare", 1)[1])[:2]


def pointed_at(wheel: str, source: str) -> str:
    """The first cell of a notebook with this wheel in the place of its archive."""
    name, commit = prepared(source)
    head = source.rsplit("\n", 1)[0]
    return f"{head}\nprepare({name!r}, {commit!r}, {wheel!r})"


def build_wheel(folder: Path) -> str:
    """The address of a wheel of this tree."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", folder, ROOT], check=True)
    return next(folder.glob("*.whl")).as_uri()


def overlay(folder: Path) -> Path:
    """The packages of a new environment over the one that runs this."""
    command = [sys.executable, "-m", "venv", "--without-pip", folder / "over"]
    subprocess.run(command, check=True)
    packages = next((folder / "over").glob("lib/python*/site-packages"))
    (packages / "below.pth").write_text(sysconfig.get_path("purelib"))
    kernel = folder / "kernels" / "over" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    python = str(folder / "over" / "bin" / "python")
    start = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    settings = {
        # Nothing but the wheel may be fetched: all else that is needed is in Colab.
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": "",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "JAX_PLATFORMS": "cpu",
        # Most of the time goes into compiling, and each program runs but once.
        "XLA_FLAGS": "--xla_backend_optimization_level=0 "
        "--xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false "
        "--xla_cpu_parallel_codegen_split_count=1",
        "IPYTHONDIR": str(folder / "ipython"),
    }
    told = {"argv": start, "display_name": "over", "language": "python"}
    kernel.write_text(json.dumps(told | {"env": settings}))
    return packages


def plain_faults(book: NotebookNode) -> list[str]:
    """What a reader of Colab would see that is meant for another reader."""
    faults = []
    for number, cell in enumerate(book.cells):
        if cell.cell_type == "markdown":
            faults += [f"cell {number} has {x}" for x in left_over(cell.source)]
        elif cell.outputs or cell.execution_count:
            faults.append(f"cell {number} has an output")
    return faults


def run(book: NotebookNode, wheel: str) -> None:
    """Run a notebook alone; an error of its own where it does not stand."""
    book.cells[0].source = pointed_at(wheel, book.cells[0].source) + WATCH
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        packages = overlay(folder)
        (folder / "alone").mkdir()
        specs = KernelSpecManager(kernel_dirs=[str(folder / "kernels")])
        kernel = AsyncKernelManager(kernel_name="over", kernel_spec_manager=specs)
        where = {"metadata": {"path": str(folder / "alone")}}
        client = NotebookClient(book, km=kernel, resources=where, timeout=SECONDS)
        client.execute(cleanup_kc=True)
        installed = [found.name for found in packages.glob("*.dist-info")]
    if len(installed) != 1:
        raise ValueError(f"its first cell must install blocks alone, not {installed}")


def digest(path: Path, book: NotebookNode) -> str:
    """Names a notebook, whatever its commit, and all that it is run with."""
    told, commit = path.read_text("utf8"), prepared(book.cells[0].source)[1]
    return unchanged.digest(ROOT, READ, told.replace(commit or " ", " "))


def check(path: Path, wheel: str, *, changed: bool = False) -> bool:
    """Whether a notebook stands in Colab; says so, and why it does not."""
    start, book = time.perf_counter(), nbformat.read(path, 4)
    name = digest(path, book)
    if changed and unchanged.is_kept(ROOT, name):
        print(f"{path.stem}: unchanged", flush=True)
        return True
    faults = plain_faults(book)
    if not faults:
        try:
            run(book, wheel)
        except Exception as error:  # a cell that fails, a kernel that dies
            faults = [ANSI.sub("", str(error)).strip()]
    if not faults:
        unchanged.keep(ROOT, name)
    said = "\n".join(faults) or "passed"
    print(f"{path.stem}: {said} {time.perf_counter() - start:.1f} s", flush=True)
    return not faults


if __name__ == "__main__":
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    if not paths:
        sys.exit("there are no notebooks in _build/html: run `make build` first")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        wheel = build_wheel(Path(folder))
        of_all = partial(check, wheel=wheel, changed="--changed" in sys.argv)
        stand = list(pool.map(of_all, paths))
    if failed := [p.stem for p, good in zip(paths, stand, strict=True) if not good]:
        sys.exit(f"these notebooks fail on Colab's versions: {', '.join(failed)}")
