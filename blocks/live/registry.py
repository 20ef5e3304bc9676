"""The rule for each primitive of JAX, by its name.

A rule gets the writer, the equation and the values of its arguments; it returns the
values of its results. Each file of the folder `rules` holds the rules of one theme.
"""

from collections.abc import Callable
from typing import Any

from blocks.live.values import Value
from blocks.live.writer import Writer

Rule = Callable[[Writer, Any, list[Value]], list[Value]]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Make the decorated function the rule of these primitives."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def dtype_of(variable: Any) -> str:
    """The dtype of a variable or literal of a jaxpr."""
    return str(variable.aval.dtype)


def one(equation: Any, at: Callable, *, free: bool = False) -> list[Value]:
    """The single result of an equation, by the expression of its elements."""
    aval = equation.outvars[0].aval
    return [Value(aval.shape, str(aval.dtype), at, free=free)]
