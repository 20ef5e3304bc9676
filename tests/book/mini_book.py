"""Copies of the miniature book, built by the book's own command."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = [
    "_config.yml",
    "requirements.txt",
    "pyproject.toml",
    "blocks/live/live.mjs",
    "blocks/live/hydrate.mjs",
    "scripts/build.py",
    "scripts/publish.py",
    "book/_ext",
    "book/_static",
    "book/_templates",
    "tests/book/chapters.py",
    "tests/book/prose.py",
    "tests/book/test_prose.py",
]


class Book:
    """A copy of the miniature book, built as the book itself is built."""

    def __init__(self, folder: Path):
        self.folder = folder

    @classmethod
    def new(cls, folder: Path) -> "Book":
        shutil.copytree(ROOT / "tests" / "book" / "mini", folder, dirs_exist_ok=True)
        for name in COPIED:
            source, target = ROOT / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                skip = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source, target, dirs_exist_ok=True, ignore=skip)
            else:
                shutil.copy(source, target)
        (folder / "node_modules").symlink_to(ROOT / "node_modules")
        return cls(folder)

    def copy(self, folder: Path) -> "Book":
        """Another like it, with what it has executed."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True, symlinks=True)
        return Book(folder)

    def run(self, *command: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf8",
            timeout=120,
        )
        return done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)

    def build(self) -> tuple[int, str]:
        return self.run("scripts/build.py")

    def page(self, name: str) -> str:
        return (self.folder / "_build/html/book" / f"{name}.html").read_text("utf8")

    def change(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        text = path.read_text("utf8")
        assert old in text
        path.write_text(text.replace(old, new), "utf8")
