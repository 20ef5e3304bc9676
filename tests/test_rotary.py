import inspect
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from blocks import adjacent_to_halves, apply_rotary, rotary_angles

both_layouts = pytest.mark.parametrize("pairs", ["adjacent", "halves"])


def by_complex_numbers(x, t, pairs, base=10_000.0):
    """Su et al. (2021), section 3.2.2, one pair at a time: z becomes z exp(i phi)."""
    h = len(x)
    y = np.empty(h)
    for i in range(h // 2):
        a, b = (2 * i, 2 * i + 1) if pairs == "adjacent" else (i, i + h // 2)
        angle = t * base ** (-2 * i / h)
        z = complex(x[a], x[b]) * complex(math.cos(angle), math.sin(angle))
        y[a], y[b] = z.real, z.imag
    return y


def turn(x, position, pairs="adjacent", **settings):
    angles = rotary_angles(jnp.asarray(position), x.shape[-1], **settings)
    return apply_rotary(x, angles, pairs=pairs)


@both_layouts
@pytest.mark.parametrize("base", [10_000.0, 500.0])
def test_rotary_multiplies_each_pair_by_a_phase(key, pairs, base):
    x = np.asarray(jax.random.normal(key, (2, 5, 3, 8)))
    positions = np.array([[0, 1, 2, 7, 100], [3, 4, -5, 6, 511]])
    angles = rotary_angles(jnp.array(positions), 8, base=base)
    assert angles.shape == (2, 5, 4)
    expected = np.empty_like(x)
    for b, t, n in np.ndindex(2, 5, 3):
        expected[b, t, n] = by_complex_numbers(x[b, t, n], positions[b, t], pairs, base)
    got = apply_rotary(jnp.array(x), angles[:, :, None], pairs=pairs)
    np.testing.assert_allclose(got, expected, atol=2e-4)


@both_layouts
def test_rotary_agrees_with_gptj_and_llama(golden, pairs):
    out = {"adjacent": "out_interleaved_gptj", "halves": "out_half_llama"}[pairs]
    saved = golden("rotary_styles")
    angles = rotary_angles(jnp.arange(7), 8)[:, None]
    got = apply_rotary(jnp.array(saved["q"]), angles, pairs=pairs)
    np.testing.assert_allclose(got, saved[out], atol=5e-6)


@pytest.mark.usefixtures("pinned_random")
def test_the_printed_rotations():
    turned = turn(jnp.array([1.0, 0.0]), 1)
    np.testing.assert_allclose(turned, [0.5403, 0.8415], atol=5e-5)
    q, k = (jax.random.normal(jax.random.key(i), (8,)) for i in (0, 1))
    products = [turn(q, m) @ turn(k, n) for m, n in ((5, 2), (9, 6), (5, 3))]
    np.testing.assert_allclose(products, [-0.2266, -0.2266, 0.0591], atol=5e-5)


@both_layouts
def test_scores_depend_on_the_distance_alone(pairs):
    score = {"adjacent": -15.02325312, "halves": -29.75605564}[pairs]
    q = jnp.array([1.0, 2, 3, 4, 5, 6])
    k = jnp.array([6.0, -1, 2, 0.5, -3, 1])
    for m, n in (3, 1), (12, 10), (102, 100):
        got = turn(q, m, pairs) @ turn(k, n, pairs)
        np.testing.assert_allclose(got, score, atol=1e-3)
    assert abs(turn(q, 4, pairs) @ turn(k, 1, pairs) - score) > 0.1


@both_layouts
def test_rotary_keeps_lengths_and_turns_back(key, pairs):
    x = jnp.array([1.0, 2, 3, 4, 5, 6])
    turned = turn(x, 7, pairs)
    np.testing.assert_allclose(jnp.linalg.norm(turned), 9.539392014, rtol=1e-6)
    np.testing.assert_allclose(turn(turned, -7, pairs), x, atol=1e-5)
    np.testing.assert_allclose(turn(turn(x, 3, pairs), 4, pairs), turned, atol=1e-5)
    np.testing.assert_array_equal(turn(x, 0, pairs), x)


@both_layouts
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_far_positions_stay_apart_in_narrow_dtypes(pairs, dtype):
    units = jnp.array([1.0] * 32 + [0.0] * 32, dtype)  # pairs (1, 0) in halves
    units = units if pairs == "halves" else jnp.tile(jnp.array([1, 0], dtype), 32)
    for position in (257, 1001, 4095):
        turned = turn(units, position, pairs)
        assert turned.dtype == dtype
        angles = position * 10_000.0 ** (-np.arange(0, 64, 2) / 64)
        new = np.stack([np.cos(angles), np.sin(angles)])
        expected = new.ravel() if pairs == "halves" else new.T.ravel()
        np.testing.assert_allclose(turned.astype(jnp.float32), expected, atol=5e-3)


@both_layouts
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_the_product_of_narrow_features_is_taken_in_float32(key, pairs, dtype):
    x = jax.random.normal(key, (6, 8), dtype)
    angles = rotary_angles(jnp.arange(6), 8)
    for given in angles, angles.astype(dtype):
        exact = apply_rotary(x.astype(jnp.float32), given, pairs=pairs).astype(dtype)
        np.testing.assert_array_equal(apply_rotary(x, given, pairs=pairs), exact)


@pytest.mark.parametrize("dtype", [jnp.int32, jnp.float32, jnp.float16, jnp.int8])
def test_angles_are_float32_whatever_the_dtype_of_the_positions(dtype):
    angles = rotary_angles(jnp.array([0, 1, 127], dtype), 64)
    assert angles.dtype == jnp.float32
    expected = np.array([0, 1, 127])[:, None] * 10_000.0 ** (-np.arange(0, 64, 2) / 64)
    np.testing.assert_allclose(angles, expected, rtol=1e-6)


@pytest.mark.parametrize("shape", [(8,), (2, 3, 4, 8)])
@pytest.mark.parametrize("turned", [6, 8])
def test_the_two_layouts_hold_the_same_numbers_in_another_order(key, shape, turned):
    x = jax.random.normal(key, shape)
    positions = jnp.arange(math.prod(shape[:-1])).reshape(shape[:-1])
    angles = rotary_angles(positions, turned)

    def reorder(x):
        first = adjacent_to_halves(x[..., :turned])
        return jnp.concatenate([first, x[..., turned:]], axis=-1)

    np.testing.assert_array_equal(
        apply_rotary(reorder(x), angles, pairs="halves"),
        reorder(apply_rotary(x, angles)),
    )


def test_the_permutation_carries_trained_weights_over_without_changing_a_score(key):
    order = adjacent_to_halves(jnp.arange(8))
    np.testing.assert_array_equal(order, [0, 2, 4, 6, 1, 3, 5, 7])
    x = jax.random.normal(key, (5, 6))
    w_q, w_k = jax.random.normal(key, (2, 6, 2, 8))
    angles = rotary_angles(jnp.arange(5), 8)[:, None]

    def scores(w_q, w_k, pairs):
        q, k = (jnp.einsum("td,dnh->tnh", x, w) for w in (w_q, w_k))
        q, k = (apply_rotary(z, angles, pairs=pairs) for z in (q, k))
        return jnp.einsum("tnh,snh->nts", q, k)

    before = scores(w_q, w_k, "adjacent")
    after = scores(adjacent_to_halves(w_q), adjacent_to_halves(w_k), "halves")
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-4)


@both_layouts
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16])
def test_with_fewer_angles_the_first_features_turn_and_the_rest_pass(key, pairs, dtype):
    x = jax.random.normal(key, (5, 8), dtype)
    angles = rotary_angles(jnp.arange(5), 6)
    y = apply_rotary(x, angles, pairs=pairs)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y[:, 6:], x[:, 6:])
    alone = apply_rotary(x[:, :6], angles, pairs=pairs)
    np.testing.assert_array_equal(y[:, :6], alone)


