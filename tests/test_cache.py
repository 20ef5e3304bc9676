import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from blocks import (
    KVCache,
    MultiHeadAttention,
    alibi_bias,
    alibi_slopes,
    causal_mask,
    padding_mask,
    positions_of,
    rms_norm,
)

CAPACITY = 9
TOKENS = 7
CHUNKS = [[1] * 7, [3, 1, 3]]
ROTARY = [dict(rotary=True), dict(rotary=True, g=2, h=6, pairs="halves")]


def normal(seed, *shape, dtype=jnp.float32):
    """By NumPy, for JAX compiles a generator of its own for each shape."""
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def tokens(t, seed=0):
    """Keys and values for three rows of a cache."""
    return normal(seed, 3, t, 2, 4), normal(seed + 1, 3, t, 2, 4)


def filled():
    k, v = tokens(6)
    return KVCache(k=k, v=v)


def eager(cache, k, v, start):
    return cache.write(k, v, start)


def assert_written(cache, before, k, v, starts):
    """Each row holds its new tokens from its start on, and what it held elsewhere."""
    for row, start in enumerate(starts):
        for got, old, new in (cache.k, before.k, k), (cache.v, before.v, v):
            want = np.array(old[row])
            want[start : start + new.shape[1]] = new[row]
            np.testing.assert_array_equal(got[row], want)


def test_a_cache_begins_empty_with_the_sizes_asked_for():
    cache = KVCache.init(3, 6, 2, 4, dtype=jnp.float16)
    assert cache.capacity == 6
    for array in cache.k, cache.v:
        assert array.shape == (3, 6, 2, 4) and array.dtype == jnp.float16
        assert not array.any()


@pytest.mark.parametrize("write", [eager, jax.jit(eager)])
@pytest.mark.parametrize("starts", [(0, 0, 0), (4, 4, 4), (3, 0, 4)])
def test_a_write_changes_its_slots_alone(write, starts):
    before, (k, v) = filled(), tokens(2, seed=2)
    each = jnp.array(starts)
    assert_written(write(before, k, v, each), before, k, v, starts)
    if len(set(starts)) == 1:
        for start in each[0], starts[0]:
            assert_written(write(before, k, v, start), before, k, v, starts)


@pytest.mark.parametrize("start", [-1, 5, 6, 99, np.int64(5), np.int8(-1)])
def test_a_write_outside_the_cache_is_refused(start):
    text = f"^slots must lie within the capacity 6; got 2 tokens from slot {start}$"
    with pytest.raises(ValueError, match=text):
        filled().write(*tokens(2), start)


def test_more_tokens_than_the_cache_holds_are_refused():
    text = "^slots must lie within the capacity 6; got 7 tokens from slot 0$"
    with pytest.raises(ValueError, match=text):
        filled().write(*tokens(7), 0)


@pytest.mark.parametrize("write", [eager, jax.jit(eager)])
@pytest.mark.parametrize("outside", [-1, -2, -99, 5, 6, 99, 2**31 - 1])
def test_a_traced_write_outside_poisons_its_row_alone(write, outside):
    before, (k, v) = filled(), tokens(2, seed=2)
    cache = write(before, k, v, jnp.array([1, outside, 4]))
    assert jnp.isnan(cache.k[1]).all() and jnp.isnan(cache.v[1]).all()
    good = jnp.array([0, 2])
    kept = jax.tree.map(lambda array: array[good], (cache, before, k, v))
    assert_written(*kept, starts=(1, 4))
    for array in jax.tree.leaves(write(before, k, v, jnp.array(outside))):
        assert jnp.isnan(array).all()


@pytest.mark.parametrize("start", [1, jnp.array(5)])
def test_a_cache_keeps_its_dtype(start):
    cache = KVCache.init(3, 6, 2, 4, dtype=jnp.bfloat16)
    cache = cache.write(*tokens(2), start)
    assert cache.k.dtype == cache.v.dtype == jnp.bfloat16


