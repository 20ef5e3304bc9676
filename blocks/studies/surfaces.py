"""How the best decay moves with the learning rate, read from a surface of errors.

Axes: `r` learning rates, `d` decays, `s` seeds, `b` resamples. Errors are shares, from
0 to 1; learning rates and decays are positive and increase.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

NEAR = 0.04  # a row is of use if its least error is as near to the least of all …
RISE = 0.02  # … and both ends of its decays are worse than its least error by this
SOFT = 0.005  # errors that differ by less than this count about the same


def usable_rows(errors: Float[Array, "r d"]) -> Bool[Array, "r"]:
    """The learning rates at which a best decay can be read.

    Those whose least error is within 4 points of the least of all, while the weakest
    and the strongest decay are at least 2 points worse: else the best might lie outside
    the axis.
    """
    least = errors.min(axis=1)
    ends = jnp.minimum(errors[:, 0], errors[:, -1])
    return (least <= least.min() + NEAR) & (ends >= least + RISE)


def best_decays(
    errors: Float[Array, "r d"], decays: Float[Array, "d"]
) -> Float[Array, "r"]:
    r"""log10 of the best decay of each row: the mean of the good ones.

    $$ \sum_j p_j \log_{10} \lambda_j, \qquad p_j \propto e^{-E_j / 0.005} $$

    A mean, and not the place of the least error, which jumps from cell to cell.
    """
    return jax.nn.softmax(-errors / SOFT, axis=1) @ jnp.log10(decays)


def shift(
    errors: Float[Array, "r d"],
    rates: Float[Array, "r"],
    decays: Float[Array, "d"],
) -> Float[Array, ""]:
    """Decades by which the best decay moves for each decade of the learning rate.

    The slope of least squares over the usable rows: 0 says that the two can be chosen
    apart, -1 that their product counts. NaN with fewer than two such rows.
    """
    weight = usable_rows(errors) / 1.0
    x, y = jnp.log10(rates), best_decays(errors, decays)
    x = x - jnp.sum(weight * x) / weight.sum()
    return jnp.sum(weight * x * y) / jnp.sum(weight * x**2)


def shift_interval(
    key: PRNGKeyArray,
    errors: Float[Array, "s r d"],
    rates: Float[Array, "r"],
    decays: Float[Array, "d"],
    *,
    resamples: int = 2000,
) -> Float[Array, "2"]:
    """The middle 95 % of `shift` over surfaces whose seeds are drawn anew.

    Each resample draws as many seeds with replacement and takes the mean of their
    errors. Those without two usable rows are left out.
    """
    seeds = errors.shape[0]
    chosen = jax.random.randint(key, (resamples, seeds), 0, seeds)
    shifts = jax.lax.map(
        lambda rows: shift(errors[rows].mean(axis=0), rates, decays), chosen
    )
    return jnp.nanpercentile(shifts, jnp.array([2.5, 97.5]))


def common_cost(errors: Float[Array, "r d"]) -> Float[Array, ""]:
    """The price of one decay for all usable learning rates, in points (hundredths).

    What the best such decay costs above the best of each row, in the mean over them.
    """
    rows = usable_rows(errors)[:, None]
    excess = jnp.where(rows, errors - errors.min(axis=1, keepdims=True), 0.0)
    return 100 * jnp.min(excess.sum(axis=0)) / rows.sum()
