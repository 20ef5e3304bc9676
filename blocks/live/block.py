"""Translates the equations of a jaxpr, one after the other."""

import collections
import inspect
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from blocks.live.registry import RULES, dtype_of
from blocks.live.values import ARRAYS, Value
from blocks.live.writer import Place, Writer

LIBRARIES = os.path.dirname(os.path.dirname(inspect.getfile(jax))) + os.sep
TRANSLATOR = os.path.dirname(__file__) + os.sep


def source_line(equation: Any) -> Place | None:
    """The line of the user's own code that an equation came from."""
    traceback = equation.source_info.traceback
    for frame in traceback.frames if traceback else ():
        if not frame.file_name.startswith((LIBRARIES, TRANSLATOR)):
            return Place(frame.file_name, frame.line_num)
    return None


def _draws(equation: Any) -> bool:
    """Whether an equation works on random keys, itself or in a function it holds."""
    inner = [
        j.jaxpr if isinstance(j, core.ClosedJaxpr) else j
        for j in equation.params.values()
        if isinstance(j, core.ClosedJaxpr | core.Jaxpr)
    ]
    keys = any(
        jnp.issubdtype(v.aval.dtype, jax.dtypes.prng_key)
        for v in (*equation.invars, *equation.outvars)
    )
    return keys or any(_draws(e) for jaxpr in inner for e in jaxpr.eqns)


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

    def read(variable: Any):
        if isinstance(variable, core.Literal):
            return w.constant(np.asarray(variable.val, dtype_of(variable)))
        if variable not in values:
            values[variable] = w.constant(np.asarray(known[variable]))
        return values[variable]

    made_by = {}  # what follows from constants alone, by the equation that makes it

    def fixed(variable):
        if isinstance(variable, core.Literal):
            return True
        return variable in known or variable in made_by

    def concrete(variable):
        if isinstance(variable, core.Literal):
            return variable.val
        if variable not in known:
            maker = made_by[variable]
            made = maker.primitive.bind(*map(concrete, maker.invars), **maker.params)
            several = maker.primitive.multiple_results
            known.update(zip(maker.outvars, made if several else [made], strict=True))
        return known[variable]

    for equation in jaxpr.eqns:
        inputs = equation.invars
        if all(map(fixed, inputs)):
            made_by |= dict.fromkeys(equation.outvars, equation)
            if _draws(equation):
                concrete(equation.outvars[0])
                continue
        outer, w.place = w.place, source_line(equation) or w.place
        results = _apply(w, equation, [read(v) for v in inputs])
        for variable, value in zip(equation.outvars, results, strict=True):
            again = reads[variable] > 1 and not value.free
            values[variable] = w.store(value, _hint(equation)) if again else value
        w.place = outer
    return [read(v) for v in jaxpr.outvars]


def _hint(equation: Any) -> str:
    name = equation.primitive.name
    return name if name.isalpha() else "v"


def _apply(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    name = equation.primitive.name
    where = f" ({w.place})" if w.place else ""
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
