"""The rules by theme; importing this package registers them all."""

from blocks.live.registry import RULES
from blocks.live.rules import (
    bits,
    control,
    elementwise,
    indexing,
    reductions,
    shapes,
    sorting,
)

__all__ = [
    "RULES",
    "bits",
    "control",
    "elementwise",
    "indexing",
    "reductions",
    "shapes",
    "sorting",
]
