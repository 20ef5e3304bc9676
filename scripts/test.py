"""Runs every check of the book, some side by side, and says how long each took.

`test.py lint` runs those alone whose names are given. A part that fails does not stop
the others; what depends on it is not run and counts as failed. Where all are run, a
part that names what it reads is passed over as long as nothing of that has changed
since it passed.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import unchanged

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "_build" / "logs"
HERE, COLAB = ".venv/bin/python", ".venv-colab/bin/python"
PACKAGE = "-m pytest -q --ignore tests/book --ignore tests/browser"
CHAPTERS = "tests/book/test_chapters.py"
PAGES = "tests/browser/test_pages.py tests/browser/test_site.py"
IGNORED = " ".join(f"--ignore {path}" for path in PAGES.split())
CHROMIUM = Path("/usr/bin/chromium")
# One more than there are processors: a part in the browser often waits.
LANES = (os.cpu_count() or 1) + 1
GOOD = {"passed", "unchanged"}


@dataclass
class Part:
    """One check: its commands, one after another, and the parts that go before it."""

    says: str
    commands: list[str]
    after: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()


LOCKS = "requirements.txt", "requirements-colab.txt", "package-lock.json"
CODE = "blocks", "results", "scripts", "tests", "pyproject.toml", "Makefile", *LOCKS
BOOK = "book", "_config.yml", "_toc.yml", ".github"
ENVIRONMENT = f"{sys.executable} scripts/environment.py"
PARTS = {
    "environment": Part("the versions of the book", [f"{ENVIRONMENT} book"]),
    "colab environment": Part("the versions of Colab", [f"{ENVIRONMENT} colab"]),
    "build": Part(
        "builds the book from cold",
        [f"{HERE} scripts/build.py"],
        after=("environment",),
    ),
    "lint": Part(
        "format, style and types",
        [
            f"{HERE} -m ruff format --check .",
            f"{HERE} -m ruff check .",
            f"{HERE} -m basedpyright blocks",
        ],
        after=("environment",),
    ),
    "package": Part(
        "the package, shapes checked",
        [f"{HERE} {PACKAGE}"],
        after=("environment",),
        reads=CODE,
    ),
    "pages": Part(
        "the built pages in Chromium",
        [f"{HERE} -m pytest -q {PAGES}"],
        after=("build",),
    ),
    "figures": Part(
        "live figures in Chromium, also in two notebooks",
        [f"{HERE} -m pytest -q tests/browser {IGNORED}"],
        after=("build", "colab environment"),
    ),
    "book": Part(
        "prose, notebooks, planted faults",
        [f"{HERE} -m pytest -q tests/book --ignore {CHAPTERS}"],
        after=("environment",),
        reads=CODE + BOOK,
    ),
    # What the build has compiled need not be compiled again.
    "chapters": Part(
        "the chapters' shape, exercises and programs",
        [f"{HERE} -m pytest -q {CHAPTERS}"],
        after=("build",),
        reads=CODE + BOOK,
    ),
    "colab": Part(
        "the package on the versions of Colab",
        [f"{COLAB} {PACKAGE}"],
        after=("colab environment",),
        reads=CODE,
    ),
    "notebooks": Part(
        "each chapter's notebook alone, on the versions of Colab",
        [f"{COLAB} scripts/colab_check.py --changed"],
        after=("build", "colab environment"),
    ),
}


def digest(part: Part) -> str:
    return unchanged.digest(ROOT, part.reads, repr(part))


def is_unchanged(part: Part) -> bool:
    """Whether a part has passed on just what it would read now."""
    return bool(part.reads) and unchanged.is_kept(ROOT, digest(part))


def run(name: str) -> tuple[str, float]:
    """Run one part into its log; how it ended, and its seconds."""
    start, status, before = time.perf_counter(), 0, digest(PARTS[name])
    with (LOGS / f"{name.replace(' ', '-')}.log").open("w") as log:
        for command in PARTS[name].commands:
            status = subprocess.run(
                command.split(), cwd=ROOT, stdout=log, stderr=subprocess.STDOUT
            ).returncode
            if status:
                break
    if not status:
        unchanged.keep(ROOT, before)
    return "FAILED" if status else "passed", time.perf_counter() - start


def tell(name: str, outcome: str, seconds: float) -> None:
    """Say how a part ended; where it failed, with all that it wrote."""
    print(f"{outcome}  {name} {seconds:.1f} s", flush=True)
    if outcome == "FAILED":
        print((LOGS / f"{name.replace(' ', '-')}.log").read_text(), flush=True)


def run_all(names: list[str]) -> dict[str, tuple[str, float]]:
    """Every part once those before it have passed; how each ended, and its seconds."""
    ended: dict[str, tuple[str, float]] = {}
    waiting, running = list(names), dict[Future, str]()
    with ThreadPoolExecutor(LANES) as pool:
        while waiting or running:
            for name in list(waiting):
                before = [part for part in PARTS[name].after if part in names]
                outcomes = [ended[part][0] for part in before if part in ended]
                if not GOOD.issuperset(outcomes):
                    ended[name] = ("not run", 0.0)
                elif len(outcomes) < len(before):
                    continue
                elif names == list(PARTS) and is_unchanged(PARTS[name]):
                    ended[name] = ("unchanged", 0.0)
                else:
                    running[pool.submit(run, name)] = name
                waiting.remove(name)
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for job in done:
                name = running.pop(job)
                ended[name] = job.result()
                tell(name, *ended[name])
    return ended


def main(names: list[str]) -> bool:
    """Run the parts of these names, or all; whether one of them has not passed."""
    if unknown := set(names) - PARTS.keys():
        sys.exit(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    LOGS.mkdir(parents=True, exist_ok=True)
    chosen = names or list(PARTS)
    for name in chosen:
        print(f"  {name:18} {PARTS[name].says}", flush=True)
    ended = run_all(chosen)
    print("\nhow long each part took")
    for name in chosen:
        print(f"  {name:18} {ended[name][1]:6.1f} s  {ended[name][0]}")
    if "pages" in chosen and not CHROMIUM.exists():
        print("Chromium is missing; install it with: apt-get install chromium")
    return not GOOD.issuperset(outcome for outcome, _ in ended.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
