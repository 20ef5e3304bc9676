"""How the parts of a matplotlib figure follow the results of a function.

An artist whose `gid` is the name of a result shows that result. What it takes:

| artist | result |
|---|---|
| line | (n,) heights over the x it was drawn with, or (n, 2) points |
| `axvline`, `axhline` | one number |
| points (`scatter`) | (n, 2) |
| band (`fill_between`) | (n, 2): lower and upper edge over the x it was drawn with |
| bars | (n,): `name_parts(bars, gid)` gives each its part |
| arrow (`FancyArrowPatch`) | (4,): x and y of its tail, x and y of its head |
| heat map (`imshow`) | (rows, columns) |
| text | one number, in the place of the `{}` or `{:.2f}` in its text |
"""

import base64
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.text import Text

PART = re.compile(r"(.*)\[(\d+)\]")
FIELD = re.compile(r"\{(?::\.(\d+)([fg]))?\}")


def name_parts(parts: Iterable[Artist], gid: str) -> None:
    """Let each artist of a container, such as bars, show one element of a result."""
    for k, part in enumerate(parts):
        part.set_gid(f"{gid}[{k}]")


def find(fig: Figure) -> dict[str, list[Artist]]:
    """The artists that have a gid, by the name of the result that they show."""
    found: dict[str, list[tuple[int, Artist]]] = {}
    for artist in fig.findobj(lambda a: a.get_gid() is not None):
        part = PART.fullmatch(artist.get_gid())
        name, place = (part[1], int(part[2])) if part else (artist.get_gid(), 0)
        found.setdefault(name, []).append((place, artist))
    return {
        name: [artist for _, artist in sorted(parts, key=lambda pair: pair[0])]
        for name, parts in found.items()
    }


def kind_of(name: str, parts: list[Artist], shape: tuple[int, ...]) -> str:
    """How these artists show a result of this shape; ValueError where they cannot."""
    first = parts[0]
    if isinstance(first, Line2D):
        kind, fits = _line_kind(first, shape)
    elif isinstance(first, AxesImage):
        kind, fits = "image", len(shape) == 2
    elif isinstance(first, FancyArrowPatch):
        kind, fits = "arrow", shape == (4,)
    elif isinstance(first, Rectangle):
        kind, fits = "bars", shape == (len(parts),)
    elif isinstance(first, PathCollection):
        kind, fits = "points", shape == (len(first.get_offsets()), 2)
    elif isinstance(first, PolyCollection):
        kind, fits = "band", shape == (len(_band_x(first)), 2)
    elif isinstance(first, Text):
        kind, fits = "text", shape == () and bool(FIELD.search(first.get_text()))
    else:
        raise ValueError(
            f"a live figure cannot move the {type(first).__name__} {name!r}"
        )
    if not fits:
        raise ValueError(
            f"the result {name!r} of shape {shape} does not fit its {kind}; "
            "see the table in blocks/live/artists.py"
        )
    return kind


def _line_kind(line: Line2D, shape: tuple[int, ...]) -> tuple[str, bool]:
    by_x, by_y = line.get_transform().contains_branch_seperately(line.axes.transData)
    if not by_y:
        return "vline", shape == ()
    if not by_x:
        return "hline", shape == ()
    if len(shape) == 1:
        return "line", shape == np.shape(line.get_xdata())
    return "line", len(shape) == 2 and shape[1] == 2


