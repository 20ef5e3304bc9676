"""The method of `make bench`: two functions that agree, timed in interleaved pairs.

In each round every case is timed as pairs, ours and theirs straight after each other,
so that whatever else keeps the processor busy slows both, and no case alone.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

ROUNDS = 20
LIMIT = 150  # seconds after which no round begins
SAMPLE = 0.02  # seconds that one side of a pair takes, where a call is shorter
SEED = 0
TOLERANCE = 1e-4  # of the largest number in an output

Layer = tuple[Callable, Any]  # f(params, x) and its params
Side = tuple[Callable, tuple]  # a compiled function and its arguments


class Case(NamedTuple):
    """`ours` and `theirs` must agree in what `compared` takes from their outputs."""

    block: str
    what: str
    against: str
    ours: Side
    theirs: Side
    compared: Callable[[Any], Any] = lambda outputs: outputs


def forward(layer: Layer, x: jax.Array) -> Side:
    return jax.jit(layer[0]), (layer[1], x)


def backward(layer: Layer, x: jax.Array) -> Side:
    """The result, and the gradients by x and by the parameters."""
    f, params = layer
    y = jax.eval_shape(f, params, x)
    # Unlike any x: along its own input a norm has no gradient to compare.
    g = jax.random.normal(jax.random.key(1234), y.shape)

    def run(params, x, g):
        y, back = jax.vjp(f, params, x)
        by_params, by_x = back(g)
        return y, by_x, by_params

    return jax.jit(run), (params, x, g)


def everything(outputs: Any) -> Any:
    """With the gradients by parameters sorted: libraries differ in their layout."""
    if not isinstance(outputs, tuple):
        return outputs
    y, by_x, by_params = outputs
    flat = [np.ravel(leaf) for leaf in jax.tree.leaves(by_params)]
    return y, by_x, np.sort(np.concatenate(flat)) if flat else ()


def first(outputs: Any) -> Any:
    return outputs[0] if isinstance(outputs, tuple) else outputs


def size_alone(outputs: Any) -> Any:
    """For two blocks that differ by design, so that the size alone must agree."""
    return np.array(first(outputs).shape)


def both_ways(
    block: str,
    name: str,
    x: jax.Array,
    ours: Layer,
    rivals: dict[str, Layer],
    compared: Callable = everything,
) -> Iterator[Case]:
    """A case forward, and one with the gradients, against each rival."""
    for rival, theirs in rivals.items():
        for way, side in ("forward", forward), ("forward and backward", backward):
            what = f"{name}, {way}, {tuple(x.shape)}"
            yield Case(block, what, rival, side(ours, x), side(theirs, x), compared)


def call(side: Side) -> Any:
    """The outputs of a side, once they are there."""
    f, arguments = side
    return jax.block_until_ready(f(*arguments))


def require_agreement(case: Case) -> None:
    """Raise ValueError where the sides of a case differ in structure or in numbers."""
    name = f"{case.block}: {case.what} against {case.against}"
    ours, theirs = (
        [np.asarray(leaf) for leaf in jax.tree.leaves(case.compared(call(side)))]
        for side in (case.ours, case.theirs)
    )
    shapes = [[leaf.shape for leaf in leaves] for leaves in (ours, theirs)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"{name}: shapes must agree; they are {shapes}")
    for a, b in zip(ours, theirs, strict=True):
        error, largest = np.max(np.abs(a - b)), np.max(np.abs(b))
        # Said this way round, NaN fails too.
        if not error <= TOLERANCE * largest:
            raise ValueError(
                f"{name}: outputs must agree to {TOLERANCE} of the largest number, "
                f"{largest:.4g}; they differ by {error:.4g}"
            )


def seconds(side: Side, calls: int) -> float:
    """The mean time of a call, after one that warms the caches and is not counted."""
    call(side)
    start = time.perf_counter()
    for _ in range(calls):
        call(side)
    return (time.perf_counter() - start) / calls


def calls_per_sample(side: Side) -> int:
    return max(1, round(SAMPLE / min(seconds(side, 1) for _ in range(3))))


def measure(cases: Sequence[Case], *, rounds: int = ROUNDS) -> np.ndarray:
    """Their time over ours: a row for each case, a column for each pair.

    A round has two pairs of each case, either A B B A or B A A B, drawn by the seed.
    No round begins after `LIMIT`.
    """
    from tqdm import tqdm

    for case in tqdm(cases, desc="compiling, comparing", unit="case"):
        require_agreement(case)
    sides = [(case.ours, case.theirs) for case in cases]
    calls = [[calls_per_sample(side) for side in pair] for pair in sides]
    draw = np.random.default_rng(SEED)
    ratios: list[list[float]] = [[] for _ in cases]
    end = time.perf_counter() + LIMIT
    with tqdm(total=rounds * len(cases), desc="timing", unit="case") as bar:
        for _ in range(rounds):
            if time.perf_counter() > end:
                break
            for row, leader in enumerate(draw.integers(2, size=len(cases))):
                for first in (leader, 1 - leader):
                    took = [0.0, 0.0]
                    for side in (first, 1 - first):
                        took[side] = seconds(sides[row][side], calls[row][side])
                    ratios[row].append(took[1] / took[0])
                bar.update()
    return np.array(ratios)


def median_with_interval(
    ratios: np.ndarray, *, resamples: int = 2000
) -> tuple[float, float, float]:
    """The median, and the 95 % interval that resampling the pairs gives it."""
    draw = np.random.default_rng(SEED)
    drawn = draw.choice(ratios, (resamples, len(ratios)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return float(np.median(ratios)), float(low), float(high)
