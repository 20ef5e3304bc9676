"""The values of a jaxpr while they are translated: a shape, a dtype, an expression.

An element-wise operation only composes expressions; nothing is computed, and no array
is kept, until a value is needed more than once or as a whole.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

ARRAYS = {
    "float32": "Float32Array",
    "int32": "Int32Array",
    "uint32": "Uint32Array",
    "bool": "Uint8Array",
}


class Value(NamedTuple):
    """`at(indices)` is the JavaScript expression of one element.

    `name` is the variable that holds the value, if one does: a number or boolean where
    there is one element, else a flat typed array in row-major order. A `free` value
    costs no more to read again than a variable would.
    """

    shape: tuple[int, ...]
    dtype: str
    at: Callable[[Sequence[str]], str]
    name: str = ""
    free: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def only(self) -> str:
        """The expression of the single element of a value of size 1."""
        return self.at(["0"] * len(self.shape))


def held(name: str, shape: tuple[int, ...], dtype: str) -> Value:
    """The value that the variable `name` holds."""

    def at(indices):
        if math.prod(shape) == 1:
            return name
        element = f"{name}[{flat(indices, shape)}]"
        return f"({element} === 1)" if dtype == "bool" else element

    return Value(shape, dtype, at, name, free=True)


def flat(indices: Sequence[str], shape: tuple[int, ...]) -> str:
    """The row-major offset of `indices` in an array of this shape."""
    terms, stride = [], 1
    for index, size in zip(reversed(indices), reversed(shape), strict=True):
        if size > 1 and index != "0":
            terms.append(index if stride == 1 else f"{grouped(index)} * {stride}")
        stride *= size
    return " + ".join(reversed(terms)) or "0"


def unflat(offset: str, shape: tuple[int, ...]) -> list[str]:
    """The indices that a row-major offset has in an array of this shape."""
    indices, stride = [], math.prod(shape)
    for k, size in enumerate(shape):
        stride //= size
        whole = grouped(offset)
        index = whole if stride == 1 else f"Math.floor({whole} / {stride})"
        outermost = all(n == 1 for n in shape[:k])
        indices.append(
            "0" if size == 1 else index if outermost else f"{index} % {size}"
        )
    return [grouped(index) for index in indices]


def grouped(expression: str) -> str:
    """In parentheses, unless it is a single word, number, element or call."""
    depth = 0
    for character in expression:
        depth += (character in "([") - (character in ")]")
        if depth == 0 and character == " ":
            return f"({expression})"
    return expression


def rounded(expression: str, dtype: str) -> str:
    """The expression brought to the numbers that its dtype has."""
    if dtype == "float32":
        return f"F({expression})"
    if dtype == "int32":
        return f"({expression} | 0)"
    return f"({expression} >>> 0)" if dtype == "uint32" else expression


def literal(number, dtype: str) -> str:
    """The JavaScript literal of one number, exact to the last bit of its dtype."""
    exact = np.asarray(number, dtype).item()
    if isinstance(exact, bool):
        return "true" if exact else "false"
    if isinstance(exact, float) and not math.isfinite(exact):
        return "NaN" if math.isnan(exact) else ("-" if exact < 0 else "") + "Infinity"
    short = str(np.float32(exact)) if dtype == "float32" else str(exact)
    text = (short if float(short) == exact else repr(exact)).removesuffix(".0")
    return f"({text})" if text.startswith("-") else text


def packed(array: np.ndarray) -> str:
    """The shortest list of numbers that a typed array reads back as `array`."""

    def short(number) -> str:
        text = str(number).removesuffix(".0")
        text = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)
        return text[1:] if text.startswith("0.") else text

    numbers = array.astype(int) if array.dtype == bool else array
    texts = [short(number) for number in numbers.ravel()]
    return f"new {ARRAYS[array.dtype.name]}([{','.join(texts)}])"