def normalised(x):
    return rms_norm(x, jnp.ones(x.shape[-1]))


def model(**settings):
    """Two layers of attention and a head; no two weights or biases are alike."""

    def init():
        return MultiHeadAttention.init(jax.random.key(0), 16, 4, **settings)

    seeds, shape = itertools.count(1), jax.eval_shape(init)
    layers = [
        jax.tree.map(lambda a: normal(next(seeds), *a.shape) / 4, shape) for _ in "12"
    ]
    return layers, normal(0, 16, 11) / 4


@jax.jit
def in_one_pass(layers, head, x, **settings):
    for layer in layers:
        x = x + layer(normalised(x), **settings)
    return x @ head


def causal(t):
    return causal_mask(jnp.arange(t), jnp.arange(t))


def decoded(layers, head, x, *, bias=None, mask=None, positions=None):
    """The logits by way of a cache for each layer, once for each of `CHUNKS`.

    A step gives one start to both layers, traced, so one program serves a chunk size.
    """

    @jax.jit
    def step(x, caches, start, positions):
        slots, new = start + jnp.arange(x.shape[1]), []
        told = {} if bias is None else dict(bias=bias(slots, jnp.arange(CAPACITY)))
        for layer, cache in zip(layers, caches, strict=True):
            y, cache = layer.extend(
                normalised(x), cache, start, mask=mask, positions=positions, **told
            )
            x, new = x + y, [*new, cache]
        return x @ head, new

    g, h = layers[0].w_k.shape[1:]
    for sizes in CHUNKS:
        caches = [KVCache.init(len(x), CAPACITY, g, h) for _ in layers]
        start, logits = 0, []
        for size in sizes:
            chunk = slice(start, start + size)
            where = None if positions is None else positions[:, chunk]
            y, caches = step(x[:, chunk], caches, jnp.array(start), where)
            start, logits = start + size, [*logits, y]
        yield jnp.concatenate(logits, axis=1)


@pytest.mark.parametrize("settings", [{}, *ROTARY])
def test_decoding_in_chunks_equals_one_pass(settings):
    two, x = model(**settings), normal(99, 2, TOKENS, 16)
    whole = in_one_pass(*two, x, mask=causal(TOKENS))
    for got in decoded(*two, x):
        np.testing.assert_allclose(got, whole, atol=1e-5)


def test_decoding_with_alibi_equals_one_pass():
    def bias(q_positions, k_positions):
        return alibi_bias(alibi_slopes(4), q_positions, k_positions)[None]

    two, x = model(g=1), normal(99, 2, TOKENS, 16)
    row = jnp.arange(TOKENS)
    whole = in_one_pass(*two, x, mask=causal(TOKENS), bias=bias(row, row))
    for got in decoded(*two, x, bias=bias):
        np.testing.assert_allclose(got, whole, atol=1e-5)


@pytest.mark.parametrize("settings", ROTARY)
def test_padding_before_and_between_changes_no_real_token(settings):
    two, x = model(**settings), normal(99, 2, TOKENS, 16)
    real = jnp.array([[0, 0, 1, 0, 1, 1, 1], [1] * TOKENS], bool)
    room = jnp.pad(real, ((0, 0), (0, CAPACITY - TOKENS)), constant_values=True)
    told = dict(mask=padding_mask(room), positions=positions_of(real))
    short = in_one_pass(*two, x[:1, real[0]], mask=causal(4))[0]
    long = in_one_pass(*two, x[1:], mask=causal(TOKENS))[0]
    for got in decoded(*two, x, **told):
        np.testing.assert_allclose(got[0, real[0]], short, atol=1e-5)
        np.testing.assert_allclose(got[1], long, atol=1e-5)


