"""Hold a computed value to the digits that a chapter prints."""

import math
from decimal import Decimal
from typing import Any

import numpy as np


class Printed(str):
    """A number that displays as it was written, without quotes."""

    def __repr__(self) -> str:
        return str(self)


class Digits(list):
    """Nested numbers that display as they are read: one row to a line, in columns."""

    def __repr__(self) -> str:
        return _layout(self, max(map(len, _texts(self)), default=0), 0)


def confirm(value: Any, expected: Any) -> Any:
    """Assert that each number of `value` reads as printed in `expected`; return that.

    `expected` is a number or nested lists of numbers. A float holds to half a unit of
    its last printed decimal, plus the rounding of a float32: 0.5403 is within 0.00005,
    1e-06 within 0.0000005. A string keeps zeros at the end that a float would drop:
    "0.50" is within 0.005, 0.5 within 0.05. Integers, booleans and infinities are
    exact; NaN agrees with NaN alone. Raises AssertionError naming index, computed and
    expected number; ValueError if the lists of `expected` are ragged.
    """
    try:
        numbers = np.array(expected, dtype=object)
        if any(isinstance(e, list | tuple) for e in numbers.flat):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"expected must be regular nested lists; got {expected}"
        ) from None
    computed = np.asarray(value)
    if computed.shape != numbers.shape:
        raise AssertionError(
            f"the computed shape is {computed.shape}, the expected {numbers.shape}"
        )
    for index, number in np.ndenumerate(numbers):
        got = computed[index].item()
        if not _reads_as(got, number):
            where = f"at {list(index)}: " if index else ""
            raise AssertionError(f"{where}computed {got!r}, expected {number}")
    if isinstance(expected, list | tuple):
        return Digits(expected)
    return Printed(expected) if isinstance(expected, str) else expected


def _reads_as(got: Any, printed: Any) -> bool:
    if isinstance(got, bool) != isinstance(printed, bool | np.bool_):
        return False
    if isinstance(printed, int | np.integer | np.bool_):
        return bool(got == printed)
    number = float(printed)
    if not math.isfinite(number):
        return got == number or (math.isnan(number) and math.isnan(got))
    exponent = Decimal(str(printed)).as_tuple().exponent
    assert isinstance(exponent, int)  # of a finite number
    # 1e+16 has no printed decimal: it holds to one, not to its one digit.
    half = 0.5 * 10.0 ** min(exponent, 0)
    return abs(got - number) <= half + abs(number) * 2.0**-23


def _texts(numbers: Any) -> list[str]:
    if isinstance(numbers, list | tuple):
        return [text for part in numbers for text in _texts(part)]
    return [str(numbers)]


def _layout(numbers: Any, width: int, depth: int) -> str:
    if not isinstance(numbers, list | tuple):
        return str(numbers).rjust(width)
    parts = [_layout(part, width, depth + 1) for part in numbers]
    nested = any(isinstance(part, list | tuple) for part in numbers)
    between = ",\n" + " " * (depth + 1) if nested else ", "
    return "[" + between.join(parts) + "]"
