"""Measurements that scripts of the repository made and stored, for the chapters."""

import json
from pathlib import Path
from typing import Any

from blocks.page.tables import Table

MEANING = "ratio: time of the other / time of ours; above 1, ours is quicker"


def results(name: str) -> dict[str, Any]:
    """What `results/<name>.json` holds; ValueError names the files that there are."""
    folder = _folder()
    names = sorted(file.stem for file in folder.glob("*.json"))
    if name not in names:
        there = ", ".join(names) or "none yet"
        raise ValueError(f"no stored results named {name!r}; there are: {there}")
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def ratios(block: str, name: str = "bench") -> Table:
    """The rows of `block` in the stored benchmark `name`, as a table.

    The file holds `command`, `date` (ISO), `processor`, `versions` (of each library)
    and `rows`, each with `block`, `what`, `against`, `ratio` (the median of their time
    over ours), `low` and `high` (the 95 % interval of that median).
    Raises ValueError if it has no row of `block`.
    """
    stored = results(name)
    rows = [row for row in stored["rows"] if row["block"] == block]
    if not rows:
        there = ", ".join(sorted({row["block"] for row in stored["rows"]})) or "none"
        raise ValueError(f"{name} measures no block {block!r}; it has: {there}")
    versions = ", ".join(f"{k} {v}" for k, v in stored["versions"].items())
    return Table(
        ("what", "against", "ratio", "95 % interval"),
        [
            (
                row["what"],
                row["against"],
                f"{row['ratio']:.2f}",
                f"{row['low']:.2f} to {row['high']:.2f}",
            )
            for row in rows
        ],
        f"{stored['command']}, {stored['date']}, {stored['processor']}, "
        f"{versions}; {MEANING}.",
    )


def _folder() -> Path:
    """Inside the package when it was installed, beside it in a checkout."""
    inside = Path(__file__).parent / "results"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "results"
