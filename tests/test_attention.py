import inspect
import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from blocks import (
    MultiHeadAttention,
    attend,
    attention_weights,
    cast,
    causal_mask,
    padding_mask,
    window_mask,
)

CAUSAL = causal_mask(jnp.arange(2, 7), jnp.arange(7))


def softmax(scores):
    e = np.exp(scores - scores.max())
    return e / e.sum()


def by_the_paper(q, k, v, mask=None, bias=None, scale=None):
    """Vaswani et al. (2017), section 3.2.1, one query of one head at a time."""
    q, k, v = (np.asarray(array, np.float64) for array in (q, k, v))
    (t, n, h), (s, g, _) = q.shape[-3:], k.shape[-3:]
    sizes = (*q.shape[:-3], n, t, s)
    mask = np.broadcast_to(True if mask is None else mask, sizes)
    bias = np.broadcast_to(0.0 if bias is None else bias, sizes)
    weights, mixed = np.zeros(sizes), np.zeros((*q.shape[:-1], v.shape[-1]))
    for at in np.ndindex(*sizes[:-1]):
        *batch, i, j = at
        row, seen = tuple(batch), np.flatnonzero(mask[at])
        if seen.size:
            scores = [q[row][j, i] @ k[row][s, i * g // n] for s in seen]
            scores = np.array(scores) * (h**-0.5 if scale is None else scale)
            weights[at][seen] = softmax(scores + bias[at][seen])
        for s in seen:
            mixed[row][j, i] += weights[at][s] * v[row][s, i * g // n]
    return weights, mixed


def normal(seed, *shape, dtype=jnp.float32):
    """By NumPy, for JAX compiles a generator of its own for each shape."""
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def drawn(batch=(2,), n=4, g=4, dtype=jnp.float32):
    """Five queries and seven keys of size 8, values of size 3."""
    shapes = (5, n, 8), (7, g, 8), (7, g, 3)
    return [normal(i, *batch, *s, dtype=dtype) for i, s in enumerate(shapes)]


def drawn_mask(*shape):
    """A mask in which the first query of each row may attend nowhere."""
    mask = np.random.default_rng(3).random(shape) < 0.6
    mask[..., 0, :] = False
    return jnp.asarray(mask)


def layer_of(d=8, n=2, **settings):
    """A layer of which no two weights or biases are alike."""

    def init():
        return MultiHeadAttention.init(jax.random.key(0), d, n, **settings)

    numbers = itertools.count()
    return jax.tree.map(
        lambda array: normal(next(numbers), *array.shape) / d**0.5,
        jax.eval_shape(init),
    )


SETTINGS = [
    dict(),
    dict(mask=(5, 7)),
    dict(mask=(2, 4, 5, 7)),
    dict(mask=(2, 1, 5, 7), bias=(1, 4, 5, 7), scale=0.3),
    dict(bias=(5, 7)),
    dict(mask=(1, 1, 1, 7), bias=(2, 4, 1, 1)),
]


@pytest.mark.parametrize("g", [1, 2, 4])
@pytest.mark.parametrize("settings", SETTINGS)
def test_attention_matches_the_paper(settings, g):
    settings, (q, k, v) = dict(settings), drawn(g=g)
    if "mask" in settings:
        settings["mask"] = drawn_mask(*settings["mask"])
    if "bias" in settings:
        settings["bias"] = normal(4, *settings["bias"])
    weights, mixed = by_the_paper(q, k, v, **settings)
    np.testing.assert_allclose(attention_weights(q, k, **settings), weights, atol=1e-6)
    np.testing.assert_allclose(attend(q, k, v, **settings), mixed, atol=2e-6)


@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_any_leading_axes_will_do(batch):
    q, k, v = drawn(batch, g=2)
    mask = drawn_mask(*batch, 1, 5, 7)
    weights, mixed = by_the_paper(q, k, v, mask)
    np.testing.assert_allclose(attention_weights(q, k, mask=mask), weights, atol=1e-6)
    np.testing.assert_allclose(attend(q, k, v, mask=mask), mixed, atol=2e-6)


def heads_second(array):
    return jnp.swapaxes(jnp.asarray(array), -3, -2)


@pytest.mark.parametrize(
    "name, keys, settings",
    [
        ("out", "kv", {}),
        ("out_mask", "kv", {"mask": "mask"}),
        ("out_dead", "kv", {"mask": "mask_dead"}),
        ("out_scale", "kv", {"scale": 0.5}),
        ("out_causal", "kv", {"mask": "first"}),
        ("out_causal_LneS_topleft", "kv", {"mask": "first"}),
        ("out_gqa", ("kg", "vg"), {}),
    ],
)
def test_attend_matches_torch(golden, name, keys, settings):
    file = golden("torch_sdpa")
    q, k, v = (heads_second(file[key]) for key in ("q", *keys))
    first = causal_mask(jnp.arange(5), jnp.arange(7))
    masks = {"first": first} | {key: file[key] for key in ("mask", "mask_dead")}
    if "mask" in settings:
        settings = {"mask": jnp.asarray(masks[settings["mask"]], bool)}
    want = heads_second(file[name])
    np.testing.assert_allclose(attend(q, k, v, **settings), want, atol=5e-6)


@pytest.mark.parametrize("g", [1, 2, 4])
@pytest.mark.parametrize("names", [(), ("mask",), ("bias", "scale"), ("mask", "bias")])
def test_attend_matches_jax(g, names):
    q, k, v = drawn(g=g)
    # What jax answers to a query that may attend nowhere is another matter.
    mask = drawn_mask(2, 4, 5, 7).at[..., 0].set(True)
    every = dict(mask=mask, bias=normal(4, 2, 4, 5, 7), scale=0.2)
    settings = {name: every[name] for name in names}
    v = jnp.pad(v, ((0, 0), (0, 0), (0, 0), (0, 5)))
    want = jax.nn.dot_product_attention(q, k, v, **settings)
    np.testing.assert_allclose(attend(q, k, v, **settings), want, atol=5e-6)


def test_weights_are_shares_of_the_keys_that_may_be_seen():
    weights = attention_weights(*drawn()[:2], mask=CAUSAL)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-6)
    assert (weights > 0).all(where=CAUSAL) and not weights.any(where=~CAUSAL)


def test_scores_are_divided_by_the_root_of_the_head_size():
    eye = jnp.eye(8).reshape(8, 2, 4)
    q, k = (jnp.einsum("td,dnh->tnh", x, eye) for x in (jnp.eye(8)[:1], jnp.eye(8)))
    weights = attention_weights(q * 2, k[:2] * 2)
    np.testing.assert_allclose(weights[0, 0], [0.88079708, 0.11920292], rtol=1e-6)


def test_a_query_that_may_attend_nowhere_gets_zero():
    v = jnp.array([[1.0, 0], [0, 1], [4, 4]])[:, None]
    scores = jnp.array([[1.0, 2, 3], [1, 2, 3]])
    mask = jnp.array([[1, 0, 1], [0, 0, 0]], bool)
    q, k = jnp.zeros((2, 1, 1)), jnp.zeros((3, 1, 1))

    def mixed(v):
        return attend(q, k, v, mask=mask, bias=scores)[:, 0]

    want = [[3.642391, 3.523188], [0, 0]]
    np.testing.assert_allclose(mixed(v), want, atol=1e-5)
    grad = jax.grad(lambda v: mixed(v).sum())(v)[:, 0]
    np.testing.assert_allclose(grad.T, [[0.11920292, 0, 0.88079708]] * 2, atol=1e-5)


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_a_query_that_may_attend_nowhere_has_finite_gradients(size):
    q, k, v = drawn(g=2)
    mask = drawn_mask(5, 7)

    def total(*arrays, bias):
        return attend(*arrays, mask=mask, bias=bias).sum()

    by_each = jax.jit(jax.grad(total, argnums=(0, 1, 2)))
    grads = by_each(size * q, k, v, bias=jnp.ones((5, 7)))
    assert all(jnp.isfinite(grad).all() for grad in grads)
    np.testing.assert_array_equal(grads[0][:, 0], 0)


def test_true_means_that_a_key_may_be_seen():
    mask, v = jnp.array([[True, False, True]]), jnp.eye(3)[:, None]
    q, k = jnp.ones((1, 1, 3)), jnp.ones((3, 1, 3))
    want = [0.5, 0, 0.5]
    np.testing.assert_allclose(attention_weights(q, k, mask=mask)[0, 0], want)
    np.testing.assert_allclose(attend(q, k, v, mask=mask)[0, 0], want)
    eye = jnp.eye(3)[:, None]
    layer = MultiHeadAttention(w_q=eye, w_k=eye, w_v=eye, w_o=jnp.eye(3)[None])
    np.testing.assert_allclose(layer(q[0], jnp.eye(3), mask=mask)[0], want)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_attention_in_low_precision_has_weights_in_float32(dtype):
    q, k, v = drawn(g=2, dtype=dtype)
    wide = [array.astype(jnp.float32) for array in (q, k, v)]
    weights, mixed = attention_weights(q, k), attend(q, k, v)
    assert weights.dtype == jnp.float32 and mixed.dtype == dtype
    np.testing.assert_allclose(weights, attention_weights(*wide[:2]), atol=1e-6)
    want, digits = attend(*wide), jnp.finfo(dtype).eps
    np.testing.assert_allclose(mixed.astype(jnp.float32), want, rtol=digits, atol=1e-6)


def test_scores_beyond_the_range_of_float16_do_no_harm():
    q = jnp.full((1, 1, 8), 200, jnp.float16)
    weights = attention_weights(q, jnp.concatenate([q, 2 * q, -q]))
    np.testing.assert_allclose(weights[0, 0], [0, 1, 0])


@pytest.mark.usefixtures("float64")
def test_gradients_of_attention():
    q, k, v = drawn((1,), n=2, g=1, dtype=jnp.float64)
    mask, bias = drawn_mask(5, 7), normal(4, 1, 2, 5, 7, dtype=jnp.float64)

    def mixed(q, k, v, bias, scale):
        return attend(q, k, v, mask=mask, bias=bias, scale=scale)

    check_grads(jax.jit(mixed), (q, k, v, bias, 0.4), order=2, modes="rev")


TURNED = {"adjacent": ([0, 2], [1, 3]), "halves": ([0, 1], [2, 3])}


def turned(x, positions, base, pairs):
    """Su et al. (2021), section 3.2.2, for heads of size 4."""
    y, (first, second) = x.copy(), TURNED[pairs]
    for t, position in enumerate(positions):
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            z = x[t, :, a] + 1j * x[t, :, b]
            z = z * np.exp(1j * position * base ** (-2 * i / 4))
            y[t, :, a], y[t, :, b] = z.real, z.imag
    return y


def layer_by_the_paper(layer, x, context, q_at, k_at, mask):
    """Vaswani et al. (2017), section 3.2.2, for one row of a batch."""
    wide = jax.tree.map(lambda array: np.asarray(array, np.float64), layer)

    def project(x, w, b):
        y = np.stack([x @ w[:, i] for i in range(w.shape[1])], axis=1)
        return y if b is None else y + b

    q = project(x, wide.w_q, wide.b_q)
    k, v = project(context, wide.w_k, wide.b_k), project(context, wide.w_v, wide.b_v)
    if layer.rotary:
        q = turned(q, q_at, layer.base, layer.pairs)
        k = turned(k, k_at, layer.base, layer.pairs)
    mixed = by_the_paper(q, k, v, mask)[1]
    y = sum(mixed[:, i] @ wide.w_o[i] for i in range(mixed.shape[1]))
    return y if wide.b_o is None else y + wide.b_o


LAYERS = [
    dict(),
    dict(g=2, h=4, biases=True),
    dict(g=1, h=4, rotary=True),
    dict(g=2, h=4, rotary=True, base=50.0, pairs="halves", biases=True),
]


@pytest.mark.parametrize("settings", LAYERS)
@pytest.mark.parametrize("cross", [False, True])
def test_the_layer_matches_the_paper(settings, cross):
    layer = layer_of(8, 4 if "h" in settings else 2, **settings)
    x, other = normal(8, 5, 8), normal(9, 7, 8)
    if cross:
        context, at = (other,), (jnp.array([4, 0, 9, 2, 3]), jnp.arange(7) + 3)
        told = dict(positions=at[0], context_positions=at[1])
    else:
        context, at = (), (jnp.arange(5) * 2, jnp.arange(5) * 2)
        told = dict(positions=at[0])
    mask = drawn_mask(5, 7 if cross else 5)
    want = layer_by_the_paper(layer, x, *(context or (x,)), *at, mask)
    got = layer(x, *context, mask=mask, **told)
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_positions_count_from_zero_unless_given():
    layer = layer_of(rotary=True)
    x, context = normal(8, 2, 5, 8), normal(9, 2, 7, 8)
    q_at, k_at = jnp.arange(5), jnp.arange(7)
    for got, want in [
        (layer(x), layer(x, positions=q_at)),
        (layer(x, context), layer(x, context, positions=q_at, context_positions=k_at)),
    ]:
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_each_row_of_a_batch_may_have_its_own_positions():
    layer = layer_of(rotary=True)
    x, at = normal(8, 2, 5, 8), jnp.array([[0, 2, 3, 7, 9], [5, 4, 1, 0, 2]])
    mask = causal_mask(at, at)
    for row, got in enumerate(layer(x, positions=at, mask=mask)):
        want = layer(x[row], positions=at[row], mask=mask[row, 0])
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_rotary_heeds_the_distance_of_tokens_alone():
    layer = layer_of(rotary=True)
    x, at = normal(8, 5, 8), jnp.arange(5)
    moved = layer(x, positions=at + 40)
    np.testing.assert_allclose(moved, layer(x, positions=at), atol=1e-5)
    assert not np.allclose(layer(x, positions=2 * at), moved, atol=1e-2)


def test_keys_are_turned_once_at_their_own_positions():
    eye = jnp.eye(4)[:, None]
    layer = MultiHeadAttention(
        w_q=eye, w_k=eye, w_v=eye, w_o=jnp.eye(4)[None], rotary=True
    )
    q = jnp.array([[1.0, 0, 1, 0]])
    k = jnp.array([[1.0, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0]])
    scores = np.array([-0.39614817, 1.84142099, 1.0])
    got = layer(q, k, positions=jnp.array([2]), context_positions=jnp.arange(3))
    np.testing.assert_allclose(got[0], softmax(scores / 2) @ k, atol=1e-5)


def test_heads_and_tokens_keep_apart():
    eye = jnp.eye(4).reshape(4, 2, 2)
    layer = MultiHeadAttention(w_q=eye, w_k=eye, w_v=eye, w_o=eye.transpose(1, 2, 0))
    x = jnp.arange(16.0).reshape(2, 2, 4)
    np.testing.assert_allclose(layer(x, mask=jnp.eye(2, dtype=bool)), x)


def test_rows_of_a_batch_keep_apart():
    layer = layer_of()
    x, order = normal(8, 2, 5, 8), jnp.array([1, 0])
    np.testing.assert_allclose(layer(x[order]), layer(x)[order], atol=1e-6)


@pytest.mark.usefixtures("pinned_random")
@pytest.mark.parametrize("rotary, gap", [(False, 0.0), (True, 1.5552)])
def test_reversing_the_tokens_reverses_the_output_unless_positions_count(rotary, gap):
    layer = MultiHeadAttention.init(jax.random.key(0), 8, 2, rotary=rotary)
    x = jax.random.normal(jax.random.key(1), (6, 8))
    difference = float(jnp.abs(layer(x) - layer(x[::-1])[::-1]).max())
    assert round(difference, 4) == gap
    assert rotary or difference < 1e-6


@pytest.mark.parametrize("window", [None, 3])
def test_no_token_sees_a_later_one(window):
    layer, x, at = layer_of(), normal(8, 5, 8), jnp.arange(5)
    mask = causal_mask(at, at)
    mask = mask if window is None else mask & window_mask(at, at, window)
    before = layer(x, mask=mask)
    for t in range(4):
        after = layer(x.at[t + 1 :].set(9.0), mask=mask)
        np.testing.assert_allclose(after[: t + 1], before[: t + 1], atol=1e-5)


def test_what_stands_in_the_padding_changes_nothing():
    layer, x = layer_of(), normal(8, 2, 5, 8)
    real = jnp.arange(5) >= jnp.array([[2], [0]])
    mask = padding_mask(real)
    with_pads = layer(jnp.where(real[..., None], x, 99.0), mask=mask)
    np.testing.assert_allclose(with_pads[0, 2:], layer(x[0, 2:]), atol=1e-5)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize("weights", [jnp.float32, jnp.bfloat16])
def test_the_layer_gives_the_dtype_of_its_input(dtype, weights):
    layer, x = layer_of(rotary=True, biases=True), normal(8, 5, 8)
    y = cast(layer, weights)(x.astype(dtype))
    assert y.dtype == dtype
    np.testing.assert_allclose(y.astype(jnp.float32), layer(x), atol=0.1)


def test_the_layer_has_biases_where_they_are_asked_for(key):
    plain = MultiHeadAttention.init(key, 8, 4, g=2)
    biased = MultiHeadAttention.init(key, 8, 4, g=2, biases=True)
    shapes = [array.shape for array in jax.tree.leaves(biased)]
    matrices = [(8, 4, 2), (8, 2, 2), (8, 2, 2), (4, 2, 8)]
    assert [array.shape for array in jax.tree.leaves(plain)] == matrices
    assert shapes == [*matrices, (4, 2), (2, 2), (2, 2), (8,)]
    for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(biased)[:4], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["mask", "bias"])
@pytest.mark.parametrize(
    "shape",
    [(7,), (2, 5, 7), (5, 6), (2, 3, 5, 7), (1, 2, 1, 5, 7), (0, 7), (2, 4, 5, 0)],
)
def test_masks_and_biases_name_every_axis(name, shape):
    array = jnp.ones(shape, bool if name == "mask" else jnp.float32)
    text = (
        f"{name} must be (t, s) or name every axis of (*batch, n, t, s) = "
        f"(2, 4, 5, 7), with 1 where it is shared; got {shape}"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        attend(*drawn(), **{name: array})


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_mask_that_is_not_boolean_is_refused(dtype):
    mask = jnp.ones((5, 7), dtype)
    text = f"^mask must be boolean, True = may attend; got {dtype}$"
    layer, x = layer_of(), jnp.ones((5, 8))
    for call in (
        lambda: attention_weights(*drawn()[:2], mask=mask),
        lambda: attend(*drawn(), mask=mask),
        lambda: layer(x, jnp.ones((7, 8)), mask=mask),
    ):
        with pytest.raises(ValueError, match=text):
            call()


@pytest.mark.parametrize("dtype", ["bool", "int32"])
def test_a_bias_that_is_not_floating_is_refused(dtype):
    # The shape checks of these tests would refuse before the function can.
    weights, bias = inspect.unwrap(attention_weights), jnp.ones((5, 7), dtype)
    text = f"^bias must be floating, added to scores; got {dtype}$"
    with pytest.raises(ValueError, match=text):
        weights(*drawn()[:2], bias=bias)


def test_features_that_are_not_floating_are_refused():
    call, x = inspect.unwrap(MultiHeadAttention.__call__), jnp.ones((5, 8), int)
    with pytest.raises(ValueError, match="with floating numbers; got int32"):
        call(layer_of(), x)


def test_key_heads_divide_query_heads(key):
    text = "^3 key heads must divide 4 query heads$"
    with pytest.raises(ValueError, match=text):
        attend(*drawn(g=3))
    with pytest.raises(ValueError, match=text):
        MultiHeadAttention.init(key, 8, 4, g=3)


@pytest.mark.parametrize("n, g", [(0, 0), (0, 4), (4, 0), (-2, 1)])
def test_there_is_at_least_one_head(key, n, g):
    text = f"^attention needs at least one head; got n={n} and g={g}$"
    with pytest.raises(ValueError, match=text):
        MultiHeadAttention.init(key, 8, n, g=g)


def test_what_rotary_cannot_pair_is_refused_before_the_first_call(key):
    with pytest.raises(ValueError, match="so h must be even; got h=3$"):
        MultiHeadAttention.init(key, 8, 2, h=3, rotary=True)
    with pytest.raises(ValueError, match="^pairs must be .* got 'half'$"):
        MultiHeadAttention.init(key, 8, 2, pairs="half")
    assert layer_of(8, 2, h=3).w_q.shape == (8, 2, 3)


def test_positions_of_a_context_need_a_context():
    text = "^context_positions belong to a context, and there is none$"
    with pytest.raises(ValueError, match=text):
        layer_of(rotary=True)(normal(8, 5, 8), context_positions=jnp.arange(5))


def test_heads_divide_the_features_unless_their_size_is_given(key):
    text = "^3 heads must divide the 8 features, or h be given$"
    with pytest.raises(ValueError, match=text):
        MultiHeadAttention.init(key, 8, 3)
    assert layer_of(8, 3, h=5).w_o.shape == (3, 5, 8)
