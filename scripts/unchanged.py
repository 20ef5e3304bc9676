"""What has passed, kept under `_build/passed` by the digest of all that it read."""

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

# Variables that change what a check does.
SETTINGS = "TEST_SEED", "JAX_", "XLA_"


def digest(root: Path, names: Iterable[str], *told: str) -> str:
    """Names the settings, what is told, and the files and folders of these names."""
    set_now = sorted(x for x in os.environ.items() if x[0].startswith(SETTINGS))
    total = hashlib.sha256(f"{sys.version} {set_now} {told}".encode())
    for path in (root / name for name in names):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                total.update(f"{file.relative_to(root)} {file.stat().st_size}".encode())
                total.update(file.read_bytes())
    return total.hexdigest()


def is_kept(root: Path, digest: str) -> bool:
    return (root / "_build" / "passed" / digest).exists()


def keep(root: Path, digest: str) -> None:
    path = root / "_build" / "passed" / digest
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
