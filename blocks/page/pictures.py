"""A matplotlib figure as SVG inside the page, in the colours of the page."""

import html
import io
import itertools
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from blocks.page.style import NOTEBOOK_DARK, VARIABLES

# Verdana has the widths of DejaVu Sans, by which matplotlib placed the text.
FONTS = "var(--blocks-font, 'DejaVu Sans', Verdana, sans-serif)"
# Pixels; in a narrower column a drawing scrolls, for its text could not be read.
NARROWEST = 560
# No XML, and so no SVG, can hold these.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
FINE = re.compile(r"-?\d+\.\d{3,}")
NAMES = {
    "http://www.w3.org/1999/xlink": "xlink:",
    "http://www.w3.org/XML/1998/namespace": "xml:",
}

# Numbers the figures of one session, so that no two on a page have an id in common. A
# chapter runs from its first cell, so each build counts them alike.
_numbers = itertools.count(1)


@dataclass(frozen=True, repr=False)
class Picture:
    """A figure ready for the page: its HTML, and the text that stands for it."""

    html: str
    alt: str

    def __repr__(self) -> str:
        return self.alt

    def _repr_html_(self) -> str:
        return self.html

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.alt}


def picture(fig: Figure, *, alt: str, caption: str = "") -> Picture:
    """Close `fig` and return it as an SVG figure of the page, without a script.

    `alt` tells what is seen to those who do not see it: what is drawn, and what follows
    from it. The SVG keeps its proportions and fills the column up to its natural width,
    one pixel to a unit of the drawing. The colours of the style ("C0" to "C5",
    `FOREGROUND`, `MUTED`, `GRID`, `BACKGROUND`) become CSS variables `--blocks-c0`,
    `--blocks-fg`, ...; every other colour stays as it was asked for, so black lines are
    lost on a dark page.
    Control characters in `alt` and `caption` become spaces. Raises ValueError if `alt`
    is empty.
    """
    svg = themed_svg(fig, f"picture-{next(_numbers)}", alt)
    plt.close(fig)
    return Picture(framed(svg, caption), alt)


def framed(svg: str, caption: str) -> str:
    """The drawing over its caption; where it is too wide, it scrolls in its own box."""
    words = html.escape(CONTROL.sub(" ", caption))
    below = f"<figcaption>{words}</figcaption>" if caption else ""
    return (
        '<figure class="picture" style="margin:1em 0">'
        '<div class="scroll" tabindex="0" role="group" aria-label="Figure" '
        f'style="overflow:auto hidden">{svg}</div>{below}</figure>'
    )


def themed_svg(fig: Figure, name: str, alt: str) -> str:
    """`fig` as SVG in the colours of the page, with `name` before every id in it.

    Raises ValueError if `alt` is empty.
    """
    if not isinstance(alt, str) or not CONTROL.sub(" ", alt).strip():
        raise ValueError(
            "alt must say what the figure shows, for readers who do not see it; "
            f"got alt={alt!r}"
        )
    for ax in fig.axes:
        if ax.images:  # the grid would be drawn over the cells
            ax.grid(False)
    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        fig.savefig(file, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(file.getvalue())
    return _themed(root, name, CONTROL.sub(" ", alt))


def _themed(root: ElementTree.Element, name: str, alt: str) -> str:
    """The drawing as text that can stand in any page beside any other drawing."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key, value in list(element.attrib.items()):
            del element.attrib[key]
            element.set(_attribute(key), _value(key, value, name))
        # Spaces count inside a text alone; elsewhere they are the writer's layout.
        if element.tag not in ("text", "tspan", "style"):
            element.text = None
        element.tail = None
    for metadata in root.findall("metadata"):
        root.remove(metadata)
    for style in root.iter("style"):
        # matplotlib's own rule names every element of the page it stands in.
        style.text = NOTEBOOK_DARK
    # A drawing is laid out in points, of which 72 make an inch; the page has 96 pixels.
    width = float(root.get("viewBox", "").split()[2]) * 96 / 72
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "xmlns:xlink": "http://www.w3.org/1999/xlink",
        "role": "img",
        "aria-label": alt,
        "viewBox": root.attrib["viewBox"],
        "stroke-linejoin": "round",
        "style": f"display:block;min-width:{min(width, NARROWEST):g}px;"
        f"width:100%;max-width:{width:g}px;height:auto",
    }
    return ElementTree.tostring(root, encoding="unicode")


def _attribute(key: str) -> str:
    space, _, local = key.rpartition("}")
    return NAMES.get(space[1:], "") + local


def _value(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key.endswith("href"):
        return re.sub("^#", f"#{name}-", value)
    if key in ("d", "x", "y"):  # a hundredth of a point is not seen
        return FINE.sub(lambda match: f"{round(float(match[0]), 2):g}", value)
    value = value.replace("url(#", f"url(#{name}-")
    if key in ("style", "fill", "stroke"):
        value = COLOUR.sub(lambda match: VARIABLES.get(match[0], match[0]), value)
        value = re.sub("font-family: [^;]*", f"font-family: {FONTS}", value)
    return value
