"""Translates the equations of a jaxpr, one after the other."""

import collections
import linecache
import os
from typing import Any

import jax
import numpy as np
from jax.extend import core

from blocks.live.registry import RULES
from blocks.live.values import ARRAYS, Value
from blocks.live.writer import Writer

LIBRARIES = os.path.dirname(os.path.dirname(jax.__file__)) + os.sep


def source_line(equation: Any) -> tuple[str, int] | None:
    """File and line of the user's own code that an equation came from."""
    traceback = equation.source_info.traceback
    for frame in traceback.frames if traceback else ():
        inside = (
            frame.file_name.startswith(LIBRARIES) or "blocks/live" in frame.file_name
        )
        if not inside:
            return frame.file_name, frame.line_num
    return None


def _comment(equation: Any) -> str:
    place = source_line(equation)
    return linecache.getline(*place).strip() if place else ""


def _draws(equation: Any) -> bool:
    """Whether an equation works on random keys, itself or in a function it holds."""
    inner = [
        j.jaxpr if isinstance(j, core.ClosedJaxpr) else j
        for j in equation.params.values()
        if isinstance(j, core.ClosedJaxpr | core.Jaxpr)
    ]
    return equation.primitive.name.startswith("random_") or any(
        _draws(e) for jaxpr in inner for e in jaxpr.eqns
    )


def inner_values(w: Writer, jaxpr: Any, args: list[Value]) -> list[Value]:
    """The results of a jaxpr that stands inside another one."""
    if isinstance(jaxpr, core.ClosedJaxpr):
        return block(w, jaxpr.jaxpr, jaxpr.consts, args)
    return block(w, jaxpr, (), args)


def block(w: Writer, jaxpr: Any, consts: Any, args: list[Value]) -> list[Value]:
    """Write the equations of `jaxpr` and return the values of its results.

    A value that is read more than once gets a variable. Random numbers that depend on
    no argument are drawn here, once, and become constants.
    """
    values = dict(zip(jaxpr.invars, args, strict=True))
    known = dict(zip(jaxpr.constvars, consts, strict=True))
    reads = collections.Counter(
        v
        for variables in (jaxpr.outvars, *(e.invars for e in jaxpr.eqns))
        for v in variables
        if not isinstance(v, core.Literal)
    )

    def read(variable):
        if isinstance(variable, core.Literal):
            return w.constant(np.asarray(variable.val, variable.aval.dtype))
        if variable not in values:
            values[variable] = w.constant(np.asarray(known[variable]))
        return values[variable]

    for equation in jaxpr.eqns:
        inputs = equation.invars
        if _draws(equation) and all(
            isinstance(v, core.Literal) or v in known for v in inputs
        ):
            concrete = [
                v.val if isinstance(v, core.Literal) else known[v] for v in inputs
            ]
            drawn = equation.primitive.bind(*concrete, **equation.params)
            several = equation.primitive.multiple_results
            known |= zip(equation.outvars, drawn if several else [drawn], strict=True)
            continue
        outer_comment, w.comment = w.comment, _comment(equation) or w.comment
        results = _apply(w, equation, [read(v) for v in inputs])
        for variable, value in zip(equation.outvars, results, strict=True):
            again = reads[variable] > 1 and not value.free
            values[variable] = w.store(value, _hint(equation)) if again else value
        w.comment = outer_comment
    return [read(v) for v in jaxpr.outvars]


def _hint(equation: Any) -> str:
    name = equation.primitive.name
    return name if name.isalpha() else "v"


def _apply(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    name, place = equation.primitive.name, source_line(equation)
    where = (
        f" ({os.path.basename(place[0])}, line {place[1]}: {_comment(equation)})"
        if place
        else ""
    )
    if name not in RULES:
        raise NotImplementedError(
            f"a live figure cannot run the primitive {name!r} yet{where}: write the "
            "function without it, or add a rule for it in blocks/live/rules"
        )
    for variable in (*equation.invars, *equation.outvars):
        if str(variable.aval.dtype) not in ARRAYS:
            raise NotImplementedError(
                f"a live figure computes in {', '.join(ARRAYS)}; "
                f"got {variable.aval.dtype} in {name!r}{where}"
            )
    return RULES[name](w, equation, args)
