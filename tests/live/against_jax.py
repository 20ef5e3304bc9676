"""Sets the program of a live figure beside `jax.jit` on settings drawn at random."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from programs import Program

import blocks.live
from blocks.live import Choice, Switch, artists

SETTINGS = 50
CLOSE = 2e-6  # of the largest number of a result
CLOSE_ON_LOG = 1e-3  # relative, above the lower end of a logarithmic axis
NUDGE = 1e-5  # where so small a step changes a whole number, it may differ


def draw(control: Any, rng: np.random.Generator) -> Any:
    """A value that a reader can reach."""
    if isinstance(control, Choice):
        return str(rng.choice(control.options))
    if isinstance(control, Switch):
        return bool(rng.integers(2))
    if control.log:
        low, high = np.log([control.low, control.high])
        value = float(np.exp(rng.uniform(low, high)).clip(control.low, control.high))
    else:
        value = float(rng.uniform(control.low, control.high))
    return round(value) if control.whole else value


def widened(values: Mapping[str, Any]) -> dict[str, Any]:
    """The float32 arrays among these values, as float64."""
    return {
        name: np.asarray(x, float)
        for name, x in values.items()
        if getattr(x, "dtype", None) == np.float32
    }


def exactly(view: Callable) -> Callable[[Mapping[str, Any]], dict[str, np.ndarray]]:
    """`view` in float64, from the float32 numbers of its settings and its chapter."""
    run, chapter = jax.jit(lambda kw: view(**kw)), view.__globals__

    def exact(settings: Mapping[str, Any]) -> dict[str, np.ndarray]:
        before = dict(chapter)
        jax.config.update("jax_enable_x64", True)
        try:
            chapter.update({k: jnp.asarray(x) for k, x in widened(chapter).items()})
            return jax.tree.map(np.asarray, run({**settings, **widened(settings)}))
        finally:
            chapter.update(before)
            jax.config.update("jax_enable_x64", False)

    return exact


def log_columns(fig: Any, name: str, value: np.ndarray) -> list[tuple[Any, float]]:
    """The parts of a result that stand on a logarithmic axis, with its lower end."""
    parts = artists.find(fig).get(name)
    if not parts or parts[0].axes is None:
        return []
    ax = parts[0].axes
    scales = [
        (ax.get_xscale(), min(ax.get_xlim())),
        (ax.get_yscale(), min(ax.get_ylim())),
    ]
    if value.ndim < 2:
        scales = scales[1:]
    return [
        (np.s_[..., column] if value.ndim > 1 else np.s_[...], low)
        for column, (scale, low) in enumerate(scales)
        if scale == "log"
    ]


def compare(view: Callable, fig: Any, controls: Mapping[str, Any]) -> None:
    """Assert that program and `jax.jit` agree on settings drawn at random."""
    rng = np.random.default_rng(len(view.__name__))
    run, exact = jax.jit(lambda kw: view(**kw)), exactly(view)

    def arguments(values: Mapping[str, Any]) -> dict[str, jax.Array]:
        return {name: controls[name].argument(v) for name, v in values.items()}

    defaults = {name: control.value for name, control in controls.items()}
    program = Program(view, arguments(defaults))
    # As "Copy as Python" has it: plain numbers, an option by its place.
    copied = {k: np.asarray(v).item() for k, v in arguments(defaults).items()}
    assert view(**copied).keys() == run(arguments(defaults)).keys()
    drawn = [{k: draw(c, rng) for k, c in controls.items()} for _ in range(SETTINGS)]
    wanted = [jax.tree.map(np.asarray, run(arguments(values))) for values in drawn]
    # A number by itself may pass through zero; its size is that of the largest seen.
    largest = {
        name: max(np.abs(want[name]).max() for want in wanted)
        for name, value in wanted[0].items()
        if value.dtype.kind == "f" and not value.ndim
    }
    for values, results in zip(drawn, wanted, strict=True):
        given = arguments(values)
        found = program(**given)
        for name, want in results.items():
            got = found[name].reshape(want.shape)
            where = f"{view.__name__}, {name}, at {values}"
            if want.dtype.kind in "iub":
                if not np.array_equal(got, want):
                    assert on_an_edge(run, given, name), f"{where}: {got}, JAX {want}"
                continue
            assert np.isfinite(want).all(), f"{where} is not finite"
            error = np.abs(got - want).max()
            bound = CLOSE * largest.get(name, np.abs(want).max())
            if error > bound:
                bound = 4 * np.abs(want - exact(given)[name]).max()
            assert error <= bound, f"{where}: {error:.2g} apart, bound {bound:.2g}"
            for part, low in log_columns(fig, name, want):
                shown = want[part] > low
                relative = np.abs(got[part] / want[part] - 1)[shown]
                assert (relative <= CLOSE_ON_LOG).all(), (
                    f"{where}: {relative.max():.2g}"
                )


def on_an_edge(run: Callable, given: Mapping[str, Any], name: str) -> bool:
    """Whether the whole numbers of a result change close to these settings."""
    near = [
        run({k: x * (1 + s) if x.dtype == "float32" else x for k, x in given.items()})
        for s in (-NUDGE, NUDGE)
    ]
    return not np.array_equal(near[0][name], near[1][name])


def watch() -> list[str]:
    """Compare every figure that `blocks.live.live` makes from now on; their names."""
    live, names = blocks.live.live, list[str]()

    def watched(view: Callable, fig: Any, **named: Any) -> Any:
        figure = live(view, fig, **named)
        told = {"alt", "summary", "caption", "name"}
        compare(view, fig, {k: v for k, v in named.items() if k not in told})
        names.append(figure.name)
        return figure

    blocks.live.live = watched
    return names
