"""Run a reader's answer to an exercise against the block, and say what differs."""

import html
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from blocks.page.compare import difference

COLOURS = {"passed": "c2", "open": "muted", "wrong": "c1"}


@dataclass(frozen=True, repr=False)
class Verdict:
    """What `check` found: `state` is "passed", "open" (no answer yet) or "wrong"."""

    state: str
    message: str

    @property
    def passed(self) -> bool:
        return self.state == "passed"

    def __repr__(self) -> str:
        return self.message

    def _repr_html_(self) -> str:
        edge = f"var(--blocks-{COLOURS[self.state]}, currentColor)"
        return (
            f'<p class="check check-{self.state}" '
            f'style="border-left:4px solid {edge};padding-left:0.8em">'
            f"{html.escape(self.message)}</p>"
        )


def check(
    answer: Any,
    reference: Callable[..., Any],
    inputs: Callable[[jax.Array], Any],
    *,
    cases: int = 5,
) -> Verdict:
    """Compare the reader's function with the block on random inputs.

    `inputs(key)` returns the tuple of arguments of one case; a dict at its end, if its
    keys are names of arguments of `reference`, holds keyword arguments. Each function
    gets a draw of its own, so that one that writes into its arguments cannot disturb
    the other. Floats may differ by 100 units of their last place (4 in half precision),
    measured at the largest number of the block's array; the rest must be equal.
    Whatever `answer` does is reported and never raised; the block's code is not shown.
    """
    if cases < 1:
        raise ValueError(f"check needs at least one case; got {cases}")
    name = getattr(answer, "__name__", "your function")
    still_open = Verdict("open", f"Not answered yet: fill in {name}, then check again.")
    if answer is None or answer is Ellipsis:
        return still_open
    if not callable(answer):
        kind = type(answer).__name__
        return Verdict("wrong", f"Your answer must be a function; it is a {kind}.")
    for case in range(cases):
        key = jax.random.fold_in(jax.random.key(0), case)
        expected = _call(reference, _arguments(reference, inputs(key)))
        try:
            value = _call(answer, _arguments(reference, inputs(key)))
        except NotImplementedError:
            return still_open
        except (Exception, SystemExit) as error:
            text = textwrap.shorten(str(error), 300)
            found = f"{name} raised {type(error).__name__}: {text}".rstrip(": ")
        else:
            if value is None or value is Ellipsis or value is NotImplemented:
                return still_open
            found = _difference(value, expected)
        if found:
            fresh = _arguments(reference, inputs(key))
            given = _describe_all(reference, *fresh)
            message = f"Case {case + 1} of {cases}: {found}. The inputs were {given}."
            return Verdict("wrong", message)
    return Verdict(
        "passed", f"Well done: {name} agrees with the block in {cases} cases."
    )


def _difference(value: Any, expected: Any) -> str:
    try:
        return difference(value, expected)
    except Exception:  # of an object that NumPy or JAX cannot look into
        kind = type(value).__name__
        return f"you return a {kind}, which cannot be compared with the block's result"


def _arguments(reference: Callable[..., Any], given: Any) -> tuple[tuple, dict]:
    args = given if isinstance(given, tuple) else (given,)
    last = args[-1] if args else None
    if isinstance(last, dict) and last.keys() <= set(_names(reference)):
        return args[:-1], last
    return args, {}


def _call(function: Callable[..., Any], arguments: tuple[tuple, dict]) -> Any:
    args, named = arguments
    # JAX works on in the background: an error must come out here, not later.
    return jax.block_until_ready(function(*args, **named))


def _names(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _describe_all(reference: Callable[..., Any], args: tuple, named: dict) -> str:
    names = _names(reference)
    names += [f"argument {i + 1}" for i in range(len(names), len(args))]
    pairs = [*zip(names, args, strict=False), *named.items()]
    return ", ".join(f"{name} = {_describe(value)}" for name, value in pairs) or "none"


def _describe(value: Any) -> str:
    if isinstance(value, jax.Array | np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    return f"a {type(value).__name__}"
