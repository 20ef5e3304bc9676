import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from blocks import causal_mask, from_torch_mask, padding_mask, positions_of, window_mask

QUERIES = jnp.array([3, 0, 7, 5])
KEYS = jnp.array([6, 3, 0, 9, 5, 2])
LEFT_PADDED = jnp.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]], bool)


def by_the_rule(rule, queries=QUERIES, keys=KEYS):
    return [[rule(int(i), int(j)) for j in keys] for i in queries]


def test_a_query_sees_its_own_position_and_those_before():
    want = by_the_rule(lambda i, j: j <= i)
    np.testing.assert_array_equal(causal_mask(QUERIES, KEYS), want)


def test_new_queries_see_the_keys_of_the_past():
    want = [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    np.testing.assert_array_equal(causal_mask(jnp.arange(3, 5), jnp.arange(5)), want)
    assert causal_mask(jnp.array([4]), jnp.arange(5)).all()


def test_queries_that_outnumber_the_keys_keep_their_positions():
    want = [[1, 0], [1, 1], [1, 1], [1, 1], [1, 1]]
    np.testing.assert_array_equal(causal_mask(jnp.arange(5), jnp.arange(2)), want)


@pytest.mark.parametrize("window", [1, 2, 3, 20])
def test_a_window_reaches_equally_far_both_ways(window):
    want = by_the_rule(lambda i, j: abs(i - j) < window)
    np.testing.assert_array_equal(window_mask(QUERIES, KEYS, window), want)


def test_a_causal_window_holds_its_number_of_keys_and_the_token_itself():
    positions = jnp.arange(8)
    both = window_mask(positions, positions, 3) & causal_mask(positions, positions)
    np.testing.assert_array_equal(both.sum(axis=1), [1, 2, 3, 3, 3, 3, 3, 3])
    assert jnp.diagonal(both).all()


def test_a_window_may_be_moved_by_a_slider():
    moved = jax.jit(window_mask)(QUERIES, KEYS, 2.5)
    np.testing.assert_array_equal(moved, window_mask(QUERIES, KEYS, 3))


@pytest.mark.parametrize("make", [causal_mask, lambda q, k: window_mask(q, k, 3)])
def test_masks_do_not_change_when_all_positions_move_together(make):
    np.testing.assert_array_equal(make(QUERIES + 40, KEYS + 40), make(QUERIES, KEYS))


@pytest.mark.parametrize("make", [causal_mask, lambda q, k: window_mask(q, k, 3)])
def test_a_batch_of_positions_gets_an_axis_for_the_heads(make):
    assert make(QUERIES, KEYS).shape == (4, 6)
    rows = jnp.stack([QUERIES, QUERIES + 1, QUERIES + 4])
    mask = make(rows, KEYS)
    assert mask.shape == (3, 1, 4, 6)
    for got, row in zip(mask[:, 0], rows, strict=True):
        np.testing.assert_array_equal(got, make(row, KEYS))


def test_padding_is_hidden_as_a_key_from_every_head_and_query():
    mask = padding_mask(LEFT_PADDED)
    assert mask.shape == (2, 1, 1, 5)
    np.testing.assert_array_equal(mask[:, 0, 0], LEFT_PADDED)


def test_masks_combine():
    positions = jnp.arange(5)
    mask = padding_mask(LEFT_PADDED) & causal_mask(positions, positions)
    mask = mask & window_mask(positions, positions, 2)
    assert mask.shape == (2, 1, 5, 5)
    for row in range(2):
        want = by_the_rule(
            lambda i, j, row=row: bool(LEFT_PADDED[row, j]) and i - 2 < j <= i,
            positions,
            positions,
        )
        np.testing.assert_array_equal(mask[row, 0], want)


def test_positions_are_counted_from_the_first_real_token():
    want = [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]]
    np.testing.assert_array_equal(positions_of(LEFT_PADDED), want)


def test_padding_anywhere_has_position_zero_and_is_not_counted():
    real = jnp.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]], bool)
    want = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(positions_of(real), want)


def test_a_mask_of_torch_is_turned_round():
    blocked = jnp.triu(jnp.ones((5, 5), bool), 1)
    positions = jnp.arange(5)
    want = causal_mask(positions, positions)
    np.testing.assert_array_equal(from_torch_mask(blocked), want)


@pytest.mark.parametrize("window", [0, 0.5, -3, np.int64(0), np.float32(0.5)])
def test_a_window_holds_at_least_the_token_itself(window):
    text = rf"^a window holds at least the token itself; got window={window}$"
    with pytest.raises(ValueError, match=text):
        window_mask(QUERIES, KEYS, window)


def test_a_window_in_an_array_is_known_too():
    with pytest.raises(ValueError, match="the token itself; got window=0$"):
        window_mask(QUERIES, KEYS, jnp.array(0))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32"])
@pytest.mark.parametrize(
    "make", [causal_mask, lambda q, k: window_mask(q, k, 60)], ids=["causal", "window"]
)
def test_narrow_and_unsigned_positions_do_not_wrap_round(make, dtype):
    least = jnp.iinfo(dtype).min
    q, k = jnp.array([0, 5, 127]) + max(least, -100), jnp.array([100, 3])
    got = make(q.astype(dtype), k.astype(dtype))
    np.testing.assert_array_equal(got, make(q, k))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_mask_of_torch_that_adds_to_the_scores_is_refused(dtype):
    with pytest.raises(ValueError, match=f"^a mask must be boolean; got {dtype}$"):
        from_torch_mask(jnp.zeros((2, 2), dtype))


@pytest.mark.parametrize("function", [positions_of, padding_mask])
def test_padding_is_told_by_booleans_and_not_by_tokens(function):
    text = "^real must be boolean, True = not padding; got int32$"
    with pytest.raises(ValueError, match=text):
        inspect.unwrap(function)(jnp.array([[0, 7, 9]]))
