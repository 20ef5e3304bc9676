"""Primitives that put elements in order."""

from collections.abc import Sequence
from typing import Any

from blocks.live.registry import dtype_of, rule
from blocks.live.values import Value, flat, held
from blocks.live.writer import Writer


def _ordered(
    w: Writer,
    equation: Any,
    keys: list[Value],
    values: Sequence[Value | None],
    axis: int,
    *,
    down: bool,
) -> list[Value]:
    """Rows of `values` in the order of `keys`; a value of None is the place itself.

    Equal keys keep their order. NaN counts as the largest number; downwards, as in
    `top_k`, 0 comes before -0.
    """
    shape = keys[0].shape
    results = []
    for variable in equation.outvars:
        name, aval = w.name("sorted"), variable.aval
        w.put(w.array(name, aval.shape, dtype_of(variable)))
        results.append((name, aval.shape, dtype_of(variable)))
    indices, head = w.loops([1 if k == axis else n for k, n in enumerate(shape)])

    def along(index):
        return [*indices[:axis], index, *indices[axis + 1 :]]

    sign, equal = ("-", "1 / x - 1 / y") if down else ("", "0")
    tests = []
    for key in keys:
        x, y = key.at(along("one")), key.at(along("two"))
        tests.append(
            f"{{ const x = {x}, y = {y}; "
            "const c = x !== x ? (y !== y ? 0 : 1) : y !== y ? -1 : "
            f"x < y ? -1 : x > y ? 1 : {equal}; if (c) return {sign}c; }}"
        )
    order, k = w.name("order"), w.name("k")
    with w.braces(head.rstrip() if head else ""):
        w.put(
            f"const {order} = Array.from({{ length: {shape[axis]} }}, (_, one) => one);"
        )
        w.put(f"{order}.sort((one, two) => {{ {' '.join(tests)} return 0; }});")
        writes = ""
        for (name, target, _), value in zip(results, values, strict=True):
            place = f"{order}[{k}]"
            element = place if value is None else value.at(along(place))
            writes += f"{name}[{flat(along(k), target)}] = {element}; "
        w.put(f"for (let {k} = 0; {k} < {results[0][1][axis]}; {k}++) {{ {writes}}}")
    return [_result(w, *result) for result in results]


def _result(w: Writer, name: str, shape: tuple[int, ...], dtype: str) -> Value:
    """An array of one element becomes a number, as everywhere."""
    if all(n == 1 for n in shape):
        return w.store(Value(shape, dtype, lambda _: f"{name}[0]"))
    return held(name, shape, dtype)


@rule("sort")
def _sort(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    values = [w.keep(a) for a in args]
    keys = values[: equation.params["num_keys"]]
    return _ordered(w, equation, keys, values, equation.params["dimension"], down=False)


@rule("top_k")
def _top_k(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    a = w.keep(args[0])
    axis = equation.params.get("axis", -1) % len(a.shape)
    return _ordered(w, equation, [a], [a, None], axis, down=True)