def _band_x(band: PolyCollection) -> np.ndarray:
    """The x over which `fill_between` drew: there and back, and one corner at each end."""
    vertices = np.asarray(band.get_paths()[0].vertices)
    return vertices[1 : (len(vertices) - 1) // 2, 0]


def show(kind: str, parts: list[Artist], value: np.ndarray) -> None:
    """Let the artists show `value` in matplotlib's own drawing."""
    first: Any = parts[0]
    if kind == "line" and value.ndim == 1:
        first.set_ydata(value)
    elif kind == "line":
        first.set_data(*value.T)
    elif kind == "vline":
        first.set_xdata([value, value])
    elif kind == "hline":
        first.set_ydata([value, value])
    elif kind == "points":
        first.set_offsets(value)
    elif kind == "band":
        x = _band_x(first)
        there, back = np.stack([x, value[:, 0]], 1), np.stack([x, value[:, 1]], 1)[::-1]
        first.set_verts([np.concatenate([back[-1:], there, back[:1], back])])
    elif kind == "bars":
        for bar, length in zip(parts, value, strict=True):
            (bar.set_height if _upright(parts) else bar.set_width)(length)
    elif kind == "arrow":
        first.set_positions(value[:2], value[2:])
    elif kind == "image":
        first.set_data(value)
    elif kind == "text":
        first.set_text(_filled(first.get_text(), float(value)))


def _upright(bars: list[Any]) -> bool:
    return len({bar.get_x() for bar in bars}) > 1 or len(bars) == 1


def _filled(template: str, number: float) -> str:
    return FIELD.sub(lambda m: format(number, m[0][2:-1] or ".4g"), template)


def describe(kind: str, parts: list[Artist], value: np.ndarray) -> dict[str, Any]:
    """What the page needs to move these artists, as JSON. The figure must be drawn."""
    first: Any = parts[0]
    told: dict[str, Any] = {"kind": kind}
    if kind == "text":
        return told  # its template is added before it is filled
    told |= {"x": axis_map(first.axes, "x"), "y": axis_map(first.axes, "y")}
    if kind == "line" and value.ndim == 1:
        told["xs"] = _on_page(told["x"], first.get_xdata())
    elif kind == "band":
        told["xs"] = _on_page(told["x"], _band_x(first))
    elif kind == "bars":
        told["upright"] = _upright(parts)
        base = first.get_y() if told["upright"] else first.get_x()
        told["base"] = _on_page(told["y" if told["upright"] else "x"], [base])[0]
    elif kind == "points":
        told["points"] = len(value)
    elif kind == "image":
        told |= _describe_image(first, value)
    return told


def axis_map(ax: Axes, which: str) -> list[Any]:
    """[a, b, log]: the SVG's coordinate is a * u + b, u the number or its log10."""
    scale = getattr(ax, f"get_{which}scale")()
    if scale not in ("linear", "log"):
        raise ValueError(f"a live axis is linear or logarithmic; got {scale!r}")
    low, high = getattr(ax, f"get_{which}lim")()
    box, unit = ax.bbox, 72 / ax.figure.dpi
    start, end = (box.x0, box.x1) if which == "x" else (box.y0, box.y1)
    if which == "y":  # SVG counts downwards
        start, end = ax.figure.bbox.height - start, ax.figure.bbox.height - end
    u, v = np.log10([low, high]) if scale == "log" else (low, high)
    a = (end - start) * unit / (v - u)
    return [float(f"{a:.8g}"), float(f"{start * unit - a * u:.8g}"), scale == "log"]


def _on_page(axis: list[Any], numbers: Any) -> list[float]:
    a, b, log = axis
    numbers = np.asarray(numbers, float)
    return np.round(a * (np.log10(numbers) if log else numbers) + b, 2).tolist()


def _describe_image(image: AxesImage, value: np.ndarray) -> dict[str, Any]:
    ax = image.axes
    low, high = image.get_clim()
    table = (image.cmap(np.arange(256))[:, :3] * 255).round().astype(np.uint8)
    left, right, bottom, top = image.get_extent()
    return {
        "size": list(value.shape[::-1]),
        "limits": [float(low), float(high)],
        "colours": base64.b64encode(table.tobytes()).decode(),
        "box": [left, right, top, bottom],
        "upside": image.origin == "lower",
        "names": [ax.get_ylabel(), ax.get_xlabel()],
        "labels": [
            _labels(axis.get_ticklabels(), n)
            for axis, n in zip((ax.yaxis, ax.xaxis), value.shape, strict=True)
        ],
    }


def _labels(ticks: list[Text], count: int) -> list[str]:
    """The words at the ticks, if there is one for each row or column."""
    words = [tick.get_text() for tick in ticks]
    return words if len(words) == count else []
