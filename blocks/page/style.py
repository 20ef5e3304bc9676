"""The look of every figure: colours that follow the theme of the page, and `setup`.

A figure is drawn in the colours of `LIGHT`; `picture` then puts CSS variables in their
place, so that one drawing is read on a light and on a dark page.
"""

from typing import Any

import jax
import matplotlib
from cycler import cycler

# Each is a colour that nothing else draws by chance, because it is found again as text:
# white stays free for numbers written on a dark cell of a heat map.
FOREGROUND = "#1b1c1d"
BACKGROUND = "#fefefe"
MUTED = "#5c6066"
GRID = "#d5d7da"
# From Okabe and Ito, moved until every line reads on white and on nearly black.
PALETTE = ("#0068a8", "#bb3f00", "#00956d", "#b5609a", "#bb8500", "#3f9bd6")

LIGHT = {
    "fg": FOREGROUND,
    "bg": BACKGROUND,
    "muted": MUTED,
    "grid": GRID,
    **{f"c{i}": colour for i, colour in enumerate(PALETTE)},
}
DARK = {
    "fg": "#e4e5e7",
    "bg": "#121212",
    "muted": "#a9adb3",
    "grid": "#3a3d42",
    "c0": "#2f86cf",
    "c1": "#e8622a",
    "c2": "#10b384",
    "c3": "#dd82bb",
    "c4": "#f5c552",
    "c5": "#8fd3fb",
}
# JupyterLab has names of its own for the colours of the page.
JUPYTER = {
    "fg": "--jp-content-font-color1",
    "bg": "--jp-layout-color0",
    "muted": "--jp-content-font-color2",
    "grid": "--jp-border-color2",
}


def _variable(name: str, colour: str) -> str:
    fallback = f"var({JUPYTER[name]}, {colour})" if name in JUPYTER else colour
    return f"var(--blocks-{name}, {fallback})"


# Colour of the drawing -> what the page reads in its place.
VARIABLES = {colour: _variable(name, colour) for name, colour in LIGHT.items()}

# Notebooks lack the book's style sheet, so a figure brings the dark palette along:
# Colab and JupyterLab each say in their own way that the page is dark.
NOTEBOOK_DARK = (
    "html[theme=dark] .picture,[data-jp-theme-light=false] .picture{"
    + ";".join(f"--blocks-{name}:{colour}" for name, colour in DARK.items())
    + "}"
)

# In inches and points, as usual: 7.2 inches fill the column of the book.
RC: dict[Any, Any] = {
    "figure.figsize": (7.2, 3.4),
    "figure.dpi": 72,
    "figure.constrained_layout.use": True,
    "figure.facecolor": BACKGROUND,
    "figure.edgecolor": BACKGROUND,
    "savefig.facecolor": BACKGROUND,
    "font.size": 9,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "text.color": FOREGROUND,
    "axes.facecolor": BACKGROUND,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": FOREGROUND,
    "axes.titlecolor": FOREGROUND,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.prop_cycle": cycler(color=PALETTE),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": FOREGROUND,
    "ytick.labelcolor": FOREGROUND,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.edgecolor": GRID,
    "legend.labelcolor": FOREGROUND,
    "lines.linewidth": 1.5,
    "lines.color": PALETTE[0],
    "patch.facecolor": PALETTE[0],
    "patch.edgecolor": FOREGROUND,
    "hatch.color": FOREGROUND,
    "image.cmap": "viridis",
    "image.interpolation": "none",
    "svg.fonttype": "none",
}


def setup() -> None:
    """Make this session compute and draw as the book does; a chapter's first cell.

    Matrix products are taken at the highest precision on every device (GPU and TPU are
    coarser by default, and chapters assert digits). Figures get the style of this book,
    whatever the reader's own matplotlib settings are.
    """
    jax.config.update("jax_default_matmul_precision", "highest")
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(RC)
