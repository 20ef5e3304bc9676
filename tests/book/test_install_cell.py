"""The first cell of a notebook: what it installs, leaves alone and says. No network."""

import os
import subprocess
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from mini_book import ROOT
from test_commands import script

NAME = "transformer-blocks-book"
OLD, NEW = "0a" * 20, "1b" * 20
FUNCTION = (ROOT / "book/_ext/install_cell.py").read_text("utf8")
RUN = """
prepare({name!r}, {commit!r}, {source!r})
import blocks
print("imported", blocks.COMMIT)
"""


def wheel(
    folder: Path, name: str, version: str, needs: str = "", code: str = ""
) -> str:
    """The address of a package of one module, made by hand."""
    stem = f"{name.replace('-', '_')}-{version}"
    told = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    told += f"Provides-Extra: page\nRequires-Dist: {needs}\n" if needs else ""
    files = {
        "METADATA": told,
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(f"{stem}.dist-info/{file}", text)
        archive.writestr("blocks.py" if code else f"{stem}.txt", code)
    return path.as_uri()


class Runtime:
    """An environment over this one, as a notebook's is over Colab's."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.packages = script("colab_check").overlay(folder)

    def book(self, commit: str, needs: str = "") -> str:
        """A published `blocks` of this commit, whose version is always the same."""
        code = f"COMMIT = {commit!r}\n"
        return wheel(self.folder / commit, NAME, "0.1.0", needs, code)

    def has(self, name: str, version: str) -> None:
        folder = self.packages / f"{name}-{version}.dist-info"
        folder.mkdir()
        told = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / "METADATA").write_text(told)
        (folder / "INSTALLER").write_text("pip")
        (folder / "RECORD").write_text("")

    def run(self, *commits: str, sources: dict[str, str], before: str = "") -> str:
        """What the first cells of notebooks of these commits say in one process."""
        cells = [
            RUN.format(name=NAME, commit=c, source=sources.get(c, "")) for c in commits
        ]
        offers = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.folder / "offered")}
        settings = {"PYTHONPATH": "", "JAX_PLATFORMS": "cpu"} | offers
        done = subprocess.run(
            [
                self.folder / "over/bin/python",
                "-c",
                "\n".join([before, FUNCTION, *cells]),
            ],
            cwd=self.folder,
            env=os.environ | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf8",
        )
        return done.stdout


@pytest.fixture
def runtime(tmp_path):
    return Runtime(tmp_path)


def test_it_installs_the_commit_for_this_process_and_says_with_what_it_runs(runtime):
    said = runtime.run(NEW, sources={NEW: runtime.book(NEW)})
    assert f"imported {NEW}" in said and f"blocks of commit {NEW[:12]}\n" in said
    for words in ("Python 3.", "jax 0.", "numpy ", "on cpu (cpu)"):
        assert words in said


def test_it_installs_nothing_where_that_commit_is_installed(runtime):
    place = {NEW: runtime.book(NEW)}
    runtime.run(NEW, sources=place)
    Path(place[NEW].removeprefix("file://")).unlink()
    assert f"imported {NEW}" in runtime.run(NEW, NEW, sources=place)


def test_another_commit_that_is_not_loaded_is_replaced_at_the_same_version(runtime):
    places = {commit: runtime.book(commit) for commit in (OLD, NEW)}
    assert f"imported {OLD}" in runtime.run(OLD, sources=places)
    assert f"imported {NEW}" in runtime.run(NEW, sources=places)


def test_another_commit_that_is_loaded_is_said_each_time_with_how_to_restart(runtime):
    places = {commit: runtime.book(commit) for commit in (OLD, NEW)}
    for _ in range(2):
        said = runtime.run(OLD, NEW, sources=places)
        last = said.strip().splitlines()[-1]
        assert last == (
            f"RuntimeError: blocks of commit {OLD[:12]} is loaded, and this chapter "
            f"wants {NEW[:12]}: restart the session (menu Runtime or Kernel), "
            "then run this cell again"
        )


def test_what_is_missing_comes_along_and_what_is_there_is_not_upgraded(runtime):
    wheel(runtime.folder / "offered", "a-new-one", "1.0")
    wheel(runtime.folder / "offered", "an-accelerator", "0.8")
    runtime.has("an_accelerator", "0.7.2+cuda12")
    # What pip cannot read, what hides another and what has no name must not stop it.
    if tuple(map(int, metadata.version("pip").split(".")[:2])) < (24, 1):
        # From then on pip itself stops at such a version, whatever it installs.
        runtime.has("of_the_system", "2.4-ubuntu4")
    runtime.has("six", "1.0")
    (runtime.packages / "nameless-1.0.dist-info").mkdir()
    needs = "\nRequires-Dist: ".join(
        ["a-new-one; extra == 'page'", "an-accelerator>=0.7", "six"]
    )
    assert f"imported {NEW}" in runtime.run(
        NEW, sources={NEW: runtime.book(NEW, needs)}
    )
    assert (runtime.packages / "a_new_one-1.0.txt").exists()
    assert (runtime.packages / "an_accelerator-0.7.2+cuda12.dist-info").exists()

    needs = "an-accelerator>=0.8"
    said = runtime.run(OLD, sources={OLD: runtime.book(OLD, needs)})
    assert f"RuntimeError: pip could not install {NAME}: " in said
    assert (runtime.packages / "an_accelerator-0.7.2+cuda12.dist-info").exists()


def test_a_notebook_without_an_address_takes_what_can_be_imported_or_says_how(runtime):
    said = runtime.run("", sources={})
    assert "RuntimeError: this notebook does not know where its package is" in said
    (runtime.folder / "blocks.py").write_text("COMMIT = 'of a folder'")
    assert "imported of a folder" in runtime.run("", sources={})