@both_layouts
def test_the_base_may_be_traced_and_differentiated(key, pairs):
    x = jax.random.normal(key, (8,))
    by_base = jax.value_and_grad(lambda base: turn(x, 9, pairs, base=base)[0])
    value, slope = jax.jit(by_base)(500.0)
    np.testing.assert_allclose(value, turn(x, 9, pairs, base=500.0)[0], rtol=1e-5)
    assert jnp.isfinite(slope)
    assert abs(turn(x, 9, base=500.0) - turn(x, 9)).max() > 0.01


@both_layouts
@pytest.mark.usefixtures("float64")
def test_gradients(key, pairs):
    x = jax.random.normal(key, (3, 6), jnp.float64)
    positions = jnp.array([0, 2, 5])

    def turned(x, base):
        return apply_rotary(x, rotary_angles(positions, 4, base=base), pairs=pairs)

    assert turned(x, 50.0).dtype == jnp.float64
    check_grads(jax.jit(turned), (x, 50.0), order=2)


def refused(call, *args, **settings):
    with pytest.raises(ValueError) as error:
        call(*args, **settings)
    return str(error.value)


def test_what_cannot_be_turned_is_refused_with_the_reason():
    x, angles = jnp.ones((3, 8)), jnp.ones((3, 4))
    message = "rotary turns pairs of features, so h must be even; got h=7"
    assert refused(rotary_angles, jnp.arange(3), 7) == message
    message = "5 angles turn 10 features; x has only 8"
    assert refused(apply_rotary, x, jnp.ones((3, 5))) == message
    message = 'pairs must be "adjacent" or "halves"; got \'half\''
    assert refused(apply_rotary, x, angles, pairs="half") == message
    message = "pairs need an even number of features; got 7"
    assert refused(adjacent_to_halves, jnp.ones((3, 7))) == message


@pytest.mark.usefixtures("float64")
def test_angles_are_as_wide_as_their_positions():
    angles = rotary_angles(jnp.array(0.1), 2)
    assert angles.dtype == jnp.float64 and angles == 0.1  # not the float32 next to it


@pytest.mark.parametrize(
    "shape", [(3, 2), (2, 3, 2), (1, 3, 2), (2, 4, 1, 2), (2, 2, 3, 1, 2), (1,) * 5]
)
def test_angles_that_could_be_taken_for_those_of_heads_are_refused(shape):
    x = jnp.ones((2, 3, 3, 4))  # as many tokens as heads
    message = (
        "angles must be (m,) or name every axis of x (2, 3, 3, 4), with 1 where it is "
        f"shared, as for heads in angles[:, :, None]; got {shape}"
    )
    assert refused(inspect.unwrap(apply_rotary), x, jnp.ones(shape)) == message


@both_layouts
@pytest.mark.parametrize(
    "shape", [(2,), (1, 2), (3, 1, 2), (1, 3, 1, 2), (2, 3, 1, 2), (2, 3, 3, 2)]
)
def test_angles_are_shared_where_their_axis_is_one(key, pairs, shape):
    x, angles = jax.random.normal(key, (2, 3, 3, 4)), jnp.arange(36.0).reshape(18, 2)
    angles = angles[: math.prod(shape[:-1])].reshape(shape)
    each = jnp.broadcast_to(angles, (2, 3, 3, 2))
    np.testing.assert_allclose(
        apply_rotary(x, angles, pairs=pairs),
        apply_rotary(x, each, pairs=pairs),
        atol=1e-6,
    )
