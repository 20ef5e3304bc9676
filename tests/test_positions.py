import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from blocks import (
    LearnedPositions,
    alibi_bias,
    alibi_slopes,
    cast,
    rotary_angles,
    sinusoidal,
)


def waves_by_the_paper(t, d, base=10_000.0):
    """Vaswani et al. (2017), section 3.5, one number at a time."""
    row = []
    for channel in range(d):
        angle = t / base ** (2 * (channel // 2) / d)
        row.append(math.cos(angle) if channel % 2 else math.sin(angle))
    return row


def slopes_by_the_paper(n):
    """Press, Smith and Lewis (2022), section 3, and their rule for other `n`."""
    power = 2 ** int(math.log2(n))
    if power == n:
        return [2 ** (-8 * k / n) for k in range(1, n + 1)]
    return slopes_by_the_paper(power) + slopes_by_the_paper(2 * power)[::2][: n - power]


@pytest.mark.parametrize("d", [1, 4, 5, 16])
@pytest.mark.parametrize("base", [10_000.0, 50.0])
def test_sinusoidal_is_the_formula_of_2017(d, base):
    positions = jnp.array([[0, 1, 2], [7, 100, 511]])
    expected = [[waves_by_the_paper(int(t), d, base) for t in row] for row in positions]
    got = sinusoidal(positions, d, base=base)
    assert got.shape == (2, 3, d) and got.dtype == jnp.float32
    np.testing.assert_allclose(got, expected, atol=1e-4)


@pytest.mark.parametrize(
    "d, row",
    [
        (4, [0.84147098, 0.54030231, 0.00999983, 0.99995]),
        (5, [0.84147099, 0.54030231, 0.02511622, 0.99968454, 0.00063096]),
    ],
)
def test_the_exponent_goes_by_the_pair_in_even_and_odd_widths(d, row):
    np.testing.assert_allclose(sinusoidal(jnp.array(1), d), row, atol=1e-6)


def test_products_of_sinusoidal_rows_depend_on_the_distance_alone():
    near, far = (sinusoidal(jnp.arange(6) + start, 32) for start in (0, 90))
    np.testing.assert_allclose(near @ near.T, far @ far.T, atol=1e-3)
    np.testing.assert_allclose(jnp.sum(near**2, axis=-1), 16, rtol=1e-5)


def test_sinusoidal_holds_far_out_and_for_positions_between_tokens():
    positions = jnp.array([0.5, -3.25, 1001.0, 4095.0])
    expected = [waves_by_the_paper(float(t), 64) for t in positions]
    np.testing.assert_allclose(sinusoidal(positions, 64), expected, atol=2e-3)


def test_the_base_of_sinusoidal_may_be_traced():
    positions = jnp.arange(5)
    traced = jax.jit(lambda base: sinusoidal(positions, 6, base=base))(50.0)
    np.testing.assert_allclose(traced, sinusoidal(positions, 6, base=50.0), atol=1e-5)


@pytest.mark.usefixtures("float64")
def test_gradients_by_positions_and_base():
    def waves(positions, base):
        return sinusoidal(positions, 6, base=base)

    check_grads(jax.jit(waves), (jnp.array([0.5, 1.0, 3.0]), 100.0), order=2)


def test_learned_positions_are_rows_of_the_table(key):
    learned = LearnedPositions.init(key, 6, 4)
    positions = jnp.array([[0, 5, 2], [3, 3, 1]])
    rows = [[learned.table[int(p)] for p in row] for row in positions]
    np.testing.assert_array_equal(learned(positions), np.array(rows))


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.vmap])
def test_a_position_outside_the_table_gives_nan_and_spares_the_others(key, wrap):
    learned = LearnedPositions.init(key, 6, 4)
    rows = wrap(learned.__call__)(jnp.array([-1, 0, 5, 6, -6, 10**6]))
    outside = jnp.isnan(rows)
    assert outside[jnp.array([0, 3, 4, 5])].all() and not outside[1:3].any()
    np.testing.assert_array_equal(rows[1:3], learned.table[jnp.array([0, 5])])


def test_only_the_rows_looked_up_are_trained(key):
    learned = LearnedPositions.init(key, 4, 3)
    grads = jax.grad(lambda m: m(jnp.array([1, 3, 3])).sum())(learned)
    np.testing.assert_allclose(grads.table[:, 0], [0, 1, 0, 2])


def test_a_table_begins_with_the_deviation_it_is_given(key):
    small = LearnedPositions.init(key, 200, 100).table
    large = LearnedPositions.init(key, 200, 100, deviation=0.5).table
    np.testing.assert_allclose(small.std(), 0.02, rtol=0.03)
    np.testing.assert_allclose(large.std(), 0.5, rtol=0.03)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_a_narrow_table_gives_narrow_rows(key, dtype):
    learned = cast(LearnedPositions.init(key, 6, 4), dtype)
    rows = learned(jnp.array([2, 6]))
    assert rows.dtype == dtype and jnp.isnan(rows[1]).all()
    np.testing.assert_array_equal(rows[0], learned.table[2])


