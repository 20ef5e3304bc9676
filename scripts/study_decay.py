"""Trains every cell of learning rate by weight decay: `make study-decay`.

Ten grids, five forms of decay on two networks, several seeds each; the engine is
blocks/studies/decay.py, the measures are in blocks/studies/surfaces.py. Writes
results/decay.json, where numbers are whole to be short: `mistakes` of 1,000 test images
at the end (seed, learning rate, decay), and the curves (learning rate, decay, point) as
means over seeds, `loss` in hundredths of a nat (999: that or more, or not a number) and
`error` in hundredths.
"""

import datetime
import json
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench import processor

from blocks.studies import decay, digits, surfaces

CELLS, SEEDS, POINTS = 18, 6, 10
LOSS_LIMIT = 999


def one_grid(form: str, network: decay.Network, cells: int, seeds: int) -> dict:
    """What is stored of one form on one network; seeds are the keys 0, 1, …"""
    rates, decays = decay.axes(form, cells)
    data = digits.load_digits()
    runs = [
        decay.grid(
            jax.random.key(seed), form, network, data, rates, decays, points=POINTS
        )
        for seed in range(seeds)
    ]
    loss = np.mean([run.loss for run in runs], axis=0)
    errors = np.stack([run.error for run in runs])
    final = jnp.asarray(errors[..., -1])
    mean = final.mean(axis=0)
    low, high = surfaces.shift_interval(jax.random.key(0), final, rates, decays)
    measures = {
        "shift": surfaces.shift(mean, rates, decays),
        "low": low,
        "high": high,
        "cost": surfaces.common_cost(mean),
        "least_error": mean.min(),
    }
    return {
        **{name: round(float(value), 4) for name, value in measures.items()},
        "usable_rows": int(surfaces.usable_rows(mean).sum()),
        "log10_rates": np.log10(rates).round(4).tolist(),
        "log10_decays": np.log10(decays).round(4).tolist(),
        "mistakes": whole(errors[..., -1], digits.TESTED),
        "loss": whole(np.nan_to_num(loss, nan=np.inf), 100, LOSS_LIMIT),
        "error": whole(errors.mean(axis=0), 100),
    }


def whole(values: np.ndarray, unit: int, limit: int | None = None) -> list:
    """Nested lists of `values` in parts of `unit`, rounded, none above `limit`."""
    parts = unit * np.asarray(values, float)
    return np.minimum(parts, limit or np.inf).round().astype(int).tolist()


def study(cells: int = CELLS, seeds: int = SEEDS) -> dict[str, Any]:
    """Everything that is stored; says each grid's measures as it goes."""
    start, grids = time.perf_counter(), {}
    for name, network in decay.NETWORKS.items():
        grids[name] = {}
        for form in decay.FORMS:
            stored = one_grid(form, network, cells, seeds)
            grids[name][form] = stored
            print(
                "{0:10} {1:8} shift {shift:5.2f} [{low:5.2f}, {high:5.2f}]  cost "
                "{cost:4.1f}  least error {least_error:.3f}  rows {usable_rows}".format(
                    name, form, **stored
                ),
                flush=True,
            )
    libraries = "jax", "jaxlib", "scikit-learn"
    return {
        "command": "make study-decay",
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "versions": {
            "Python": platform.python_version(),
            **{library: version(library) for library in libraries},
        },
        "seconds": round(time.perf_counter() - start),
        "seeds": seeds,
        "updates": [(k + 1) * network.updates // POINTS for k in range(POINTS)],
        "grids": grids,
    }


def as_text(value: Any, indent: str = "") -> str:
    """JSON with one entry of a dictionary to a line, and lists without spaces."""
    if not isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    inner = f"{indent} "
    lines = [f"{inner}{json.dumps(k)}: {as_text(v, inner)}" for k, v in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def main() -> None:
    stored = study()
    file = ROOT / "results" / "decay.json"
    file.write_text(as_text(stored) + "\n", encoding="utf-8")
    size = file.stat().st_size // 1000
    print(f"written: {file.relative_to(ROOT)}, {size} KB, {stored['seconds']} s")


if __name__ == "__main__":
    main()
