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

import re
from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.text import Text

PART = re.compile(r"(.*)\[(\d+)\]")
FIELD = re.compile(r"\{(\w*)(?::(\.\d+[fg]))?\}")


def name_parts(parts: Iterable[Artist], gid: str) -> None:
    """Let each artist of a container, such as bars, show one element of a result."""
    for k, part in enumerate(parts):
        part.set_gid(f"{gid}[{k}]")


def find(fig: Figure) -> dict[str, list[Any]]:
    """The artists that have a gid, by the name of the result that they show."""
    found: dict[str, list[tuple[int, Artist]]] = {}
    for artist in fig.findobj(lambda a: a.get_gid() is not None):
        gid = artist.get_gid() or ""
        part = PART.fullmatch(gid)
        name, place = (part[1], int(part[2])) if part else (gid, 0)
        found.setdefault(name, []).append((place, artist))
    return {
        name: [artist for _, artist in sorted(parts, key=lambda pair: pair[0])]
        for name, parts in found.items()
    }


def kind_of(name: str, parts: list[Any], shape: tuple[int, ...]) -> str:
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
        kind, fits = "points", shape == np.shape(first.get_offsets())
    elif isinstance(first, PolyCollection):
        kind, fits = "band", shape == (len(band_x(first)), 2)
    elif isinstance(first, Text):
        kind, fits = "text", shape == () and bool(FIELD.search(template(first)))
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


def _line_kind(line: Any, shape: tuple[int, ...]) -> tuple[str, bool]:
    by_x, by_y = line.get_transform().contains_branch_seperately(line.axes.transData)
    if not by_y:
        return "vline", shape == ()
    if not by_x:
        return "hline", shape == ()
    if len(shape) == 1:
        return "line", shape == np.shape(line.get_xdata())
    return "line", len(shape) == 2 and shape[1] == 2


def band_x(band: PolyCollection) -> np.ndarray:
    """The x of a band: its outline goes there and back, with a corner at each end."""
    vertices = np.asarray(band.get_paths()[0].vertices)
    return vertices[1 : (len(vertices) - 1) // 2, 0]


def show(kind: str, parts: list[Any], value: np.ndarray) -> None:
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
        x = band_x(first)
        there, back = np.stack([x, value[:, 0]], 1), np.stack([x, value[:, 1]], 1)[::-1]
        first.set_verts([np.concatenate([back[-1:], there, back[:1], back])])
    elif kind == "bars":
        for bar, length in zip(parts, value, strict=True):
            (bar.set_height if upright(parts) else bar.set_width)(length)
    elif kind == "arrow":
        first.set_positions(value[:2], value[2:])
    elif kind == "image":
        first.set(data=value, interpolation="none")  # one pixel for each cell
    elif kind == "text":
        first.set_text(fill(template(first), {"": value}))


def upright(bars: list[Any]) -> bool:
    return len({bar.get_x() for bar in bars}) > 1 or len(bars) == 1


_templates: WeakKeyDictionary[Text, str] = WeakKeyDictionary()


def template(text: Text) -> str:
    """What a text said before its first filling."""
    return _templates.setdefault(text, text.get_text())


def fill(template: str, values: Mapping[str, Any]) -> str:
    """The template with a value in the place of each `{name}` or `{name:.2f}`."""

    def text(match):
        value = values[match[1]]
        if isinstance(value, str | bool):
            return str(value)
        number = format(float(value), match[2] or ".4g")
        sign = "−" if number.strip("-0.") else ""
        return number.replace("-", sign, 1) if number.startswith("-") else number

    return FIELD.sub(text, template)


def check_pairs(
    results: set[str], parts: set[str], controls: set[str], summary: str
) -> None:
    """Raise ValueError unless every result is seen or said, and every artist moved."""
    said = {name for name, _ in FIELD.findall(summary)}
    if unknown := sorted(said - results - controls):
        raise ValueError(f"the summary names {', '.join(unknown)}, which is no result")
    if unseen := sorted(results - parts - said):
        raise ValueError(
            f"no artist has the gid {', '.join(unseen)}, and the summary is silent"
        )
    if still := sorted(parts - results):
        raise ValueError(f"no result moves the artist {', '.join(still)}")
