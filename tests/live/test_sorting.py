import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from programs import compare

nan, inf = np.nan, np.inf
ROWS = np.float32(
    [[3, 1, 2, 1], [nan, 1, inf, -inf], [0.0, -0.0, 0.0, -0.0], [2, 2, 2, 2]]
)


@pytest.mark.parametrize("axis", [0, 1])
def test_sort(axis):
    compare(lambda x: jnp.sort(x, axis=axis), ROWS)
    compare(lambda x: jnp.argsort(x, axis=axis), ROWS)
    compare(lambda x: jnp.argsort(x, axis=axis, descending=True), ROWS)


def test_sort_by_two_keys_carries_the_rest():
    a, b = np.int32([1, 0, 1, 0, 1]), np.float32([2, 1, 1, 3, 2])
    rest = np.float32([10, 11, 12, 13, 14])
    compare(lambda *xs: tuple(lax.sort(xs, num_keys=2)), a, b, rest)


def test_integers_and_booleans():
    compare(jnp.sort, np.int32([3, -1, 2**31 - 1, -(2**31), 0]))
    compare(jnp.sort, np.uint32([3, 2**32 - 1, 0]))
    compare(jnp.sort, np.array([True, False, True]))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_largest_come_first_and_ties_keep_their_order(k):
    compare(lambda x: tuple(lax.top_k(x, k)), ROWS)


def test_one_element_and_none():
    compare(jnp.sort, np.float32([5]))
    compare(jnp.sort, np.zeros((0,), np.float32))
    compare(lambda x: tuple(lax.top_k(x, 1)), np.float32([5]))
    compare(jnp.sort, np.zeros((3, 1), np.float32))
