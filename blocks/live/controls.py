"""What the reader of a live figure can move: sliders, choices and switches."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Slider:
    """A number between `low` and `high` that begins at `value`.

    Whole numbers where all three are `int`, else float32. `log` spaces the slider by
    powers of ten. `step` is how far a key moves the handle (in decades with `log`), a
    tidy number near a two-hundredth of the range unless given; a whole number moves by
    one. `play` marks a time or a position: it gets a button that lets it run. `unit`
    stands behind the number. Raises ValueError for an order other than
    low <= value <= high with low < high, and for `log` where `low` is not above 0.
    """

    low: int | float
    high: int | float
    value: int | float
    label: str = ""
    unit: str = ""
    step: float = 0.0
    log: bool = False
    play: bool = False

    def __post_init__(self):
        if not (self.low <= self.value <= self.high and self.low < self.high):
            raise ValueError(
                "a slider needs low <= value <= high and low < high; "
                f"got {self.low}, {self.value}, {self.high}"
            )
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic slider begins above 0; got {self.low}")

    @property
    def whole(self) -> bool:
        return all(isinstance(n, int) for n in (self.low, self.high, self.value))

    def ends(self) -> list[int | float]:
        """The values at which a figure is tried when it is made."""
        return [self.low, self.high]

    def checked(self, value: Any) -> float | int:
        """`value` as this slider holds it; ValueError where it cannot be reached."""
        number = float(value)
        if not self.low <= number <= self.high:  # also where it is NaN
            raise ValueError(
                f"must lie between {self.low} and {self.high}; got {value}"
            )
        if self.whole and number != int(number):
            raise ValueError(f"must be a whole number; got {value}")
        return int(number) if self.whole else number

    def argument(self, value: Any) -> jax.Array:
        """What the function of the figure gets for this value."""
        return jnp.int32(value) if self.whole else jnp.float32(value)

    def describe(self) -> dict[str, Any]:
        """What the page needs to know, as JSON."""
        span = math.log10(self.high / self.low) if self.log else self.high - self.low
        step = 1 if self.whole else self.step or _tidy(span / 200)
        return {"kind": "slider", "whole": self.whole} | asdict(self) | {"step": step}


def _tidy(number: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above `number`."""
    power = 10.0 ** math.floor(math.log10(number))
    return float(f"{max(n for n in (1, 2, 5) if n * power <= number) * power:.1g}")


@dataclass(frozen=True)
class Choice:
    """One of several options by name; the function gets its place, an int32 from 0 on.

    Raises ValueError where `value` is none of the options or an option stands twice.
    """

    options: Sequence[str]
    value: str
    label: str = ""

    def __post_init__(self):
        object.__setattr__(self, "options", tuple(self.options))
        if (
            len(set(self.options)) != len(self.options)
            or self.value not in self.options
        ):
            raise ValueError(
                "a choice needs different options and begins at one of them; "
                f"got {self.options} and {self.value!r}"
            )

    def ends(self) -> list[str]:
        return list(self.options)

    def checked(self, value: Any) -> str:
        if value not in self.options:
            raise ValueError(f"must be one of {', '.join(self.options)}; got {value!r}")
        return value

    def argument(self, value: Any) -> jax.Array:
        return jnp.int32(self.options.index(value))

    def describe(self) -> dict[str, Any]:
        return {"kind": "choice"} | asdict(self)


@dataclass(frozen=True)
class Switch:
    """On or off; the function gets a boolean."""

    value: bool
    label: str = ""

    def ends(self) -> list[bool]:
        return [False, True]

    def checked(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"must be True or False; got {value!r}")
        return value

    def argument(self, value: Any) -> jax.Array:
        return jnp.bool_(value)

    def describe(self) -> dict[str, Any]:
        return {"kind": "switch"} | asdict(self)


Control = Slider | Choice | Switch
