import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from blocks import FeedForward, cast, module, static, upcast
from blocks.numerics import norm

LOW = [jnp.bfloat16, jnp.float16]


@pytest.mark.parametrize("dtype", [*LOW, jnp.float32])
def test_upcast_widens_to_float32_and_changes_no_value(key, dtype):
    x = jax.random.normal(key, (3, 5), dtype)
    wide = upcast(x)
    assert wide.dtype == jnp.float32
    np.testing.assert_array_equal(wide, np.asarray(x, np.float32))


@pytest.mark.usefixtures("float64")
def test_upcast_leaves_float64_alone(key):
    x = jax.random.normal(key, (5,), jnp.float64)
    assert upcast(x).dtype == jnp.float64
    check_grads(jax.jit(upcast), (x,), order=2)


@module
class Everything:
    """A leaf of each kind that a module may hold."""

    w: jax.Array
    inner: FeedForward
    b: jax.Array | None = None
    counts: jax.Array
    real: jax.Array
    key: jax.Array
    steps: int = 3
    name: str = static(default="all")


def everything(key):
    return Everything(
        w=jnp.ones(3),
        inner=FeedForward.init(key, 2, 3, biases=False),
        counts=jnp.arange(3),
        real=jnp.array([True, False]),
        key=key,
    )


@pytest.mark.parametrize("dtype", [*LOW, "bfloat16"])
def test_cast_changes_floating_arrays_and_nothing_else(key, dtype):
    before = everything(key)
    after = cast(before, dtype)
    assert after.w.dtype == after.inner.w_in.dtype == after.inner.w_out.dtype == dtype
    assert after.b is None and after.inner.b_in is None
    assert after.counts.dtype == jnp.int32 and after.real.dtype == jnp.bool_
    assert after.key.dtype == key.dtype
    assert after.steps == 3 and isinstance(after.steps, int) and after.name == "all"


def test_complex_numbers_are_not_floating_ones():
    z = jnp.array([1 + 2j])
    assert cast(z, jnp.bfloat16).dtype == jnp.complex64
    with pytest.raises(ValueError, match="floating dtype; got complex64$"):
        cast(jnp.ones(2), jnp.complex64)
    with pytest.raises(ValueError, match="floating numbers; got complex64$"):
        inspect.unwrap(upcast)(z)


def test_cast_reaches_into_any_tree():
    tree = {"a": [jnp.ones(2), 0.1], "b": (jnp.arange(2), None)}
    after = cast(tree, jnp.bfloat16)
    assert [leaf.dtype for leaf in after["a"]] == [jnp.bfloat16, jnp.bfloat16]
    assert after["b"][0].dtype == jnp.int32 and after["b"][1] is None


def test_cast_there_and_back_keeps_what_the_narrow_dtype_holds():
    x = jnp.array([1.0, -0.5, 256.0])
    np.testing.assert_array_equal(cast(cast(x, jnp.bfloat16), jnp.float32), x)
    assert cast(jnp.float32(257), jnp.bfloat16) == 256  # too many digits for bfloat16


@pytest.mark.usefixtures("float64")
def test_cast_may_widen(key):
    assert cast(FeedForward.init(key, 2, 3), jnp.float64).w_in.dtype == jnp.float64
    check_grads(lambda x: cast(x, jnp.float64) ** 2, (jnp.ones(2),), order=1)


def test_a_gradient_through_cast_comes_back_in_the_dtype_of_the_parameter(key):
    layer = FeedForward.init(key, 2, 3)
    x = jnp.ones((4, 2), jnp.bfloat16)
    grads = jax.grad(lambda m: cast(m, jnp.bfloat16)(x).sum().astype(float))(layer)
    assert {g.dtype for g in jax.tree.leaves(grads)} == {jnp.dtype(jnp.float32)}
    np.testing.assert_array_equal(grads.b_out, 4.0)


def test_cast_works_on_traced_leaves(key):
    shapes = jax.eval_shape(lambda k: cast(everything(k), jnp.float16), key)
    assert shapes.w.dtype == jnp.float16 and shapes.counts.dtype == jnp.int32


@pytest.mark.parametrize("dtype, name", [(jnp.int32, "int32"), (bool, "bool")])
def test_cast_to_a_dtype_that_is_not_floating_is_refused(dtype, name):
    with pytest.raises(ValueError, match=f"^cast needs a floating dtype; got {name}$"):
        cast(jnp.ones(2), dtype)


def test_upcast_refuses_what_is_not_floating():
    with pytest.raises(ValueError, match="with floating numbers; got int32"):
        inspect.unwrap(upcast)(jnp.array([3, 4]))


@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0, 1e30])
def test_a_norm_is_right_at_every_size(key, size):
    x = size * jax.random.normal(key, (2, 3, 4))
    want = np.linalg.norm(np.asarray(x, float), axis=(-2, -1), keepdims=True)
    np.testing.assert_allclose(norm(x, axis=(-2, -1)), want, rtol=1e-6)
    want = np.linalg.norm(np.asarray(x, float).ravel())
    np.testing.assert_allclose(norm(x), want, rtol=1e-6)


def test_the_gradient_of_a_norm_is_a_unit_vector(key):
    x = jax.random.normal(key, (3, 4))
    np.testing.assert_allclose(jax.grad(norm)(x), x / norm(x), rtol=1e-5)


def test_a_norm_passes_infinity_on_and_is_zero_of_nothing():
    assert norm(jnp.array([1.0, jnp.inf])) == jnp.inf
    assert norm(jnp.zeros((0, 3))) == 0.0
