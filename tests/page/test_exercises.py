"""`check` tells a reader what differs, and is not fooled."""

import xml.etree.ElementTree as ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from blocks import rms_norm
from blocks.page import check


def inputs(key):
    x, scale = jax.random.normal(key, (2, 3, 4)), jnp.ones(4)
    return x[0], scale, {"eps": 1e-3}


def right(x, scale, *, eps):
    return x / jnp.sqrt(jnp.mean(x**2, -1, keepdims=True) + eps) * scale


def open_(x, scale, *, eps): ...


def raises(error):
    def answer(x, scale, *, eps):
        raise error

    return answer


def wrong(change):
    def answer(x, scale, *, eps):
        return change(right(x, scale, eps=eps))

    return answer


def said(answer):
    verdict = check(answer, rms_norm, inputs)
    assert not verdict.passed
    return verdict.message


@pytest.mark.parametrize("answer", [right, jax.jit(right), wrong(np.asarray)])
def test_a_right_answer_passes_with_one_kind_line(answer):
    verdict = check(answer, rms_norm, inputs, cases=3)
    assert verdict.passed
    assert repr(verdict).startswith("Well done: ") and "in 3 cases" in repr(verdict)
    assert "\n" not in repr(verdict)


@pytest.mark.parametrize(
    "answer",
    [open_, wrong(lambda y: None), wrong(lambda y: NotImplemented)]
    + [raises(NotImplementedError("yet")), None, ...],
)
def test_an_exercise_not_done_yet_says_what_to_fill_in(answer):
    name = getattr(answer, "__name__", "your function")
    assert said(answer) == f"Not answered yet: fill in {name}, then check again."


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (raises(TypeError("no such axis")), "answer raised TypeError: no such axis."),
        (raises(SystemExit(3)), "answer raised SystemExit: 3."),
        (raises(ValueError()), "answer raised ValueError."),
        (lambda x: x, r"<lambda> raised TypeError: .* (positional|keyword) argument"),
        (wrong(list), r"you return a list of 3 where the block returns an array of"),
        (wrong(lambda y: (y, y)), "you return a tuple of 2 where the block returns an"),
        (wrong(lambda y: 1.0), "you return a value of type float where the block"),
        (wrong(lambda y: "y"), "you return a value of type str where the block"),
        (wrong(lambda y: y[:1]), r"your shape is \(1, 4\) and the block's is \(3, 4\)"),
        (wrong(lambda y: y[0, 0]), r"your shape is \(\) and the block's is \(3, 4\)"),
        (wrong(lambda y: y[None]), r"shape is \(1, 3, 4\) and the block's is \(3, 4\)"),
        (
            wrong(lambda y: y.astype(jnp.bfloat16)),
            "your dtype is bfloat16 and the block's is float32",
        ),
        (
            wrong(lambda y: np.asarray(y, np.float64)),
            "your dtype is float64 and the block's is float32",
        ),
        (
            wrong(lambda y: y.at[1, 2].set(jnp.nan)),
            r"you have NaN at \[1, 2\] where the block has a number",
        ),
        (
            wrong(lambda y: y.at[2, 0].set(jnp.inf)),
            r"the first wrong number is inf at \[2, 0\]; the block has -?\d",
        ),
        (
            wrong(lambda y: y.at[0, 3].set(7)),
            r"the first wrong number is 7 at \[0, 3\]; the block has -?\d\.\d+",
        ),
    ],
)
def test_a_wrong_answer_is_told_what_differs(answer, sentence):
    assert check(right, rms_norm, inputs).passed
    message = said(answer)
    from re import search

    assert search(f"^Case 1 of 5: .*{sentence}", message), message
    shapes = "x = float32 of shape (3, 4), scale = float32 of shape (4,), eps = 0.001"
    assert message.endswith(f". The inputs were {shapes}.")


def test_a_difference_too_small_to_print_in_six_digits_is_printed_in_more():
    message = said(wrong(lambda y: y * (1 + 1e-4)))
    mine, block = message.split("number is ")[1].split("; the block has ")
    assert mine.split(" at ")[0] != block.split(". The")[0]


def test_the_case_in_which_an_answer_fails_is_the_one_named():
    seen = []

    def answer(x, scale, *, eps):
        seen.append(x)
        return right(x, scale, eps=eps) * (2 if len(seen) == 3 else 1)

    assert said(answer).startswith("Case 3 of 5: the first wrong number")
    assert len({float(x[0, 0]) for x in seen}) == 3


def test_the_limit_follows_the_scale_of_the_block_and_its_dtype():
    def verdict(factor, offset=0.0, dtype=jnp.float32):
        def block(x):
            return (1e6 * x).astype(dtype)

        def ours(x):
            return (1e6 * x * factor + offset).astype(dtype)

        return check(ours, block, lambda key: (jax.random.uniform(key, (9,)),)).passed

    assert verdict(1 + 4e-6) and not verdict(1 + 1e-4)
    assert verdict(1, offset=3.0) and not verdict(1, offset=100.0)
    assert verdict(1.003, dtype=jnp.bfloat16) and not verdict(1.1, dtype=jnp.bfloat16)


def always(value):
    """An answer, or a block, that takes nothing and gives this."""
    return lambda: value


