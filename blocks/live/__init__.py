"""JAX functions made live in a page: figures that follow sliders without a kernel."""

from blocks.live.artists import name_parts
from blocks.live.controls import Choice, Slider, Switch
from blocks.live.experiment import experiment
from blocks.live.figure import Live, live
from blocks.live.program import to_javascript

__all__ = [
    "Choice",
    "Live",
    "Slider",
    "Switch",
    "experiment",
    "live",
    "name_parts",
    "to_javascript",
]
