"""Primitives that hold other functions: calls, loops and branches."""

from typing import Any

from blocks.live.block import inner_values
from blocks.live.registry import dtype_of, rule
from blocks.live.values import Value, flat, held
from blocks.live.writer import Writer

CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
}


@rule(*CALLS)
def _call(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    params = equation.params
    key = CALLS[equation.primitive.name]
    return inner_values(w, params[key if key in params else "jaxpr"], args)


def _state(w: Writer, values: list[Value]) -> list[Value]:
    """A variable that may change for each value that a loop carries."""
    state = []
    for value in values:
        name = w.name("state")
        content = value.only() if value.size == 1 else w.variable(value)
        w.put(f"let {name} = {content};")
        state.append(held(name, value.shape, value.dtype))
    return state


def _assign(w: Writer, state: list[Value], values: list[Value]) -> None:
    """Give the state its new values, all at once."""
    pairs = [
        (old.name, new.only() if new.size == 1 else w.variable(new))
        for old, new in zip(state, values, strict=True)
    ]
    pairs = [(old, new) for old, new in pairs if old != new]
    if len(pairs) == 1:
        w.put("{} = {};".format(*pairs[0]))
    elif pairs:
        olds, news = (", ".join(names) for names in zip(*pairs, strict=True))
        w.put(f"[{olds}] = [{news}];")


@rule("while")
def _while(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    p, args = equation.params, [w.keep(a) for a in args]
    n_test, n_body = p["cond_nconsts"], p["body_nconsts"]
    test_consts, body_consts = args[:n_test], args[n_test : n_test + n_body]
    state = _state(w, args[n_test + n_body :])
    with w.braces("for (;;)"):
        (test,) = inner_values(w, p["cond_jaxpr"], test_consts + state)
        w.put(f"if (!{test.only()}) break;")
        _assign(w, state, inner_values(w, p["body_jaxpr"], body_consts + state))
    return state


@rule("cond")
def _cond(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    which, *args = [w.keep(a) for a in args]
    results = [
        held(w.name("branch"), variable.aval.shape, dtype_of(variable))
        for variable in equation.outvars
    ]
    if results:
        w.put(f"let {', '.join(result.name for result in results)};")
    branches = equation.params["branches"]
    for k, branch in enumerate(branches):
        # XLA takes the first branch for an index below 0 and the last above the end.
        test = f"if ({which.only()} <= {k})" if k + 1 < len(branches) else ""
        with w.braces(f"{'else ' if k else ''}{test}".strip()):
            _assign(w, results, inner_values(w, branch, args))
    return results


@rule("scan")
def _scan(w: Writer, equation: Any, args: list[Value]) -> list[Value]:
    p, args = equation.params, [w.keep(a) for a in args]
    n_consts, n_carry, length = p["num_consts"], p["num_carry"], p["length"]
    consts, xs = args[:n_consts], args[n_consts + n_carry :]
    state = _state(w, args[n_consts : n_consts + n_carry])
    stacked = []
    for variable in equation.outvars[n_carry:]:
        name, shape = w.name("stacked"), variable.aval.shape
        w.put(w.array(name, shape, dtype_of(variable)))
        stacked.append((name, shape, dtype_of(variable)))
    t = w.name("t")
    step = f"{length - 1} - {t}" if p["reverse"] else t
    with w.braces(f"for (let {t} = 0; {t} < {length}; {t}++)"):
        slices = [
            Value(x.shape[1:], x.dtype, lambda i, x=x: x.at([step, *i]), free=True)
            for x in xs
        ]
        values = inner_values(w, p["jaxpr"], consts + state + slices)
        # A result that is the old state must be read before the state moves on.
        for (name, shape, _), value in zip(stacked, values[n_carry:], strict=True):
            indices, head = w.loops(value.shape)
            w.put(
                f"{head}{name}[{flat([step, *indices], shape)}] = {value.at(indices)};"
            )
        _assign(w, state, values[:n_carry])
    results = [
        w.store(Value(shape, dtype, lambda _, name=name: f"{name}[0]"))
        if all(n == 1 for n in shape)
        else held(name, shape, dtype)
        for name, shape, dtype in stacked
    ]
    return state + results
