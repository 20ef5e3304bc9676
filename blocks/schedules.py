"""Schedules: functions from the number of updates done (0, 1, …) to a rate.

That number is an int or an array of integers of any shape. `total` counts all updates,
the warm-up included. Lengths that do not fit raise ValueError; where they are traced,
the rates are NaN.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Num, ScalarLike

from blocks.numerics import known
from blocks.transforms import Schedule


def _require(rule: str, holds: Callable[..., Any], **lengths: ScalarLike) -> Any:
    """Whether the lengths fit, as a factor: 1, NaN, or an error where all are known."""
    fits = holds(**lengths)
    if known(fits) is not None and not fits:
        got = ", ".join(f"{name}={value}" for name, value in lengths.items())
        raise ValueError(f"a schedule needs {rule}; got {got}")
    return jnp.where(fits, 1.0, jnp.nan)


def _counted(t: Any) -> Num[Array, "*shape"]:
    """The steps as signed integers of 32 bits or more: else lengths would wrap."""
    t = jnp.asarray(t)
    narrow = jnp.issubdtype(t.dtype, jnp.integer) and t.dtype != "int64"
    return t.astype(jnp.int32) if narrow else t


def _blend(share: Num[Array, "*shape"], start: ScalarLike, end: ScalarLike):
    """From `start` at a share of 0 to `end` at 1, exact at both."""
    share = jnp.clip(share, 0.0, 1.0)
    return (1 - share) * start + share * end


def _warm(t, warmup: ScalarLike, start: ScalarLike, peak: ScalarLike, after):
    """The straight line to the peak, before the rates that come `after`."""
    rising = _blend(t / jnp.maximum(warmup, 1), start, peak)
    return jnp.where(t < warmup, rising, after)


def constant(rate: ScalarLike) -> Schedule:
    """`rate` at step 0, at every step after it, and for ever."""
    return lambda t: rate + 0.0 * _counted(t)


def warmup_cosine(
    peak: ScalarLike,
    *,
    warmup: ScalarLike,
    total: ScalarLike,
    start: ScalarLike = 0.0,
    end: ScalarLike = 0.0,
) -> Schedule:
    r"""A straight line up to `peak`, then half a cosine down to `end`.

    | step | rate |
    |---|---|
    | 0 | `start`: by default update 0 moves nothing (`peak` without a warm-up) |
    | `warmup` | `peak` |
    | `total` and after | `end` |

    $$ \mathrm{end} + \tfrac12 (\mathrm{peak} - \mathrm{end}) \Bigl( 1 + \cos \pi
       \tfrac{t - \mathrm{warmup}}{\mathrm{total} - \mathrm{warmup}} \Bigr),
       \qquad \mathrm{warmup} \le t \le \mathrm{total} $$

    Lengths other than 0 <= warmup < total raise ValueError.

    The cosine: Loshchilov and Hutter (2017), section 3; the warm-up: Goyal et al.
    (2017), section 2.2.
    """
    fits = _require(
        "0 <= warmup < total",
        lambda warmup, total: (warmup >= 0) & (warmup < total),
        warmup=warmup,
        total=total,
    )

    def rate(t):
        t = _counted(t)
        share = jnp.clip((t - warmup) / jnp.subtract(total, warmup), 0.0, 1.0)
        falling = _blend(0.5 * (1 + jnp.cos(jnp.pi * share)), end, peak)
        return fits * _warm(t, warmup, start, peak, falling)

    return rate


def inverse_sqrt(
    peak: ScalarLike, *, warmup: ScalarLike, start: ScalarLike = 0.0
) -> Schedule:
    r"""A straight line up to `peak`, then down as one over the root of the step.

    | step | rate |
    |---|---|
    | 0 | `start`: by default update 0 moves nothing |
    | `warmup` | `peak` |
    | 4 `warmup` | `peak` / 2, and so on: it has no end |

    $$ \mathrm{peak} \sqrt{\mathrm{warmup} / t}, \qquad t \ge \mathrm{warmup} $$

    The paper's rate has `peak` = (d · warmup)^-0.5; it counts updates from 1, so that
    its first one moves. A `warmup` below 1 raises ValueError.

    Vaswani et al. (2017), section 5.3.
    """
    fits = _require("warmup >= 1", lambda warmup: warmup >= 1, warmup=warmup)

    def rate(t):
        t = _counted(t)
        falling = peak * jnp.sqrt(warmup / jnp.maximum(t, warmup))
        return fits * _warm(t, warmup, start, peak, falling)

    return rate


def cosine_restarts(
    peak: ScalarLike, *, period: ScalarLike, multiplier: int = 1, end: ScalarLike = 0.0
) -> Schedule:
    r"""Half a cosine from `peak` towards `end`, and again, each time longer.

    | step | rate |
    |---|---|
    | 0 | `peak` |
    | `period` - 1 | the lowest of the first cosine, one step short of `end` |
    | `period` | `peak`, now for `period` · `multiplier` steps |
    | after | it has no end |

    $$ \mathrm{end} + \tfrac12 (\mathrm{peak} - \mathrm{end}) \bigl(
       1 + \cos(\pi \, T_\mathrm{cur} / T_i) \bigr), \qquad
       T_i = \mathrm{period} \cdot \mathrm{multiplier}^i $$

    T_cur is the number of updates since the last restart. A `period` below 1 and a
    `multiplier` that is not a whole number from 1 on raise ValueError.

    Loshchilov and Hutter (2017), section 3.
    """
    fits = _require(
        "period >= 1 and a whole multiplier >= 1",
        lambda period, multiplier: (
            (period >= 1) & (multiplier >= 1) & (multiplier % 1 == 0)
        ),
        period=period,
        multiplier=multiplier,
    )
    factor = int(multiplier)
    firsts = [0]  # of each cosine, in periods; none after fits in 32 bits
    while factor > 1 and firsts[-1] * factor + 1 < 2**31:
        firsts.append(firsts[-1] * factor + 1)

    def rate(t):
        t = _counted(t)
        periods = t // period
        if factor == 1:
            first = periods
        else:
            begun = periods[..., None] >= jnp.array(firsts)
            first = jnp.max(jnp.where(begun, jnp.array(firsts), 0), axis=-1)
        length = period * (1.0 + (factor - 1.0) * first)
        share = (t - first * period) / length
        return fits * _blend(0.5 * (1 + jnp.cos(jnp.pi * share)), end, peak)

    return rate


def warmup_stable_decay(
    peak: ScalarLike,
    *,
    warmup: ScalarLike,
    decay: ScalarLike,
    total: ScalarLike,
    start: ScalarLike = 0.0,
    end: ScalarLike = 0.0,
) -> Schedule:
    """A straight line up to `peak`, a plateau, and in the last `decay` steps one down.

    | step | rate |
    |---|---|
    | 0 | `start`: by default update 0 moves nothing (`peak` without a warm-up) |
    | `warmup` to `total` - `decay` | `peak` |
    | `total` and after | `end` |

    Lengths that do not fit, 0 <= warmup, 1 <= decay and warmup + decay <= total, raise
    ValueError.

    Hu et al. (2024), section 4, whose last part falls exponentially; in a straight
    line: Hägele et al. (2024).
    """
    fits = _require(
        "0 <= warmup, 1 <= decay, warmup + decay <= total",
        lambda warmup, decay, total: (
            (warmup >= 0) & (decay >= 1) & (warmup + decay <= total)
        ),
        warmup=warmup,
        decay=decay,
        total=total,
    )

    def rate(t):
        t = _counted(t)
        falling = _blend((t - jnp.subtract(total, decay)) / decay, peak, end)
        return fits * _warm(t, warmup, start, peak, falling)

    return rate