def test_numbers_that_the_block_has_as_nan_or_infinity_must_be_so():
    odd = jnp.array([jnp.nan, jnp.inf, 1.0])
    assert check(lambda: odd, lambda: odd, lambda key: ()).passed
    for i, value in ((0, 1.0), (1, 5.0), (1, -jnp.inf), (2, 1.5)):
        verdict = check(always(odd.at[i].set(value)), always(odd), lambda key: ())
        assert f"at [{i}]" in verdict.message
        assert verdict.message.endswith("The inputs were none.")


def test_an_infinity_in_the_block_does_not_widen_the_limit_of_the_rest():
    block = jnp.array([jnp.inf, 1.0])
    for value, passed in ((1.5, False), (1.000001, True)):
        verdict = check(always(block.at[1].set(value)), always(block), lambda key: ())
        assert verdict.passed == passed


def test_beside_a_block_of_zeros_the_limit_is_that_of_numbers_near_one():
    zeros = jnp.zeros(2)
    for offset, passed in ((1e-6, True), (1e-4, False)):
        verdict = check(always(zeros + offset), always(zeros), lambda key: ())
        assert verdict.passed == passed


def test_integers_and_booleans_are_exact():
    def verdict(ours, block):
        return check(lambda: ours, lambda: block, lambda key: ()).message

    large = jnp.array([10_000_000, 2])
    assert "10000001 at [0]; the block has 10000000" in verdict(large + 1, large)
    yes = jnp.array([True, False])
    assert "True at [1]; the block has False" in verdict(yes | True, yes)
    assert "dtype is int32 and the block's is bool" in verdict(yes.astype(int), yes)


@pytest.mark.parametrize(
    ("ours", "sentence"),
    [
        ((0.5, {"b": jnp.zeros(2)}), ""),
        ((jnp.float32(0.5), {"b": jnp.zeros(2)}), ""),
        (
            (1, {"b": jnp.zeros(2)}),
            "[0] of your result, you return a value of type int",
        ),
        (
            (jnp.int32(1), {"b": jnp.zeros(2)}),
            "[0] of your result, you return an array of shape () where",
        ),
        (
            (jnp.array([0.5]), {"b": jnp.zeros(2)}),
            "[0] of your result, your shape is (1,) and the block's is ()",
        ),
        (
            (0.5, {"b": jnp.ones(2)}),
            "in the part [1]['b'] of your result, the first wrong number is 1 at [0]",
        ),
        ((0.75, {"b": jnp.zeros(3)}), "[1]['b'] of your result, your shape is (3,)"),
        ((0.75, {"b": jnp.zeros(2)}), "[0] of your result, your number is 0.75; the"),
        (
            [0.5, {"b": jnp.zeros(2)}],
            "you return a list of 2 where the block returns a tuple of 2",
        ),
        ((0.5, {"c": jnp.zeros(2)}), "(*, {'c': *}) where the block returns (*, {'b'"),
        ({"b": 0.5}, "you return a dict with the keys b where the block returns a"),
    ],
)
def test_trees_and_plain_numbers_are_compared_part_by_part(ours, sentence):
    block = (0.5, {"b": jnp.zeros(2)})
    verdict = check(lambda: ours, lambda: block, lambda key: ())
    assert verdict.passed == (not sentence)
    assert sentence in verdict.message


def test_a_name_is_compared_like_a_number():
    assert check(lambda: "halves", lambda: "halves", lambda key: ()).passed
    message = check(lambda: "pairs", lambda: "halves", lambda key: ()).message
    assert "your value is 'pairs'; the block has 'halves'" in message


def test_an_answer_that_writes_into_its_arguments_cannot_change_the_block():
    def answer(x):
        x *= 0
        return x

    assert not check(answer, lambda x: x, lambda key: (np.ones(3),)).passed


def test_a_dict_of_parameters_at_the_end_stays_an_argument():
    def draw(key):
        return jnp.ones(2), {"w": jnp.ones(2)}

    assert check(lambda x, p: x + p["w"], lambda x, params: x + 1.0, draw).passed


def test_a_result_that_cannot_be_looked_into_is_named_by_its_type():
    class Closed:
        def __eq__(self, other):
            raise RuntimeError("closed")

    verdict = check(Closed, Closed, lambda key: ())
    assert "a Closed, which cannot be compared" in verdict.message


def test_an_answer_that_is_no_function_is_named_by_its_type():
    assert said(jnp.ones(3)).startswith("Your answer must be a function; it is a ")


def test_a_mistake_in_the_reference_is_not_blamed_on_the_reader():
    def block(x, scale, *, eps):
        raise RuntimeError("the block fails")

    with pytest.raises(RuntimeError, match="the block fails"):
        check(right, block, inputs)


def test_an_interrupt_stops_the_check():
    with pytest.raises(KeyboardInterrupt):
        check(raises(KeyboardInterrupt()), rms_norm, inputs)


def test_a_long_error_is_cut_to_a_readable_length():
    assert len(said(raises(ValueError("word " * 500)))) < 500


@pytest.mark.parametrize(
    ("answer", "kind"), [(right, "passed"), (open_, "open"), (lambda x: 0, "wrong")]
)
def test_the_notebook_shows_one_paragraph_that_says_it_in_words(answer, kind):
    verdict = check(answer, rms_norm, inputs)
    paragraph = ElementTree.fromstring(verdict._repr_html_())
    assert paragraph.get("class") == f"check check-{kind}"
    assert paragraph.text == verdict.message


def test_no_case_is_no_check():
    with pytest.raises(ValueError, match="at least one case; got 0"):
        check(jnp.sin, jnp.sin, lambda key: (jnp.ones(2),), cases=0)
