"""`confirm` reads numbers as they are printed."""

import jax.numpy as jnp
import numpy as np
import pytest

from blocks.page import confirm


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (jnp.cos(1.0), 0.5403),
        (jnp.array([0.54034, 0.84148]), [0.5403, 0.8415]),
        (1.4e-6, 1e-06),
        (5.0e-7, 1e-06),
        (jnp.float32(0.1), 0.1),
        (jnp.float32(16777217.0), 16777216.4),
        (jnp.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        (jnp.array([True, False]), [True, False]),
        (jnp.array([jnp.nan, -jnp.inf]), [float("nan"), float("-inf")]),
        (jnp.bfloat16(0.5), 0.5),
        (0.501, "0.50"),
        ((jnp.ones(2), jnp.zeros(2)), [[1, 1], [0, 0]]),
        (np.float64(-1.55524), -1.5552),
        (7, np.int64(7)),
        (jnp.float32(7), np.int32(7)),
        ([True, False], np.array([True, False])),
        (np.True_, True),
    ],
)
def test_a_number_that_reads_as_printed_is_confirmed(value, expected):
    assert np.all(np.asarray(confirm(value, expected) == expected))


@pytest.mark.parametrize(
    ("value", "expected", "line"),
    [
        (0.54036, 0.5403, "computed 0.54036, expected 0.5403"),
        ([0.5403, 0.8417], [0.5403, 0.8415], r"at \[1\]: computed 0.8417, .* 0.8415"),
        ([[1, 2], [3, 5]], [[1, 2], [3, 4]], r"at \[1, 1\]: computed 5, expected 4"),
        (1.6e-6, 1e-06, "computed 1.6e-06, expected 1e-06"),
        (2e-06, 1.0e-06, "computed 2e-06"),
        (1.0000001, 1, "computed 1.0000001, expected 1"),
        (1.4e16, 1e16, r"computed 1.4e\+16, expected 1e\+16"),
        (float("nan"), 0.5, "computed nan, expected 0.5"),
        (0.5, float("nan"), "computed 0.5, expected nan"),
        (float("inf"), 1.0, "computed inf, expected 1.0"),
        (-float("inf"), float("inf"), "computed -inf, expected inf"),
        (0.506, "0.50", "computed 0.506, expected 0.50"),
        (7.4, np.int64(7), "computed 7.4, expected 7"),
        (1, True, "computed 1, expected True"),
        (1.0, np.True_, "computed 1.0, expected True"),
        (True, 1, "computed True, expected 1"),
        (jnp.array(False), 0.0, "computed False, expected 0.0"),
        ([True], [False], r"at \[0\]: computed True, expected False"),
        (jnp.ones(2), [1.0], r"computed shape is \(2,\), the expected \(1,\)"),
        (jnp.ones((1, 1)), [1.0], r"shape is \(1, 1\), the expected \(1,\)"),
        (jnp.ones(1), 1.0, r"shape is \(1,\), the expected \(\)"),
    ],
)
def test_a_number_that_reads_otherwise_is_named_with_its_index(value, expected, line):
    with pytest.raises(AssertionError, match=line) as caught:
        confirm(value, expected)
    assert "\n" not in str(caught.value)


def test_rows_that_differ_in_length_are_refused():
    with pytest.raises(ValueError, match=r"regular nested lists; got \[\[1, 2\], 3\]"):
        confirm(jnp.ones(2), [[1, 2], 3])


def test_the_last_line_of_a_cell_shows_the_numbers_in_rows_and_columns():
    shown = confirm([[0.5, -1.25], [10.0, 2.0]], [[0.5, -1.25], [10.0, 2.0]])
    assert repr(shown) == "[[  0.5, -1.25],\n [ 10.0,   2.0]]"
    assert shown == [[0.5, -1.25], [10.0, 2.0]]
    assert repr(confirm([1, 2], [1, 2])) == "[1, 2]"
    assert confirm(0.5, 0.5) == 0.5


def test_a_notebook_uses_the_layout_of_rows():
    from IPython.lib.pretty import pretty

    assert pretty(confirm([[1], [20]], [[1], [20]])) == "[[ 1],\n [20]]"


def test_a_number_with_a_zero_at_its_end_displays_without_quotes():
    assert repr(confirm(0.501, "0.50")) == "0.50"
