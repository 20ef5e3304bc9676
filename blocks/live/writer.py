"""Writes the lines of one JavaScript function."""

import contextlib
import linecache
import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from blocks.live.values import ARRAYS, Value, flat, held, literal, packed

# Words that a Python name may be and a JavaScript variable may not.
RESERVED = frozenset(
    "F arguments await break case catch class const continue debugger default delete "
    "do else enum eval export extends false finally for function if implements import "
    "in instanceof interface let new null package private protected public return "
    "static super switch this throw true try typeof var void while with yield NaN "
    "Infinity Math Number Array Object undefined run s x y c best one two".split()
)


class Place(NamedTuple):
    """A line of Python."""

    file: str
    line: int

    def text(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}, line {self.line}: {self.text()}"


class Writer:
    """Lines, names and constants of the function that is being written.

    `place` is the line of Python that is being translated. With `comments` it stands
    above what came from it.
    """

    def __init__(self, taken: Sequence[str] = (), *, comments: bool = False):
        self.lines: list[str] = []
        self.constants: dict[tuple, tuple[str, str]] = {}
        self.helpers: set[str] = set()
        self.place: Place | None = None
        self._comments = comments
        self._comment = ""
        self._indent = "  "
        self._names = set(taken) | RESERVED
        self._count = 0

    def name(self, hint: str) -> str:
        """A new variable, named after what it holds."""
        while True:
            self._count += 1
            if (name := f"{hint}{self._count}") not in self._names:
                return name

    def put(self, line: str) -> None:
        comment = self.place.text() if self._comments and self.place else ""
        if comment not in ("", self._comment):
            self.lines.append(f"{self._indent}// {comment}")
            self._comment = comment
        self.lines.append(self._indent + line)

    @contextlib.contextmanager
    def braces(self, head: str) -> Iterator[None]:
        """Lines inside a pair of braces after `head`."""
        self.put(f"{head} {{")
        self._indent += "  "
        yield
        self._indent = self._indent[:-2]
        self.put("}")

    def helper(self, name: str) -> str:
        """The name of a function of `helpers.js`, which the program will carry."""
        self.helpers.add(name)
        return name

    def loops(self, shape: Sequence[int]) -> tuple[list[str], str]:
        """Index expressions for every element, and the heads of the loops over them."""
        indices, head = [], ""
        for size in shape:
            index = "0" if size == 1 else self.name("i")
            if size != 1:
                head += f"for (let {index} = 0; {index} < {size}; {index}++) "
            indices.append(index)
        return indices, head

    def keep(self, value: Value, hint: str = "v") -> Value:
        """`value` in a variable, unless it is in one or free to read again."""
        return value if value.free else self.store(value, hint)

    def store(self, value: Value, hint: str = "v") -> Value:
        """`value` in a variable of its own."""
        return self.fill(value.shape, value.dtype, value.at, hint)

    def variable(self, value: Value, hint: str = "v") -> str:
        """The name of a variable that holds `value`."""
        return value.name or self.store(value, hint).name

    def fill(
        self,
        shape: tuple[int, ...],
        dtype: str,
        element: Callable[[list[str]], str],
        hint: str = "v",
        before: Callable[[list[str]], str] | None = None,
    ) -> Value:
        """A new variable whose elements are `element(indices)`.

        `before(indices)` are statements that compute what the element needs.
        """
        name, scalar = self.name(hint), math.prod(shape) == 1
        indices, head = self.loops(shape)
        target = name if scalar else f"{name}[{flat(indices, shape)}]"
        statements = before(indices) if before else ""
        if scalar and not statements:
            self.put(f"const {name} = {element(indices)};")
            return held(name, shape, dtype)
        self.put(f"let {name};" if scalar else self.array(name, shape, dtype))
        if statements:
            self.put(f"{head}{{ {statements} {target} = {element(indices)}; }}")
        else:
            self.put(f"{head}{target} = {element(indices)};")
        return held(name, shape, dtype)

    def array(self, name: str, shape: Sequence[int], dtype: str) -> str:
        """The declaration of a typed array of zeros."""
        return f"const {name} = new {ARRAYS[dtype]}({math.prod(shape)});"

    def constant(self, array: np.ndarray) -> Value:
        """A value that is known already: in the expression, or above the function."""
        shape, dtype = array.shape, array.dtype.name
        if array.size == 1:
            text = literal(array.reshape(()), dtype)
            return Value(shape, dtype, lambda _: text, free=True)
        content = dtype, array.tobytes()
        if content not in self.constants:
            self.constants[content] = self.name("K"), packed(array)
        return held(self.constants[content][0], shape, dtype)
