"""Primitives that only move elements: most change indices and compute nothing."""

import math
from typing import Any

import numpy as np

from blocks.live.registry import dtype_of, one, rule
from blocks.live.values import Value, flat, grouped, held, rounded, unflat
from blocks.live.writer import Writer


def shifted(index: str, by: int) -> str:
    """`index` + `by`, as one readable expression."""
    if by == 0:
        return index
    if index.isdecimal():
        return str(int(index) + by)
    return f"{index} {'+' if by > 0 else '-'} {abs(by)}"


@rule("iota")
def _iota(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    axis, dtype = equation.params["dimension"], dtype_of(equation.outvars[0])
    return one(
        equation,
        lambda i: i[axis] if dtype == "float32" else rounded(i[axis], dtype),
        free=True,
    )


@rule("broadcast_in_dim")
def _broadcast(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    a, axes = args[0], equation.params["broadcast_dimensions"]
    if math.prod(equation.params["shape"]) > a.size:
        a = w.keep(a)  # each element is read many times

    def at(i):
        return a.at(
            ["0" if n == 1 else i[k] for k, n in zip(axes, a.shape, strict=True)]
        )

    return one(equation, at, free=a.free)


@rule("reshape", "squeeze", "expand_dims")
def _reshape(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    (a, *_), shape = args, equation.outvars[0].aval.shape
    if [n for n in shape if n != 1] == [n for n in a.shape if n != 1]:

        def at(i):
            long = iter([index for index, n in zip(i, shape, strict=True) if n != 1])
            return a.at(["0" if n == 1 else next(long) for n in a.shape])

        return [Value(shape, a.dtype, at, a.name, a.free)]
    a = w.keep(a)
    if a.name:
        return [held(a.name, shape, a.dtype)]
    return one(equation, lambda i: a.at(unflat(flat(i, shape), a.shape)))


@rule("transpose")
def _transpose(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    (a,), back = args, np.argsort(equation.params["permutation"])
    return one(equation, lambda i: a.at([i[k] for k in back]), free=a.free)


@rule("rev")
def _rev(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    (a,), axes = args, equation.params["dimensions"]

    def at(indices):
        return a.at(
            [
                f"{a.shape[k] - 1} - {grouped(index)}" if k in axes else index
                for k, index in enumerate(indices)
            ]
        )

    return one(equation, at, free=a.free)


@rule("slice")
def _slice(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    (a,), p = args, equation.params
    strides = p["strides"] or [1] * len(a.shape)

    def at(indices):
        stepped = [
            index if step == 1 or index == "0" else f"{grouped(index)} * {step}"
            for index, step in zip(indices, strides, strict=True)
        ]
        starts = p["start_indices"]
        return a.at([shifted(i, n) for i, n in zip(stepped, starts, strict=True)])

    return one(equation, at, free=a.free)


@rule("split")
def _split(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    a, axis, start, parts = w.keep(args[0]), equation.params["axis"], 0, []
    for variable in equation.outvars:
        shape = variable.aval.shape

        def at(i, start=start):
            return a.at([*i[:axis], shifted(i[axis], start), *i[axis + 1 :]])

        parts.append(Value(shape, a.dtype, at, free=True))
        start += shape[axis]
    return parts


@rule("concatenate")
def _concatenate(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    axis = equation.params["dimension"]
    args = [a for a in args if a.shape[axis]] or args[:1]

    def at(i):
        expression, end = "", sum(a.shape[axis] for a in args)
        for a in reversed(args):
            start = end - a.shape[axis]
            inside = a.at([*i[:axis], shifted(i[axis], -start), *i[axis + 1 :]])
            choice = f"({i[axis]} < {end} ? {inside} : {expression})"
            expression, end = choice if expression else inside, start
        return expression

    return one(equation, at)


@rule("stack")
def _stack(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    axis = equation.params["axis"]

    def at(i):
        *first, expression = (a.at([*i[:axis], *i[axis + 1 :]]) for a in args)
        for k, part in reversed(list(enumerate(first))):
            expression = f"({i[axis]} === {k} ? {part} : {expression})"
        return expression

    return one(equation, at)


@rule("unstack")
def _unstack(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    a, axis = w.keep(args[0]), equation.params["axis"]
    return [
        Value(
            variable.aval.shape,
            a.dtype,
            lambda i, k=k: a.at([*i[:axis], str(k), *i[axis:]]),
            free=True,
        )
        for k, variable in enumerate(equation.outvars)
    ]


@rule("tile")
def _tile(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    a = w.keep(args[0])

    def at(i):
        return a.at([f"{grouped(k)} % {n}" for k, n in zip(i, a.shape, strict=True)])

    return one(equation, at, free=True)


@rule("pad")
def _pad(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    a, filling = w.keep(args[0]), w.keep(args[1])
    config = equation.params["padding_config"]

    def at(indices):
        inner, tests = [], []
        for i, n, (low, high, gap) in zip(indices, a.shape, config, strict=True):
            index = shifted(i, -int(low))
            if gap:
                tests.append(f"({index}) % {gap + 1} === 0")
                index = f"({index}) / {gap + 1}"
            if low or high or gap:
                tests.append(f"{index} >= 0 && {index} < {n}")
            inner.append(index)
        if not tests:
            return a.at(inner)
        return f"({' && '.join(tests)} ? {a.at(inner)} : {filling.only()})"

    return one(equation, at)
