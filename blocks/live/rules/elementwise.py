"""Primitives that act on each element by itself."""

from collections.abc import Callable
from typing import Any

from blocks.live.registry import RULES, dtype_of, one, rule
from blocks.live.values import Value, rounded
from blocks.live.writer import Writer

# The writer, the dtype of the result and the expressions of the arguments.
Expression = Callable[..., str]


def elementwise(*names: str) -> Callable[[Expression], Expression]:
    """Make an expression the rule of these primitives.

    It is called with the writer, the dtype of the first argument, that of the result,
    and the arguments. An argument of no axes goes with every element.
    """

    def register(expression: Expression) -> Expression:
        def apply(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
            source, result = dtype_of(equation.invars[0]), dtype_of(equation.outvars[0])

            def at(indices):
                parts = [a.at(indices) if a.shape else a.only() for a in args]
                return expression(w, source, result, *parts)

            return one(equation, at)

        RULES.update(dict.fromkeys(names, apply))
        return expression

    return register


def _register_plain() -> None:
    def infix(operator):
        return lambda w, _, dtype, a, b: rounded(f"{a} {operator} {b}", dtype)

    def compared(operator):
        return lambda w, _, dtype, a, b: f"({a} {operator} {b})"

    def by_math(name):
        return lambda w, _, dtype, *x: rounded(f"Math.{name}({', '.join(x)})", dtype)

    for name, operator in {"add": "+", "add_any": "+", "sub": "-"}.items():
        elementwise(name)(infix(operator))
    for name in (
        "abs floor ceil sign sqrt cbrt exp expm1 log log1p sin cos tan asin acos atan "
        "sinh cosh tanh asinh acosh atanh atan2"
    ).split():
        elementwise(name)(by_math(name))
    signs = {"eq": "===", "ne": "!==", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    for name, operator in signs.items():
        elementwise(name)(compared(operator))


_register_plain()


@elementwise("mul")
def _mul(w, _, dtype, a, b):
    return rounded(
        f"{a} * {b}" if dtype == "float32" else f"Math.imul({a}, {b})", dtype
    )


@elementwise("neg")
def _neg(w, _, dtype, a):
    return rounded(f"-{a}", dtype)


@elementwise("square")
def _square(w, _, dtype, a):
    return _mul(w, _, dtype, a, a)


@elementwise("div")
def _div(w, _, dtype, a, b):
    if dtype == "float32":
        return f"F({a} / {b})"
    return f"{w.helper('divideInt' if dtype == 'int32' else 'divideUint')}({a}, {b})"


@elementwise("rem")
def _rem(w, _, dtype, a, b):
    if dtype == "float32":
        return f"F({a} % {b})"
    return rounded(f"{w.helper('remainder')}({a}, {b})", dtype)


@elementwise("pow")
def _pow(w, _, dtype, a, b):
    return rounded(f"{w.helper('pow')}({a}, {b})", dtype)


@rule("integer_pow")
def _integer_pow(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    y, dtype = equation.params["y"], dtype_of(equation.outvars[0])
    (a,) = args if y == 1 else (w.keep(args[0]),)  # it is read more than once

    def power(x, y):
        if y == 1:
            return x
        half = power(x, y // 2)
        squared = _mul(w, dtype, dtype, half, half)
        return _mul(w, dtype, dtype, squared, x) if y % 2 else squared

    def at(indices):
        if y == 0:
            return "1"
        x = power(a.at(indices), abs(y))
        return x if y > 0 else rounded(f"1 / {x}", dtype)

    return one(equation, at)


@elementwise("rsqrt")
def _rsqrt(w, _, dtype, a):
    return f"F(1 / Math.sqrt({a}))"


@elementwise("exp2")
def _exp2(w, _, dtype, a):
    return f"F(2 ** {a})"


@elementwise("logistic")
def _logistic(w, _, dtype, a):
    return f"F(1 / (1 + Math.exp(-{a})))"


@elementwise("erf")
def _erf(w, _, dtype, a):
    w.helper("erfc")
    return f"F({w.helper('erf')}({a}))"


@elementwise("erfc")
def _erfc(w, _, dtype, a):
    return f"F({w.helper('erfc')}({a}))"


@rule("round")
def _round(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    away = int(equation.params["rounding_method"]) == 0
    name = w.helper("roundAway" if away else "round")
    return one(equation, lambda i: f"{name}({args[0].at(i)})")


@elementwise("max")
def _max(w, _, dtype, a, b):
    return f"({a} || {b})" if dtype == "bool" else f"Math.max({a}, {b})"


@elementwise("min")
def _min(w, _, dtype, a, b):
    return f"({a} && {b})" if dtype == "bool" else f"Math.min({a}, {b})"


@elementwise("is_finite")
def _is_finite(w, _, dtype, a):
    return f"Number.isFinite({a})"


@rule("select_n")
def _select_n(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    which, *cases = args
    if which.dtype != "bool" and len(cases) > 1:
        which = w.keep(which)  # it is compared with every case but the last

    def at(indices):
        chosen = which.at(indices) if which.shape else which.only()
        *first, last = (case.at(indices) for case in cases)
        if which.dtype == "bool":
            return f"({chosen} ? {last} : {first[0]})" if first else last
        for k, case in reversed(list(enumerate(first))):
            last = f"({chosen} === {k} ? {case} : {last})"
        return last

    return one(equation, at)


@elementwise("clamp")
def _clamp(w, _, dtype, low, x, high):
    return f"Math.min(Math.max({x}, {low}), {high})"


@rule("copy", "copy_p", "stop_gradient", "optimization_barrier", "device_put")
def _same(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    return args


@rule("convert_element_type")
def _convert(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    (a,), dtype = args, dtype_of(equation.outvars[0])
    if a.dtype == dtype:
        return [a]

    def at(indices):
        x = a.at(indices)
        if dtype == "bool":
            return f"({x} !== 0)"
        if a.dtype == "bool":
            return f"+{x}"
        if a.dtype == "float32":
            return f"{w.helper('toInt' if dtype == 'int32' else 'toUint')}({x})"
        return rounded(x, dtype)

    return one(equation, at)
