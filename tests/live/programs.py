"""Runs the JavaScript of a live figure in this process, and sets it beside JAX."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import quickjs

from blocks.live import to_javascript

CALL = """
function call(settings) {
  const text = x => (Number.isFinite(x) ? (Object.is(x, -0) ? "-0" : +x) : String(x));
  const results = Object.entries(run(settings));
  return JSON.stringify(Object.fromEntries(results.map(([name, value]) =>
    [name, ArrayBuffer.isView(value) ? Array.from(value, text) : [text(+value)]])));
}
"""


def javascript(value) -> str:
    """A setting as it is written in JavaScript, infinities and -0 included."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{javascript(v)}" for k, v in value.items()) + "}"
    array = np.asarray(value)
    if array.ndim:
        return "[" + ",".join(javascript(x) for x in array.ravel()) + "]"
    if array.dtype == bool:
        return str(int(array))
    number = array.item()
    if number != number:
        return "NaN"
    if abs(number) == float("inf"):
        return "Infinity" if number > 0 else "-Infinity"
    return repr(number)


class Program:
    """The emitted program of `function`, to be called with settings by name."""

    def __init__(self, function, example):
        self.source = to_javascript(function, example)
        self._context = quickjs.Context()
        self._context.eval(self.source.replace("export function", "function") + CALL)

    def __call__(self, **settings):
        given = javascript(settings)
        results = json.loads(self._context.eval(f"call({given})"))
        return {k: np.array([float(x) for x in v]) for k, v in results.items()}


def compare(function, *args, rtol=1e-6, atol=0.0):
    """Assert that the program of `function` computes what JAX does.

    Integers and booleans must be equal; floats agree to `rtol`, with the same NaN,
    infinities and signs of zero.
    """
    args = [jnp.asarray(a) for a in args]

    def view(**named):
        result = function(*(named[f"x{i}"] for i in range(len(args))))
        results = result if isinstance(result, tuple) else (result,)
        return {f"y{i}": r for i, r in enumerate(results)}

    named = {f"x{i}": a for i, a in enumerate(args)}
    expected = jax.jit(lambda kw: view(**kw))(named)
    found = Program(view, named)(**named)
    for name, want in expected.items():
        got, want = found[name], np.asarray(want)
        flat = want.ravel().astype(float)
        assert got.shape == flat.shape
        if np.issubdtype(want.dtype, np.floating):
            np.testing.assert_allclose(got, flat, rtol=rtol, atol=atol)
            zero = flat == 0
            if not atol:
                np.testing.assert_array_equal(
                    np.signbit(got[zero]), np.signbit(flat[zero])
                )
        else:
            np.testing.assert_array_equal(got, flat)
