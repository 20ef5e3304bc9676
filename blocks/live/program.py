"""One JavaScript function for one JAX function of the sliders."""

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from blocks.live.block import block
from blocks.live.rules import RULES
from blocks.live.values import ARRAYS, Value, held, rounded
from blocks.live.writer import RESERVED, Writer

__all__ = ["RULES", "to_javascript"]


@functools.cache
def _helpers() -> dict[str, str]:
    """The functions of `helpers.js` by name."""
    text = (Path(__file__).parent / "helpers.js").read_text("utf8")
    parts = re.split(r"^(?=function )", text, flags=re.M)[1:]
    return {part[len("function ") : part.index("(")]: part.strip() for part in parts}


def _local(name: str) -> str:
    return f"{name}_" if name in RESERVED else name


def _arguments(jaxpr: Any, names: list[str]) -> tuple[list[Value], list[str]]:
    """The values of the arguments, and the lines that bring each to its dtype."""
    values, lines = [], []
    for name, variable in zip(names, jaxpr.invars, strict=True):
        local, shape = _local(name), variable.aval.shape
        dtype = str(variable.aval.dtype)
        if not shape and dtype == "bool":
            lines.append(f"{local} = Boolean({local});")
        elif not shape:
            lines.append(f"{local} = {rounded(local, dtype)};")
        elif variable.aval.size != 1:
            lines.append(f"{local} = {ARRAYS[dtype]}.from({local});")
        else:
            lines.append(f"[{local}] = {local};")
        values.append(held(local, shape, dtype))
    return values, lines


def to_javascript(
    function: Callable[..., Mapping[str, Any]],
    example: Mapping[str, Any],
    *,
    comments: bool = False,
) -> str:
    """The source of a JavaScript function that computes what `function` does.

    `example` gives a value for each argument; shapes and dtypes are taken from it. The
    result of `function` is a dict of arrays; the program's `run({argument, …})` returns
    an object with a number, or a flat typed array in row-major order, for each of them.
    With `comments`, the line of Python that a piece came from stands above it. Float32
    results are rounded after each operation. Raises NotImplementedError for what has no
    rule, with the line of the user's function that it came from.
    """
    names = sorted(example)  # the order in which JAX flattens a dict
    closed, shapes = jax.make_jaxpr(lambda kw: function(**kw), return_shape=True)(
        dict(example)
    )
    if not isinstance(shapes, Mapping):
        raise ValueError(
            "the function of a live figure returns a dict of arrays, one for each "
            f"artist; got {type(shapes).__name__}"
        )
    w = Writer(taken=[_local(name) for name in names], comments=comments)
    args, lines = _arguments(closed.jaxpr, names)
    for line in lines:
        w.put(line)
    values = block(w, closed.jaxpr, closed.consts, args)
    w.place = None
    outputs = ", ".join(
        f"{name}: {value.only() if value.size == 1 else w.variable(value)}"
        for name, value in zip(sorted(shapes), values, strict=True)
    )
    w.put(f"return {{ {outputs} }};")
    taken = ", ".join(f"{n}: {_local(n)}" if _local(n) != n else n for n in names)
    parts = ["const F = Math.fround;"]
    parts += [_helpers()[name] for name in sorted(w.helpers)]
    parts += [f"const {name} = {text};" for name, text in w.constants.values()]
    parts += [f"export function run({{ {taken} }}) {{", *w.lines, "}"]
    return "\n".join(parts) + "\n"


def example_of(value: bool | int | float) -> jax.Array:
    """The array that stands for a setting of this Python type."""
    dtype = {bool: jnp.bool_, int: jnp.int32, float: jnp.float32}[type(value)]
    return jnp.asarray(value, dtype)
