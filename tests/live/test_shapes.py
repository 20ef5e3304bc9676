import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from programs import compare

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
SHAPES = [(2, 3, 4), (1, 3, 4), (2, 1, 4), (1, 1, 1), (0, 3, 4), (5,), (1,)]


@pytest.fixture(params=SHAPES, ids=str)
def array(request):
    return np.arange(np.prod(request.param), dtype=np.float32).reshape(request.param)


def test_reshape(array):
    compare(lambda x: (x + 1).reshape(-1), array)
    compare(lambda x: jnp.exp(-x).reshape(*x.shape[::-1]), array)
    compare(lambda x: x[None, ..., None] * 2, array)


def test_reshape_into_other_axes():
    compare(lambda x: (x * 2).reshape(4, 6), A)
    compare(lambda x: (x.T * 2).reshape(3, 8), A)
    compare(lambda x: jnp.squeeze(x[:, :1] + 1), A)


def test_transpose(array):
    compare(lambda x: (x + 1).T, array)


def test_transpose_of_some_axes():
    for axes in ((1, 0, 2), (2, 0, 1), (0, 2, 1)):
        compare(lambda x, axes=axes: lax.transpose(x, axes), A)


def test_broadcast(array):
    compare(lambda x: jnp.broadcast_to(jnp.exp(-x), (2, *x.shape)), array)
    compare(lambda x: x + x.sum(axis=0, keepdims=True), array)


def test_iota():
    compare(lambda x: x + lax.broadcasted_iota(jnp.float32, (2, 3, 4), 1), A)
    compare(lambda x: lax.broadcasted_iota(jnp.int32, (2, 3), 0) + x, np.int32(4))
    compare(lambda x: jnp.arange(0) + x, np.int32(4))


def test_reverse(array):
    compare(lambda x: x[::-1] + 1, array)
    compare(lambda x: lax.rev(x, tuple(range(x.ndim))), array)


@pytest.mark.parametrize(
    "index",
    [
        np.s_[1:],
        np.s_[:, ::2],
        np.s_[..., 1:4:2],
        np.s_[:, 2:0:-1],
        np.s_[::-1, :, ::-2],
        np.s_[1:1],
        np.s_[1, 2, 3],
        np.s_[:, None, 1],
    ],
    ids=str,
)
def test_slices_with_steps_in_both_directions(index):
    compare(lambda x: (x * 2)[index], A)


def test_split_and_join():
    compare(lambda x: tuple(jnp.split(x + 1, 2, axis=2)), A)
    compare(lambda x: tuple(jnp.split(x, [1, 1, 2], axis=1)), A)
    compare(lambda x: jnp.concatenate([x, 2 * x[:, :1], x[:, 1:]], axis=1), A)
    compare(lambda x: jnp.concatenate([x[:0], x, x[:0]]), A)
    compare(lambda x: jnp.concatenate([x[:0], x[:0]]), A)
    compare(lambda x: jnp.stack([x, -x, x + 1], axis=1), A)
    compare(lambda x: jnp.stack([x, -x], axis=-1), np.float32(3.0))
    compare(lambda x: tuple(jnp.unstack(x, axis=1)), A)
    compare(lambda x: jnp.tile(x, (2, 1, 3)), A)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_roll(axis):
    compare(lambda x: jnp.roll(x, 2, axis=axis), A)


@pytest.mark.parametrize(
    "config",
    [
        [(1, 2, 0), (0, 0, 0)],
        [(-1, 0, 0), (2, -1, 0)],
        [(0, 0, 1), (1, 1, 2)],
        [(-1, 3, 2), (0, 0, 0)],
        [(0, 0, 0), (0, 0, 0)],
    ],
    ids=str,
)
def test_padding_with_gaps_and_negative_edges(config):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    compare(lambda x: lax.pad(x, jnp.float32(-7), config), x)


def test_triangles():
    compare(lambda x: (jnp.tril(x), jnp.triu(x, 1)), A[0])