@pytest.mark.parametrize("chunk", [1, 3])
def test_no_new_token_sees_a_later_one(chunk):
    layer, x = model(rotary=True)[0][0], normal(99, 1, TOKENS, 16)
    extend = jax.jit(layer.extend)
    _, cache = extend(x[:, :2], KVCache.init(1, CAPACITY, 4, 4), 0)
    before, _ = extend(x[:, 2 : 2 + chunk], cache, 2)
    for t in range(chunk):
        changed = x.at[:, 3 + t :].set(9.0)
        after, _ = extend(changed[:, 2 : 2 + chunk], cache, 2)
        np.testing.assert_allclose(after[:, : t + 1], before[:, : t + 1], atol=1e-6)


def test_each_row_may_stand_at_its_own_slot():
    layer, x = model(rotary=True, biases=True)[0][0], normal(99, 2, 6, 16)
    extend = jax.jit(layer.extend)
    _, cache = extend(x[:, :4], KVCache.init(2, CAPACITY, 4, 4), 0)
    got, _ = extend(x[:, 4:], cache, jnp.array([4, 2]))
    for row, start in enumerate([4, 2]):
        alone = jax.tree.map(lambda array, row=row: array[row : row + 1], cache)
        want, _ = extend(x[row : row + 1, 4:], alone, start)
        np.testing.assert_allclose(got[row], want[0], atol=1e-6)


def test_extending_past_the_capacity_is_refused_or_poisons():
    layer, x = model()[0][0], normal(99, 2, 2, 16)
    cache = KVCache.init(2, CAPACITY, 4, 4)
    for start in 8, np.int64(8):
        with pytest.raises(ValueError, match="capacity 9; got 2 tokens from slot 8$"):
            layer.extend(x, cache, start)
    y, _ = jax.jit(layer.extend)(x, cache, jnp.array([7, 8]))
    assert jnp.isfinite(y[0]).all() and jnp.isnan(y[1]).all()


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_extending_gives_the_dtype_of_its_input(dtype):
    layer, x = model(rotary=True)[0][0], normal(99, 2, 2, 16, dtype=dtype)
    y, cache = jax.eval_shape(layer.extend, x, KVCache.init(2, CAPACITY, 4, 4), 0)
    assert y.dtype == dtype and cache.k.dtype == jnp.float32


@pytest.mark.parametrize("start", [0, jnp.array([0, 1])])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_mask_over_the_cache_is_boolean(start, dtype):
    layer, x = model()[0][0], normal(99, 2, 2, 16)
    mask = jnp.ones((2, CAPACITY), dtype)
    with pytest.raises(ValueError, match=f"True = may attend; got {dtype}"):
        layer.extend(x, KVCache.init(2, CAPACITY, 4, 4), start, mask=mask)


@pytest.mark.parametrize("start", [0, jnp.array([0, 1])])
def test_a_mask_over_the_cache_names_every_axis(start):
    layer, x = model()[0][0], normal(99, 2, 2, 16)
    cache = KVCache.init(2, CAPACITY, 4, 4)
    for shape in (4, 2, CAPACITY), (2, CAPACITY - 1):
        with pytest.raises(ValueError, match=r"^mask must be \(t, s\) or name every"):
            layer.extend(x, cache, start, mask=jnp.ones(shape, bool))


def test_keys_for_another_batch_or_other_heads_are_refused():
    cache = KVCache.init(2, 6, 2, 4)
    one_row = jnp.ones((1, 2, 2, 4))
    with pytest.raises(ValueError, match=r"holds \(b, c, g, h\) = \(2, 6, 2, 4\); got"):
        cache.write(one_row, one_row, 0)


@pytest.mark.parametrize("dtype", [jnp.int32, bool])
def test_a_cache_holds_floating_numbers(dtype):
    name = jnp.dtype(dtype).name
    with pytest.raises(ValueError, match=f"^a cache holds floating .*; got {name}$"):
        KVCache.init(2, 6, 2, 4, dtype=dtype)
