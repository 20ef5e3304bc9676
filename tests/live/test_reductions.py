import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from programs import compare

nan, inf = np.nan, np.inf
A = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
INTS = np.random.default_rng(1).integers(-(2**31), 2**31, (3, 4), np.int32)
AXES = [0, 1, 2, (0, 2), (2, 1), (0, 1, 2), ()]


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_floats_along_axes(name, axis):
    compare(lambda x: getattr(jnp, name)(x + 1, axis=axis), A, atol=1e-6)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_integers_wrap_around(name):
    compare(lambda x: getattr(jnp, name)(x, axis=1), INTS)
    compare(lambda x: getattr(jnp, name)(x, axis=0), INTS.astype(np.uint32))


@pytest.mark.parametrize("name", ["max", "min", "sum", "argmax", "argmin"])
def test_nan_infinity_and_ties(name):
    rows = np.float32(
        [[1, nan, 3], [nan, nan, 1], [inf, -inf, 1], [2, 2, 2], [-0.0, 0.0, -0.0]]
    )
    compare(lambda x: getattr(jnp, name)(x, axis=1), rows)


def test_one_element_and_none():
    for shape in ((1, 1), (3, 1), (1, 3)):
        x = np.ones(shape, np.float32)
        compare(lambda x: (x.sum(0), x.max(1), jnp.argmax(x, axis=0), x.cumsum(1)), x)
    empty = np.zeros((0, 3), np.float32)
    compare(lambda x: (x.sum(0), x.prod(0), x.sum(1), x.cumsum(0)), empty)
    compare(lambda x: lax.reduce_max(x, (0,)), empty)
    compare(lambda x: lax.reduce_min(x.astype(jnp.int32), (0,)), empty)


def test_any_and_all():
    x = np.array([[True, False], [True, True], [False, False]])
    compare(lambda x: (x.any(axis=1), x.all(axis=1), x.any(), x.all()), x)
    compare(lambda x: lax.reduce_or(x, (0,)), INTS)
    compare(lambda x: lax.reduce_and(x, (0,)), INTS)
    compare(lambda x: lax.reduce_xor(x, (0,)), INTS)


@pytest.mark.parametrize(
    "name", ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]
)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_running_along_an_axis(name, reverse, axis):
    compare(
        lambda x: getattr(lax, name)(x, axis=axis, reverse=reverse),
        A,
        rtol=3e-6,
        atol=1e-6,
    )


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_running_integers(name):
    compare(lambda x: getattr(lax, name)(x, axis=1), INTS)


def test_running_from_infinity():
    x = np.float32([-inf, -inf, 0.0, 1.0, inf])
    compare(lambda x: (lax.cummax(x), lax.cumlogsumexp(x)), x, rtol=3e-6)


@pytest.mark.parametrize(
    "equation, left, right",
    [
        ("ij,jk->ik", (3, 4), (4, 5)),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
        ("tgrh,sgh->grts", (3, 2, 2, 4), (5, 2, 4)),
        ("i,i->", (4,), (4,)),
        ("i,j->ij", (3,), (4,)),
        ("abc,cb->a", (2, 3, 4), (4, 3)),
        ("ij,jk->ik", (3, 0), (0, 5)),
        ("ij,jk->ik", (1, 1), (1, 1)),
        ("bi,bj->bij", (1, 3), (1, 2)),
    ],
)
def test_products_of_arrays(equation, left, right):
    a, b = jax.random.key(0), jax.random.key(1)
    x, y = jax.random.normal(a, left), jax.random.normal(b, right)
    compare(lambda x, y: jnp.einsum(equation, x, y), x, y, atol=1e-6)


def test_products_of_integers_wrap_around():
    compare(lambda x: x @ x.T, INTS)


def test_softmax_and_its_kin():
    compare(lambda x: jax.nn.softmax(x, axis=-1), A)
    compare(lambda x: jax.nn.softmax(x, axis=-1, where=x > 0), A)
    compare(lambda x: jax.nn.logsumexp(x, axis=1), A, atol=1e-6)
    compare(lambda x: (x.mean(0), x.var(1), x.std(2)), A, rtol=3e-6, atol=1e-6)
