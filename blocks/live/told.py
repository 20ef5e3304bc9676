"""What the page is told of each artist, so that its module can move it."""

import base64
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.image import AxesImage
from matplotlib.text import Text

from blocks.live.artists import band_x, template, upright


def describe(kind: str, parts: list[Artist], value: np.ndarray) -> dict[str, Any]:
    """What the page needs to move these artists, as JSON. The figure must be drawn."""
    first: Any = parts[0]
    told: dict[str, Any] = {"kind": kind}
    if kind == "text":
        return told | {"template": template(first)}
    told |= {"x": axis_map(first.axes, "x"), "y": axis_map(first.axes, "y")}
    if kind == "line" and value.ndim == 1:
        told["xs"] = _on_page(told["x"], first.get_xdata())
    elif kind == "band":
        told["xs"] = _on_page(told["x"], band_x(first))
    elif kind == "bars":
        told["upright"] = upright(parts)
        base = first.get_y() if told["upright"] else first.get_x()
        told["base"] = _on_page(told["y" if told["upright"] else "x"], [base])[0]
    elif kind == "points":
        told |= {"points": len(value)} | _names(first.axes)
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
    if type(image.norm) is not Normalize:
        raise ValueError(
            "a live heat map has colours that are linear in its numbers; "
            f"got {type(image.norm).__name__}"
        )
    low, high = image.get_clim()
    table = (image.cmap(np.arange(256)) * 255).round().astype(np.uint8)
    left, right, bottom, top = image.get_extent()
    upwards = image.origin == "lower"  # the first row is the lowest
    return {
        "size": list(value.shape[::-1]),
        "limits": [float(low), float(high)],
        "colours": base64.b64encode(table.tobytes()).decode(),
        "box": [left, right, *((bottom, top) if upwards else (top, bottom))],
        "upside": upwards,
        "labels": [
            _labels(axis.get_ticklabels(), n)
            for axis, n in zip((ax.yaxis, ax.xaxis), value.shape, strict=True)
        ],
    } | _names(ax)


def _names(ax: Axes) -> dict[str, Any]:
    """By what words a reading of these axes names them."""
    title = ax.get_title() or ax.get_title("left") or ax.get_title("right")
    return {"title": title, "names": [ax.get_ylabel(), ax.get_xlabel()]}


def _labels(ticks: list[Text], count: int) -> list[str]:
    """The words at the ticks, if there is one for each row or column."""
    words = [tick.get_text() for tick in ticks]
    return words if len(words) == count else []
