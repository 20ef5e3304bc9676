"""Two live figures with every artist and every control, and the page they stand on."""

import shutil
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from book_site import ROOT
from matplotlib.patches import FancyArrowPatch

from blocks.live import Choice, Slider, Switch, live, name_parts
from blocks.page.style import RC

X = jnp.linspace(-3, 3, 61)
QUERIES, KEYS = "a b c d".split(), "the cat sat on a mat".split()
CONTROLS = {
    "slope": Slider(0.1, 10.0, 1.0, log=True, unit="rad"),
    "phase": Slider(0.0, 6.0, 1.0, play=True),
    "n": Slider(1, 10, 3, label="a whole number"),
    "kind": Choice(["relu", "gelu & co"], "gelu & co"),
    "flip": Switch(False, label="turn it over"),
}
# Keeps all that was drawn, for each figure.
HEAR = """
window.drawn = {};
addEventListener("drawn", event => {
  const plain = value => ArrayBuffer.isView(value) ? [...value] : [+value];
  const { out } = event.detail, name = event.target.closest(".live-figure").id;
  (window.drawn[name] ??= []).push(
    Object.fromEntries(Object.entries(out).map(([k, v]) => [k, plain(v)])));
});
"""
# As a chapter draws, with every corner of a path kept, so that paths can be compared.
STYLE = RC | {"path.simplify": False}
DEFAULTS = {name: control.value for name, control in CONTROLS.items()}
SECOND = {"scale": Slider(0.5, 2.0, 1.0)}


def everything(slope, phase, n, kind, flip):
    y = jnp.where(flip, -1.0, 1.0) * jnp.tanh(slope) * jnp.sin(X + phase)
    heat = jax.nn.softmax(jnp.outer(jnp.arange(4.0), jnp.arange(6.0)) * slope / 5)
    return {
        "curve": y,
        "path": jnp.stack([jnp.cos(X), y], 1),
        "points": jnp.stack([jnp.arange(5.0), jnp.cos(phase * jnp.arange(5.0))], 1),
        "band": jnp.stack([y - 0.2, y + 0.2], 1),
        "heat": heat,
        "bar": heat[3],
        "mark": phase - 3,
        "level": jnp.tanh(slope),
        "arrow": jnp.array([0.0, 0.0, jnp.cos(phase), jnp.sin(phase)]),
        "note": slope,
        "peak": y.max(),
        "count": n + kind,
    }


def figure_of_everything():
    fig, ((a, b, c), (d, e, f)) = plt.subplots(2, 3, figsize=(7.2, 4.2))
    a.plot(X, 0 * X, gid="curve")
    a.fill_between(X, 0 * X, 0 * X + 0.1, alpha=0.3, gid="band")
    a.axvline(0, gid="mark", color="C2")
    a.axhline(0, gid="level", color="C3")
    a.set(xlim=(-3, 3), ylim=(-3, 3))
    b.plot([], [], "o-", gid="path", markersize=2)
    b.set(xlim=(-2, 2), ylim=(-3, 3))
    c.scatter(np.arange(5), np.zeros(5), gid="points")
    c.set(xlim=(-1, 5), ylim=(-2, 2), xlabel="step", title="where it is")
    d.imshow(np.zeros((4, 6)), vmin=0, vmax=1, gid="heat")
    d.set(xlabel="key", ylabel="query", title="weights")
    d.set_xticks(range(6), KEYS)
    d.set_yticks(range(4), QUERIES)
    name_parts(e.bar(range(6), np.ones(6)), "bar")
    e.set(ylim=(0, 1))
    f.add_patch(
        FancyArrowPatch((0, 0), (1, 0), arrowstyle="->", gid="arrow", shrinkA=0)
    )
    f.set(xlim=(-2, 2), ylim=(-2, 2))
    f.text(-1, 1, "slope {:.2f}", gid="note")
    return fig


def live_everything(**changed):
    """The figure; with other values of its controls, as matplotlib draws it there."""
    begin = DEFAULTS | changed
    controls = {
        name: type(control)(**{**vars(control), "value": begin[name]})
        for name, control in CONTROLS.items()
    }
    with plt.rc_context(STYLE):
        return live(
            everything,
            figure_of_everything(),
            alt="Six pictures with everything that a live figure can move",
            summary="The peak is {peak} and the count {count}; n is {n}, {kind}.",
            caption="All that moves",
            **controls,
        )


def second(scale):
    y = scale * jnp.exp(X)
    return {
        "growth": jnp.stack([jnp.exp(X), y**2], 1),
        "right": 100 * scale * jnp.cos(X),
        "peak": jnp.array([[1.0, 50.0]]) * scale,
        "dots": y,
        "lying": jnp.array([1.0, 2.0, 3.0]) / 3 * scale,
        "upward": jnp.arange(6.0).reshape(2, 3) / 10 * scale,
    }


def figure_of_second():
    fig, (a, b, c, d) = plt.subplots(1, 4, figsize=(7.2, 2.2))
    a.loglog([], [], gid="growth")
    a.set(xlim=(0.01, 100), ylim=(1e-4, 1e4))
    a.scatter([1], [1], gid="peak")
    b.semilogy(X, np.exp(X), "o", gid="dots", markersize=2)
    b.set(xlim=(-3, 3), ylim=(0.01, 100))
    twin = b.twinx()
    twin.plot(X, 0 * X, gid="right", color="C1")
    twin.set(ylim=(-200, 200))
    name_parts(c.barh(range(3), np.ones(3)), "lying")
    c.set(xlim=(0, 2))
    d.imshow(
        np.zeros((2, 3)),
        vmin=0,
        vmax=1,
        origin="lower",
        interpolation="nearest",
        extent=(0.5, 3.5, 0.5, 2.5),
        gid="upward",
    )
    return fig


def live_second(scale=1.0):
    with plt.rc_context(STYLE):
        return live(
            second,
            figure_of_second(),
            alt="Logarithmic axes, a twin axis, lying bars and a map counted upwards",
            summary="The scale is {scale:.2f}.",
            scale=Slider(0.5, 2.0, scale),
        )


def write(folder: Path) -> None:
    """The page and what it needs, as the book lays them."""
    for module in ("live.mjs", "hydrate.mjs"):
        shutil.copy(ROOT / "blocks" / "live" / module, folder)
    shutil.copy(ROOT / "book" / "_static" / "book.css", folder)
    figures = live_everything().page_html(), live_second().page_html()
    (folder / "index.html").write_text(PAGE.format(*figures), encoding="utf-8")


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Live figures</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="book.css">
<style>
body {{ max-width: 720px; margin: 0 auto; padding: 12px; font-family: sans-serif;
  background: var(--blocks-bg); color: var(--blocks-fg) }}
</style>
<script>
document.documentElement.dataset.theme =
  matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
</script>
<body class="bd-article">
<main><article><h1>Live figures</h1>
{}
<p>Text between them.</p>
{}
</article></main>
<script type="module" src="hydrate.mjs"></script>
"""
