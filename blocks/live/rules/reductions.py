"""Primitives that make fewer elements of many, or run along an axis."""

from typing import Any

from blocks.live.registry import dtype_of, rule
from blocks.live.values import Value, flat, held, rounded
from blocks.live.writer import Writer

SMALLEST = {
    "float32": "-Infinity",
    "int32": "-2147483648",
    "uint32": "0",
    "bool": "false",
}
LARGEST = {
    "float32": "Infinity",
    "int32": "2147483647",
    "uint32": "4294967295",
    "bool": "true",
}


def start_and_step(kind: str, dtype: str) -> tuple[str, str]:
    """The number that a reduction of this kind begins with, and one step of it.

    A sum of floats gathers in double precision and is rounded at its end.
    """
    whole = dtype != "float32"
    return {
        "sum": ("0", rounded("s + x", dtype) if whole else "s + x"),
        "prod": ("1", rounded("Math.imul(s, x)", dtype) if whole else "s * x"),
        "max": (SMALLEST[dtype], "Math.max(s, x)"),
        "min": (LARGEST[dtype], "Math.min(s, x)"),
        "and": ("true", "s && x") if dtype == "bool" else ("-1", "s & x"),
        "or": ("false", "s || x") if dtype == "bool" else ("0", "s | x"),
        "xor": ("false", "s !== x") if dtype == "bool" else ("0", "s ^ x"),
    }[kind]


@rule(*(f"reduce_{kind}" for kind in ("sum", "prod", "max", "min", "and", "or", "xor")))
def _reduce(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    (a,), axes = args, equation.params["axes"]
    aval, kind = (
        equation.outvars[0].aval,
        equation.primitive.name.removeprefix("reduce_"),
    )
    start, step = start_and_step(kind, a.dtype)

    def statements(outer):
        inner, head = w.loops([a.shape[k] for k in axes])
        full = list(outer)
        for k, index in sorted(zip(axes, inner, strict=True)):
            full.insert(k, index)
        return f"let s = {start}; {head}{{ const x = {a.at(full)}; s = {step}; }}"

    dtype = dtype_of(equation.outvars[0])
    return [w.fill(aval.shape, dtype, lambda _: rounded("s", dtype), kind, statements)]


@rule("argmax", "argmin")
def _argmax(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    (a,), (axis,) = args, equation.params["axes"]
    aval, name = equation.outvars[0].aval, equation.primitive.name
    better = ">" if name == "argmax" else "<"

    def statements(outer):
        i = w.name("i")
        x = a.at([*outer[:axis], i, *outer[axis:]])
        wins = f"{i} === 0 || x {better} best || (x !== x && best === best)"
        return (
            f"let best, s = 0; for (let {i} = 0; {i} < {a.shape[axis]}; {i}++) "
            f"{{ const x = {x}; if ({wins}) {{ best = x; s = {i}; }} }}"
        )

    dtype = dtype_of(equation.outvars[0])
    return [w.fill(aval.shape, dtype, lambda _: "s", name, statements)]


CUMULATIVE = {
    "cumsum": "sum",
    "cumprod": "prod",
    "cummax": "max",
    "cummin": "min",
}


@rule(*CUMULATIVE, "cumlogsumexp")
def _cumulative(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    (a,), axis, name = args, equation.params["axis"], equation.primitive.name
    dtype, length = a.dtype, a.shape[axis]
    if name == "cumlogsumexp":
        start = "-Infinity"
        step = (
            "s === x ? s + Math.LN2 : "
            "Math.max(s, x) + Math.log1p(Math.exp(-Math.abs(s - x)))"
        )
    else:
        start, step = start_and_step(CUMULATIVE[name], dtype)
    result, k = w.name(name), w.name("i")
    if a.size == 1:
        return [w.keep(a)]
    w.put(w.array(result, a.shape, dtype))
    indices, head = w.loops([1 if n == axis else m for n, m in enumerate(a.shape)])
    indices[axis] = f"{length - 1} - {k}" if equation.params["reverse"] else k
    inner = f"const x = {a.at(indices)}; s = {step}; "
    inner += f"{result}[{flat(indices, a.shape)}] = s;"
    loop = f"for (let {k} = 0; {k} < {length}; {k}++) {{ {inner} }}"
    w.put(f"{head}{{ let s = {start}; {loop} }}")
    return [held(result, a.shape, dtype)]


@rule("dot_general")
def _dot_general(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    (left_sum, right_sum), (left_batch, right_batch) = equation.params[
        "dimension_numbers"
    ]
    left, right = (w.keep(a) for a in args)
    left_free = [k for k in range(len(left.shape)) if k not in left_sum + left_batch]
    right_free = [
        k for k in range(len(right.shape)) if k not in right_sum + right_batch
    ]
    aval, dtype = equation.outvars[0].aval, dtype_of(equation.outvars[0])

    def statements(outer):
        inner, head = w.loops([left.shape[k] for k in left_sum])
        batch = outer[: len(left_batch)]
        rest = outer[len(left_batch) :]
        at_left = dict(zip(left_batch, batch, strict=True))
        at_left |= dict(zip(left_free, rest, strict=False))
        at_left |= dict(zip(left_sum, inner, strict=True))
        at_right = dict(zip(right_batch, batch, strict=True))
        at_right |= dict(zip(right_free, rest[len(left_free) :], strict=True))
        at_right |= dict(zip(right_sum, inner, strict=True))
        x = left.at([at_left[k] for k in range(len(left.shape))])
        y = right.at([at_right[k] for k in range(len(right.shape))])
        if dtype == "float32":
            return f"let s = 0; {head}s += {x} * {y};"
        return f"let s = 0; {head}s = {rounded(f's + Math.imul({x}, {y})', dtype)};"

    return [w.fill(aval.shape, dtype, lambda _: rounded("s", dtype), "dot", statements)]
