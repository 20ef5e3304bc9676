import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from programs import compare

A = np.arange(24, dtype=np.float32).reshape(4, 6)
PLACES = [-9, -1, 0, 2, 3, 4, 99]


@pytest.mark.parametrize("start", PLACES)
def test_a_slice_at_a_computed_place_moves_inside(start):
    i = np.int32(start)
    compare(lambda i: lax.dynamic_slice(A, (i, i), (2, 3)), i)
    compare(lambda i: lax.dynamic_slice(A, (i, 0), (1, 6)), i)
    compare(lambda i: lax.dynamic_update_slice(A, -A[:2, :3], (i, i)), i)
    compare(lambda i: lax.dynamic_update_slice(A, A + 1, (i, i)), i)


@pytest.mark.parametrize("mode", ["fill", "clip", "promise_in_bounds"])
def test_elements_at_computed_places(mode):
    inside = mode == "promise_in_bounds"
    places = np.int32([0, 3, 1, 1] if inside else [0, 3, -1, 9, -9, 1])
    compare(lambda p: jnp.asarray(A).at[p].get(mode=mode), places)
    compare(lambda p: jnp.asarray(A).at[p, p].get(mode=mode), places)
    compare(lambda p: jnp.asarray(A).at[:, p].get(mode=mode), places)


def test_outside_of_other_dtypes():
    for dtype in (np.int32, np.uint32, bool):
        x = np.arange(6).astype(dtype)
        compare(lambda p, x=x: jnp.asarray(x).at[p].get(mode="fill"), np.int32([1, 7]))
    compare(
        lambda p: jnp.asarray(A).at[p].get(mode="fill", fill_value=5.0),
        np.int32([1, 7]),
    )


def test_one_element_and_none():
    compare(lambda p: jnp.asarray(A)[p], np.zeros((0,), np.int32))
    compare(lambda p: jnp.asarray(A)[p], np.int32(2))
    compare(lambda p: jnp.ones((1, 1))[p], np.int32([0, 0]))


def test_along_an_axis_and_in_batches():
    places = np.int32([[0, 5], [1, 1], [2, 0], [4, 3]])
    compare(lambda p: jnp.take_along_axis(jnp.asarray(A), p, axis=1), places)
    compare(lambda p: jax.vmap(lambda row, p: row[p])(jnp.asarray(A), p), places)
    compare(lambda p: jnp.take(jnp.asarray(A), p, axis=0), places)


@pytest.mark.parametrize("way", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize("mode", ["drop", "clip"])
def test_writes_at_computed_places(way, mode):
    places = np.int32([0, 3, 1, 1, 9, -1])
    new = np.float32([1, -2, 3, 4, 5, 6])
    x = jnp.arange(4.0)
    compare(lambda p, n: getattr(x.at[p], way)(n, mode=mode), places, new)


def test_writes_of_rows_and_of_single_elements():
    places, rows = np.int32([3, 0, 3]), np.ones((3, 6), np.float32)
    compare(lambda p, r: jnp.asarray(A).at[p].add(r), places, rows)
    compare(lambda p: jnp.asarray(A).at[:, p].set(0.0), np.int32([5, 1]))
    compare(lambda v: jnp.zeros((4, 4)).at[1, 2].set(v), np.float32(7))
    compare(lambda v: jnp.zeros((1,)).at[0].add(v), np.float32(7))
    compare(lambda p: jnp.asarray(A).at[p].set(9.0), np.zeros((0,), np.int32))


def test_the_gradient_of_a_look_up_is_a_write():
    places = np.int32([1, 1, 3])
    compare(lambda p: jax.grad(lambda x: (x[p] ** 2).sum())(jnp.asarray(A)), places)


def test_writing_does_not_change_what_was_read():
    x = np.arange(4, dtype=np.float32)
    compare(lambda x: (x.at[1].set(9.0), x.at[2].add(1.0), x), x)
