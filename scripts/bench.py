"""Times the blocks against flax, equinox, jax.nn and optax: `make bench`.

Writes results/bench.json. What is compared stands in bench_cases.py, and how it is
timed in bench_pairs.py.
"""

import datetime
import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import bench_pairs


def report(
    cases: Sequence[bench_pairs.Case], ratios: np.ndarray, *, libraries: Sequence[str]
) -> dict[str, Any]:
    """What `blocks.page.ratios` reads, and the number of pairs."""
    rows = []
    for case, pairs in zip(cases, ratios, strict=True):
        ratio, low, high = (
            round(value, 3) for value in bench_pairs.median_with_interval(pairs)
        )
        names = {"block": case.block, "what": case.what, "against": case.against}
        rows.append({**names, "ratio": ratio, "low": low, "high": high})
    versions = {name: version(name) for name in libraries}
    return {
        "command": "make bench",
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "versions": {"Python": platform.python_version(), **versions},
        "pairs": ratios.shape[1],
        "rows": rows,
    }


def processor() -> str:
    """Its kind, and how many of its cores this process may use."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    kinds = [line.split(":")[1].strip() for line in lines if "model name" in line]
    allowed = getattr(os, "sched_getaffinity", None)
    cores = len(allowed(0)) if allowed else os.cpu_count()
    return f"{kinds[0] if kinds else platform.machine()}, {cores} cores"


def main() -> None:
    from bench_cases import cases

    chosen = list(cases())
    ratios = bench_pairs.measure(chosen)
    libraries = "jax", "flax", "equinox", "optax"
    stored = report(chosen, ratios, libraries=libraries)
    for row in stored["rows"]:
        print("{ratio:6.2f} ({low:.2f} to {high:.2f}) {what} / {against}".format(**row))
    file = ROOT / "results" / "bench.json"
    file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(f"written: {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
