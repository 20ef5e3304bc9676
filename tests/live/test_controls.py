import jax.numpy as jnp
import pytest

from blocks.live import Choice, Slider, Switch


def test_a_slider_is_whole_where_its_three_numbers_are():
    assert Slider(1, 8, 4).whole and not Slider(1, 8, 4.0).whole
    assert Slider(1, 8, 4).argument(3).dtype == jnp.int32
    assert Slider(1.0, 8, 4).argument(3).dtype == jnp.float32


def test_the_step_is_a_two_hundredth_of_the_range_unless_given():
    assert Slider(0.0, 10.0, 5.0).describe()["step"] == pytest.approx(0.05)
    assert Slider(0.01, 100.0, 1.0, log=True).describe()["step"] == pytest.approx(0.02)
    assert Slider(0.0, 1.0, 0.5, step=0.1).describe()["step"] == 0.1
    assert Slider(0, 1000, 5).describe()["step"] == 1


@pytest.mark.parametrize("numbers", [(1.0, 0.0, 0.5), (0.0, 1.0, 2.0), (1.0, 1.0, 1.0)])
def test_a_slider_needs_its_numbers_in_order(numbers):
    with pytest.raises(ValueError, match="needs low <= value <= high and low < high"):
        Slider(*numbers)


def test_a_logarithmic_slider_begins_above_zero():
    with pytest.raises(ValueError, match="begins above 0; got 0.0"):
        Slider(0.0, 1.0, 0.5, log=True)


def test_values_outside_are_refused_and_not_clamped():
    for value in (1.5, -0.1, float("nan")):
        with pytest.raises(ValueError, match=r"must lie between 0.0 and 1.0; got"):
            Slider(0.0, 1.0, 0.5).checked(value)
    with pytest.raises(ValueError, match="must be a whole number; got 2.5"):
        Slider(1, 8, 4).checked(2.5)
    with pytest.raises(ValueError, match="must be one of relu, gelu; got 'silu'"):
        Choice(("relu", "gelu"), "relu").checked("silu")
    with pytest.raises(ValueError, match="must be True or False; got 1"):
        Switch(False).checked(1)
    assert Slider(1, 8, 4).checked(2.0) == 2


def test_a_choice_gives_the_place_of_its_option():
    choice = Choice(["relu", "gelu"], "gelu")
    assert choice.argument("gelu") == 1 and choice.argument("gelu").dtype == jnp.int32
    assert choice.ends() == ["relu", "gelu"]


@pytest.mark.parametrize("options, value", [(("a", "a"), "a"), (("a", "b"), "c")])
def test_a_choice_begins_at_one_of_its_different_options(options, value):
    with pytest.raises(ValueError, match="needs different options and begins at one"):
        Choice(options, value)


def test_a_switch_gives_a_boolean():
    assert Switch(True).argument(False).dtype == jnp.bool_
    assert Switch(True).ends() == [False, True]


@pytest.mark.parametrize(
    ("low", "high", "step"), [(0.0, 1.0, 0.005), (0.98, 1.0, 1e-4), (-4.0, 4.0, 0.02)]
)
def test_a_key_moves_by_a_tidy_number(low, high, step):
    assert Slider(low, high, low).describe()["step"] == step
