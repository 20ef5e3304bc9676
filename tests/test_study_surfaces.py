"""The measures of a surface of errors, on valleys whose slope and cost are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from blocks.studies import surfaces

shift, common_cost = jax.jit(surfaces.shift), jax.jit(surfaces.common_cost)
usable_rows = jax.jit(surfaces.usable_rows)

X, Y = np.linspace(-3, 0, 13), np.linspace(-4, 4, 65)
RATES, DECAYS = jnp.asarray(10.0**X), jnp.asarray(10.0**Y)


def valley(slope, steep=0.1):
    """Errors that rise by `steep` for each decade from the line of the best decay."""
    return jnp.asarray(0.2 + steep * abs(Y - slope * (X[:, None] + 1.5)))


@pytest.mark.parametrize("slope", [-2, -1, 0, 1])
def test_the_shift_is_the_slope_of_the_valley(slope):
    errors = valley(slope)
    assert usable_rows(errors).all()
    assert shift(errors, RATES, DECAYS) == pytest.approx(slope, abs=0.01)


@pytest.mark.parametrize("slope", [-2, -1, 0, 1])
def test_the_common_decay_costs_what_the_rows_differ_by(slope):
    # The middle row's decay is best for all; each row pays for its distance from it.
    expected = 100 * 0.1 * np.mean(abs(slope * (X + 1.5)))
    assert common_cost(valley(slope)) == pytest.approx(expected, abs=1e-3)


def test_rows_that_are_poor_or_end_in_their_best_decay_do_not_count():
    errors = np.array(valley(-1))
    errors[0] += 0.05
    errors[1] = 0.2 + 0.01 * np.arange(65)  # the weakest decay is the best
    errors[2] = errors[2][::-1] * 0 + 0.21  # decay does nothing
    expected = [False] * 3 + [True] * 10
    assert usable_rows(jnp.asarray(errors)).tolist() == expected
    measured = shift(jnp.asarray(errors), RATES, DECAYS)
    assert measured == pytest.approx(-1, abs=0.01)
    alone = jnp.asarray(errors[:4])
    assert jnp.isnan(shift(alone, RATES[:4], DECAYS))


def test_the_interval_holds_the_slope_and_narrows_with_more_seeds(key):
    def width(seeds):
        noise = 0.02 * jax.random.normal(key, (seeds, 13, 65))
        low, high = surfaces.shift_interval(
            key, valley(-1) + noise, RATES, DECAYS, resamples=300
        )
        assert low < -1 < high
        return high - low

    assert 0 < width(48) < width(3) < 0.5
