"""What a chapter shows: sources, figures, checks of exercises, stored results."""

from blocks.page.bars import progress
from blocks.page.digits import confirm
from blocks.page.exercises import check
from blocks.page.pictures import picture
from blocks.page.source import show
from blocks.page.stored import ratios, results
from blocks.page.style import BACKGROUND, FOREGROUND, GRID, MUTED, PALETTE, setup
from blocks.page.tables import Table

__all__ = [
    "BACKGROUND",
    "FOREGROUND",
    "GRID",
    "MUTED",
    "PALETTE",
    "Table",
    "check",
    "confirm",
    "picture",
    "progress",
    "ratios",
    "results",
    "setup",
    "show",
]