@pytest.mark.usefixtures("float64")
def test_gradients_of_a_table(key):
    learned = cast(LearnedPositions.init(key, 4, 3), jnp.float64)
    rows = jax.jit(lambda m: m(jnp.array([0, 2, 2])) ** 2)
    check_grads(rows, (learned,), order=2)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 8, 12, 20, 32])
def test_slopes_follow_the_paper_and_its_rule_between_powers_of_two(n):
    slopes = alibi_slopes(n)
    assert slopes.shape == (n,) and slopes.dtype == jnp.float32
    np.testing.assert_allclose(slopes, slopes_by_the_paper(n), rtol=1e-6)


def test_slopes_begin_at_the_ratio_and_not_at_one():
    np.testing.assert_allclose(alibi_slopes(8), [2.0**-k for k in range(1, 9)])
    six = [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]
    np.testing.assert_allclose(alibi_slopes(6), six)


@pytest.mark.parametrize("n", [4, 8, 12, 16])
def test_alibi_agrees_with_bloom_up_to_a_constant_of_each_row(golden, n):
    saved = golden("alibi")
    theirs = saved[f"alibi_{n}"].reshape(2, n, 6)
    slopes, positions = alibi_slopes(n), jnp.arange(6)
    np.testing.assert_allclose(slopes, saved[f"slopes_{n}"], atol=5e-6)
    ours = alibi_bias(slopes, positions, positions)
    shifted = np.asarray(ours + slopes[:, None, None] * positions[:, None])
    for real, bias in zip(saved["mask"].astype(bool), theirs, strict=True):
        expected = np.broadcast_to(bias[:, None, real], (n, 6, real.sum()))
        np.testing.assert_allclose(shifted[..., real], expected, atol=5e-6)


def test_alibi_is_slope_times_distance_zero_at_home_and_negative_to_the_past():
    q_positions, k_positions = jnp.array([3, 4]), jnp.array([0, 2, 3, 4, 7])
    bias = alibi_bias(alibi_slopes(3), q_positions, k_positions)
    assert bias.dtype == jnp.float32
    expected = [
        [[m * (int(s) - int(t)) for s in k_positions] for t in q_positions]
        for m in slopes_by_the_paper(3)
    ]
    np.testing.assert_allclose(bias, expected, rtol=1e-6)
    assert (bias[:, 0, :2] < 0).all() and (bias[:, 0, 2] == 0).all()


def test_alibi_of_a_new_token_is_the_last_row_of_the_whole():
    slopes, positions = alibi_slopes(4), jnp.arange(7)
    whole = alibi_bias(slopes, positions, positions)
    new = alibi_bias(slopes, positions[-1:], positions)
    np.testing.assert_array_equal(new, whole[:, -1:])
    np.testing.assert_array_equal(
        alibi_bias(slopes, positions + 90, positions + 90), whole
    )


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_alibi_of_narrow_slopes_counts_distances_in_float32(dtype):
    bias = alibi_bias(jnp.ones(1, dtype), jnp.array([4095]), jnp.arange(4096))
    assert bias.dtype == jnp.float32
    np.testing.assert_array_equal(bias[0, 0], jnp.arange(-4095, 1))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32", "bfloat16"])
def test_alibi_of_narrow_and_unsigned_positions_does_not_wrap_round(dtype):
    q, k = jnp.array([3, 100], dtype), jnp.array([100, 0, 3], dtype)
    if dtype == "int8":
        k = k.at[1].set(-100)
    want = [[int(s) - int(t) for s in k] for t in q]
    bias = alibi_bias(jnp.ones(1), q, k)
    assert bias.dtype == jnp.float32
    np.testing.assert_array_equal(bias[0], want)


@pytest.mark.usefixtures("float64")
def test_gradients_by_slopes_and_positions():
    positions = jnp.array([0.0, 1.5, 4.0])
    slopes = alibi_slopes(3)
    check_grads(jax.jit(alibi_bias), (slopes, positions[1:], positions), order=2)


@pytest.mark.parametrize("n", [0, -2])
def test_alibi_needs_a_head(n):
    with pytest.raises(ValueError, match=f"^ALiBi needs at least one head; got n={n}$"):
        alibi_slopes(n)


def test_sinusoidal_and_rotary_turn_at_the_same_rates():
    positions = jnp.arange(9)
    angles = rotary_angles(positions, 8)
    sines = sinusoidal(positions, 8)[:, ::2]
    np.testing.assert_allclose(sines, jnp.sin(angles), rtol=1e-6, atol=1e-7)
