"""Primitives that read or write at computed places."""

from typing import Any

from blocks.live.registry import dtype_of, one, rule
from blocks.live.values import Value, flat, grouped, held, literal
from blocks.live.writer import Writer

OUTSIDE = {
    "float32": "NaN",
    "int32": "-2147483648",
    "uint32": "4294967295",
    "bool": "true",
}


def clipped(start: str, last: int) -> str:
    """`start` moved inside 0, …, last, as XLA moves the start of a slice."""
    return "0" if last == 0 else f"Math.min(Math.max({start}, 0), {last})"


@rule("dynamic_slice")
def _dynamic_slice(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    a, *starts = [w.keep(arg) for arg in args]
    shape = equation.outvars[0].aval.shape

    def at(indices):
        moved = []
        for i, start, n, m in zip(indices, starts, a.shape, shape, strict=True):
            first = clipped(start.only(), n - m)
            moved.append(i if n == m else first if m == 1 else f"{first} + {i}")
        return a.at(moved)

    return one(equation, at)


@rule("dynamic_update_slice")
def _dynamic_update_slice(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    a, new, *starts = [w.keep(arg) for arg in args]
    firsts = [
        clipped(start.only(), n - m)
        for start, n, m in zip(starts, a.shape, new.shape, strict=True)
    ]

    def at(indices):
        inner, tests = [], []
        for i, first, n, m in zip(indices, firsts, a.shape, new.shape, strict=True):
            if n == m:
                inner.append(i)
                continue
            inner.append(f"{i} - {grouped(first)}")
            tests.append(f"{i} >= {first} && {i} < {first} + {m}")
        if not tests:
            return new.at(inner)
        return f"({' && '.join(tests)} ? {new.at(inner)} : {a.at(indices)})"

    return one(equation, at)


@rule("gather")
def _gather(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    a, places = [w.keep(arg) for arg in args]
    p = equation.params
    numbers, sizes, mode = p["dimension_numbers"], p["slice_sizes"], str(p["mode"])
    batching = getattr(numbers, "operand_batching_dims", ())
    gone = (*numbers.collapsed_slice_dims, *batching)
    kept = [k for k in range(len(a.shape)) if k not in gone]

    def at(indices):
        rows = [i for k, i in enumerate(indices) if k not in numbers.offset_dims]
        offsets = [indices[k] for k in numbers.offset_dims]
        offset = dict(zip(kept, offsets, strict=True))
        full, tests = [], []
        for k, n in enumerate(a.shape):
            index, last = offset.get(k, "0"), n - sizes[k]
            if k in batching:
                index = rows[numbers.start_indices_batching_dims[batching.index(k)]]
            elif k in numbers.start_index_map:
                start = places.at([*rows, str(numbers.start_index_map.index(k))])
                if "clip" in mode.lower():
                    start = clipped(start, last)
                elif "fill" in mode.lower():
                    tests.append(f"{start} >= 0 && {start} <= {last}")
                index = start if index == "0" else f"{start} + {index}"
            full.append(index)
        if not tests:
            return a.at(full)
        fill = p["fill_value"]
        other = OUTSIDE[a.dtype] if fill is None else literal(fill, a.dtype)
        return f"({' && '.join(tests)} ? {a.at(full)} : {other})"

    return one(equation, at)


COMBINED = {
    "scatter": "{new}",
    "scatter-add": "{old} + {new}",
    "scatter_add": "{old} + {new}",
    "scatter-sub": "{old} - {new}",
    "scatter-mul": "{old} * {new}",
    "scatter_mul": "{old} * {new}",
    "scatter-min": "Math.min({old}, {new})",
    "scatter_min": "Math.min({old}, {new})",
    "scatter-max": "Math.max({old}, {new})",
    "scatter_max": "Math.max({old}, {new})",
}


@rule(*COMBINED)
def _scatter(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    """A copy of the array, then one write for each element of the updates, in order."""
    a, places, new = args[0], w.keep(args[1]), args[2]
    p, dtype = equation.params, dtype_of(equation.outvars[0])
    numbers, mode = p["dimension_numbers"], str(p["mode"]).lower()
    batching = getattr(numbers, "operand_batching_dims", ())
    gone = (*numbers.inserted_window_dims, *batching)
    kept = [k for k in range(len(a.shape)) if k not in gone]
    windows = dict(
        zip(kept, (new.shape[k] for k in numbers.update_window_dims), strict=True)
    )
    if a.size == 1:  # a number, which has to be a variable to be written
        copy = held(w.name("scattered"), a.shape, dtype)
        w.put(f"let {copy.name} = {a.only()};")
    else:
        copy = w.store(a, "scattered")
    indices, head = w.loops(new.shape)
    rows = [i for k, i in enumerate(indices) if k not in numbers.update_window_dims]
    inside = dict(
        zip(kept, (indices[k] for k in numbers.update_window_dims), strict=True)
    )
    full, tests = [], []
    for k, n in enumerate(a.shape):
        index, last = inside.get(k, "0"), n - windows.get(k, 1)
        if k in batching:
            index = rows[numbers.scatter_indices_batching_dims[batching.index(k)]]
        elif k in numbers.scatter_dims_to_operand_dims:
            column = numbers.scatter_dims_to_operand_dims.index(k)
            start = places.at([*rows, str(column)])
            if "clip" in mode:
                start = clipped(start, last)
            else:
                tests.append(f"{start} >= 0 && {start} <= {last}")
            index = start if index == "0" else f"{start} + {index}"
        full.append(index)
    place = copy.name if a.size == 1 else f"{copy.name}[{flat(full, a.shape)}]"
    value = COMBINED[equation.primitive.name].format(old=place, new=new.at(indices))
    test = f"if ({' && '.join(tests)}) " if tests else ""
    w.put(f"{head}{test}{place} = {value};")
    return [copy]
