import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.test_util import check_grads

from blocks import (
    adamw_lr,
    apply_updates,
    constant,
    cosine_restarts,
    inverse_sqrt,
    sgd,
    warmup_cosine,
    warmup_stable_decay,
)

STEPS = 70


def line(t, length, start, peak):
    return start + (peak - start) * t / length


def half_cosine(t, length, peak, end):
    return end + 0.5 * (peak - end) * (1 + math.cos(math.pi * t / length))


def warmup_cosine_by_hand(t, peak, warmup, total, start=0.0, end=0.0):
    if t < warmup:
        return line(t, warmup, start, peak)
    return half_cosine(min(t, total) - warmup, total - warmup, peak, end)


def inverse_sqrt_by_hand(t, peak, warmup, start=0.0):
    return line(t, warmup, start, peak) if t < warmup else peak * (warmup / t) ** 0.5


def restarts_by_hand(t, peak, period, multiplier=1, end=0.0):
    while t >= period:
        t, period = t - period, period * multiplier
    return half_cosine(t, period, peak, end)


def stable_by_hand(t, peak, warmup, decay, total, start=0.0, end=0.0):
    if t < warmup:
        return line(t, warmup, start, peak)
    if t < total - decay:
        return peak
    return line(min(t, total) - (total - decay), decay, peak, end)


CASES = [
    (constant, lambda t, rate: rate, dict(rate=0.3)),
    (warmup_cosine, warmup_cosine_by_hand, dict(peak=0.3, warmup=10, total=50)),
    (
        warmup_cosine,
        warmup_cosine_by_hand,
        dict(peak=2.0, warmup=7, total=31, start=0.5, end=0.1),
    ),
    (warmup_cosine, warmup_cosine_by_hand, dict(peak=0.3, warmup=0, total=1)),
    (inverse_sqrt, inverse_sqrt_by_hand, dict(peak=0.3, warmup=10)),
    (inverse_sqrt, inverse_sqrt_by_hand, dict(peak=2.0, warmup=1, start=0.5)),
    (cosine_restarts, restarts_by_hand, dict(peak=0.3, period=10)),
    (cosine_restarts, restarts_by_hand, dict(peak=0.3, period=5, multiplier=2)),
    (
        cosine_restarts,
        restarts_by_hand,
        dict(peak=2.0, period=3, multiplier=3, end=0.1),
    ),
    (
        warmup_stable_decay,
        stable_by_hand,
        dict(peak=0.3, warmup=10, decay=15, total=50),
    ),
    (
        warmup_stable_decay,
        stable_by_hand,
        dict(peak=2.0, warmup=0, decay=1, total=30, start=0.5, end=0.1),
    ),
    (
        warmup_stable_decay,
        stable_by_hand,
        dict(peak=2.0, warmup=4, decay=6, total=10, start=0.5, end=0.1),
    ),
]


@pytest.mark.parametrize("make, by_hand, settings", CASES)
def test_every_step_is_that_of_the_formula(make, by_hand, settings):
    want = [by_hand(t, **settings) for t in range(STEPS)]
    got = make(**settings)(jnp.arange(STEPS))
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("make, by_hand, settings", CASES)
def test_in_float64_to_the_last_digits(make, by_hand, settings):
    want = [by_hand(t, **settings) for t in range(STEPS)]
    got = make(**settings)(jnp.arange(STEPS))
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


SETTINGS = dict(start=0.5, end=0.1)
FIXED_POINTS = [
    (constant(2.0), {0: 2.0, 10**6: 2.0}),
    (warmup_cosine(2.0, warmup=4, total=10), {0: 0, 4: 2, 7: 1, 10: 0, 11: 0}),
    (
        warmup_cosine(2.0, warmup=4, total=10, **SETTINGS),
        {0: 0.5, 4: 2.0, 10: 0.1, 11: 0.1, 10**9: 0.1},
    ),
    (warmup_cosine(2.0, warmup=0, total=10, **SETTINGS), {0: 2.0, 10: 0.1, 11: 0.1}),
    (inverse_sqrt(2.0, warmup=9), {0: 0, 9: 2, 36: 1, 900: 0.2}),
    (inverse_sqrt(2.0, warmup=9, start=0.5), {0: 0.5, 9: 2, 36: 1}),
    (
        cosine_restarts(2.0, period=10, multiplier=2, end=0.1),
        {0: 2.0, 10: 2.0, 30: 2.0, 70: 2.0, 20: 1.05},
    ),
    (
        warmup_stable_decay(2.0, warmup=4, decay=3, total=10),
        {0: 0, 2: 1, 4: 2, 7: 2, 10: 0, 11: 0},
    ),
    (
        warmup_stable_decay(2.0, warmup=4, decay=3, total=10, **SETTINGS),
        {0: 0.5, 4: 2, 7: 2, 10: 0.1, 11: 0.1, 10**9: 0.1},
    ),
    (
        warmup_stable_decay(2.0, warmup=0, decay=3, total=10, **SETTINGS),
        {0: 2.0, 7: 2.0, 10: 0.1},
    ),
]


@pytest.mark.parametrize("schedule, points", FIXED_POINTS)
def test_the_start_the_peak_the_end_and_after(schedule, points):
    for step, rate in points.items():
        np.testing.assert_allclose(schedule(step), rate, rtol=1e-6, err_msg=str(step))


def test_warm_up_is_part_of_the_total():
    got = warmup_cosine(1.0, warmup=4, total=10, end=0.1)(jnp.arange(13))
    up, down = [0, 0.25, 0.5, 0.75, 1], [0.939711, 0.775, 0.55, 0.325, 0.160289]
    np.testing.assert_allclose(got, [*up, *down, 0.1, 0.1, 0.1], atol=1e-6)


def in_optax(name):
    if name == "constant":
        return constant(0.3), optax.constant_schedule(0.3)
    if name == "warmup_cosine":
        return (
            warmup_cosine(0.3, warmup=7, total=50, start=0.1, end=0.02),
            optax.warmup_cosine_decay_schedule(0.1, 0.3, 7, 50, 0.02),
        )
    if name == "warmup_cosine without a warm-up":
        return (
            warmup_cosine(0.3, warmup=0, total=50),
            optax.cosine_decay_schedule(0.3, 50),
        )
    if name == "inverse_sqrt":
        return (
            inverse_sqrt(0.3, warmup=7, start=0.1),
            optax.join_schedules(
                [
                    optax.linear_schedule(0.1, 0.3, 7),
                    lambda t: 0.3 * jnp.sqrt(7.0 / (t + 7.0)),
                ],
                [7],
            ),
        )
    if name == "warmup_stable_decay":
        return (
            warmup_stable_decay(0.3, warmup=7, decay=20, total=50, start=0.1, end=0.02),
            optax.join_schedules(
                [
                    optax.linear_schedule(0.1, 0.3, 7),
                    optax.constant_schedule(0.3),
                    optax.linear_schedule(0.3, 0.02, 20),
                ],
                [7, 30],
            ),
        )
    period, multiplier = (10, 1) if name.endswith("equal") else (5, 2)
    cosines = [
        dict(
            init_value=0.3,
            peak_value=0.3,
            warmup_steps=0,
            decay_steps=period * multiplier**i,
            end_value=0.02,
        )
        for i in range(8)
    ]
    ours = cosine_restarts(0.3, period=period, multiplier=multiplier, end=0.02)
    return ours, optax.sgdr_schedule(cosines)


@pytest.mark.parametrize(
    "name",
    [
        "constant",
        "warmup_cosine",
        "warmup_cosine without a warm-up",
        "inverse_sqrt",
        "warmup_stable_decay",
        "restarts, equal",
        "restarts, growing",
    ],
)
def test_every_step_is_that_of_optax(name):
    steps = jnp.arange(STEPS)
    ours, theirs = in_optax(name)
    want = jnp.broadcast_to(theirs(steps), steps.shape)
    np.testing.assert_allclose(ours(steps), want, rtol=1e-5, atol=1e-7)


def test_the_rate_of_the_transformer_of_2017():
    d, warmup, steps = 512, 4000, np.arange(1, 20_000, 7)
    paper = d**-0.5 * np.minimum(steps**-0.5, steps * warmup**-1.5)
    ours = inverse_sqrt((d * warmup) ** -0.5, warmup=warmup)
    np.testing.assert_allclose(ours(jnp.asarray(steps)), paper, rtol=1e-5)


@pytest.mark.parametrize("period, multiplier", [(1, 2), (10, 2), (7, 3), (1000, 1)])
def test_a_restart_is_at_the_peak_and_the_step_before_it_at_the_foot(
    period, multiplier
):
    schedule, restarts, length = (
        cosine_restarts(1.0, period=period, multiplier=multiplier),
        [period],
        period * multiplier,
    )
    # Up to numbers of updates with more digits than float32 has.
    while len(restarts) < 40 and restarts[-1] + length < 2**31:
        restarts.append(restarts[-1] + length)
        length *= multiplier
    steps = jnp.array(restarts, jnp.int32)
    np.testing.assert_array_equal(schedule(steps), 1.0)
    if period > 1:
        assert (schedule(steps - 1) < 0.06).all()
        assert (schedule(steps + 1) > 0.94).all()


def test_update_0_moves_nothing_unless_told_otherwise():
    w, g = jnp.array([3.0, -1.0]), jnp.array([0.5, 0.2])

    def after_one(schedule):
        optimizer = adamw_lr(schedule, weight_decay=0.1)
        updates, _ = optimizer.update(g, optimizer.init(w), w)
        return apply_updates(w, updates)

    lengths = dict(warmup=4, total=10)
    for make, told in (
        (warmup_cosine, lengths),
        (inverse_sqrt, dict(warmup=4)),
        (warmup_stable_decay, dict(decay=3, **lengths)),
    ):
        np.testing.assert_array_equal(after_one(make(0.1, **told)), w)
        assert (after_one(make(0.1, start=0.01, **told)) != w).all()


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16])
def test_an_optimiser_takes_the_rate_of_the_updates_done(dtype):
    schedule = warmup_stable_decay(0.5, warmup=4, decay=4, total=16)
    optimizer, w = sgd(schedule), jnp.zeros(2, dtype)

    def step(carry, _):
        w, state = carry
        updates, state = optimizer.update(jnp.ones_like(w), state, w)
        after = apply_updates(w, updates)
        return (after, state), w - after

    (w, _), moved = jax.lax.scan(step, (w, optimizer.init(w)), length=20)
    assert w.dtype == dtype
    want = schedule(jnp.arange(20))[:, None] * jnp.ones(2)
    np.testing.assert_allclose(moved.astype(jnp.float32), want, atol=0.02)


@pytest.mark.parametrize("make, by_hand, settings", CASES)
def test_steps_come_one_by_one_in_rows_and_traced(make, by_hand, settings):
    schedule, steps = make(**settings), np.arange(6, 12)
    want = [by_hand(int(t), **settings) for t in steps]
    close = dict(rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose([schedule(int(t)) for t in steps], want, **close)
    rows = schedule(jnp.asarray(steps, jnp.int32).reshape(2, 3))
    assert rows.shape == (2, 3)
    np.testing.assert_allclose(rows.ravel(), want, **close)
    one = jax.jit(schedule)(jnp.int32(6))
    assert one.shape == () and one.dtype == jnp.float32
    np.testing.assert_allclose(one, want[0], **close)


@pytest.mark.parametrize("make, by_hand, settings", CASES)
@pytest.mark.parametrize("dtype", [jnp.int32, jnp.float32])
def test_every_setting_may_be_moved_by_a_slider(make, by_hand, settings, dtype):
    lengths = {"warmup", "total", "decay", "period"}
    fixed = {k: v for k, v in settings.items() if k == "multiplier"}
    moved = {
        name: (dtype if name in lengths else jnp.float32)(value)
        for name, value in settings.items()
        if name not in fixed
    }
    rates = jax.jit(lambda moved: make(**moved, **fixed)(jnp.arange(STEPS)))
    want = [by_hand(t, **settings) for t in range(STEPS)]
    np.testing.assert_allclose(rates(moved), want, rtol=1e-5, atol=1e-6)


UNFIT = [
    (warmup_cosine, dict(warmup=11, total=10), "0 <= warmup < total"),
    (warmup_cosine, dict(warmup=10, total=10), "0 <= warmup < total"),
    (warmup_cosine, dict(warmup=-1, total=10), "0 <= warmup < total"),
    (inverse_sqrt, dict(warmup=0), "warmup >= 1"),
    (
        cosine_restarts,
        dict(period=0, multiplier=1),
        "period >= 1 and a whole multiplier >= 1",
    ),
    (
        cosine_restarts,
        dict(period=5, multiplier=0),
        "period >= 1 and a whole multiplier >= 1",
    ),
    (
        warmup_stable_decay,
        dict(warmup=5, decay=6, total=10),
        "0 <= warmup, 1 <= decay, warmup + decay <= total",
    ),
    (
        warmup_stable_decay,
        dict(warmup=5, decay=0, total=10),
        "0 <= warmup, 1 <= decay, warmup + decay <= total",
    ),
    (
        warmup_stable_decay,
        dict(warmup=-1, decay=2, total=10),
        "0 <= warmup, 1 <= decay, warmup + decay <= total",
    ),
]


@pytest.mark.parametrize("make, lengths, rule", UNFIT)
def test_lengths_that_do_not_fit_are_refused(make, lengths, rule):
    got = ", ".join(f"{name}={value}" for name, value in lengths.items())
    with pytest.raises(ValueError) as raised:
        make(0.1, **lengths)
    assert str(raised.value) == f"a schedule needs {rule}; got {got}"


@pytest.mark.parametrize("make, lengths, rule", UNFIT)
def test_traced_lengths_that_do_not_fit_give_no_number(make, lengths, rule):
    fixed = {k: v for k, v in lengths.items() if k == "multiplier"}
    moved = {k: jnp.float32(v) for k, v in lengths.items() if k not in fixed}
    rates = jax.jit(lambda moved: make(0.1, **moved, **fixed)(jnp.arange(12)))
    assert jnp.isnan(rates(moved)).all()


def test_lengths_are_checked_in_arrays_too():
    with pytest.raises(ValueError, match=r"; got warmup=12, total=10$"):
        warmup_cosine(0.1, warmup=jnp.array(12), total=np.int64(10))


@pytest.mark.usefixtures("float64")
def test_gradients_pass_through_every_setting():
    def rates(peak, warmup, total, decay, start, end):
        t = jnp.array([0, 2, 5, 9, 10])
        shape = dict(warmup=warmup, start=start)
        return (
            constant(peak)(t),
            warmup_cosine(peak, total=total, end=end, **shape)(t),
            inverse_sqrt(peak, **shape)(t),
            cosine_restarts(peak, period=warmup, multiplier=2, end=end)(t),
            warmup_stable_decay(peak, decay=decay, total=total, end=end, **shape)(t),
        )

    settings = 0.3, 3.3, 9.4, 2.7, 0.1, 0.05
    check_grads(jax.jit(rates), settings, order=1, modes="rev")


SHAPES = {
    "constant": constant(0.1),
    "cosine": warmup_cosine(0.1, warmup=300, total=1000),
    "root": inverse_sqrt(0.1, warmup=300),
    "restarts": cosine_restarts(0.1, period=300, multiplier=2),
    "stable": warmup_stable_decay(0.1, warmup=2, decay=300, total=1000),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32"])
@pytest.mark.parametrize("name", SHAPES)
def test_steps_of_a_narrow_or_unsigned_type_are_steps(name, dtype):
    steps = jnp.arange(0, 120, 7)
    given = SHAPES[name](steps.astype(dtype))
    np.testing.assert_array_equal(given, SHAPES[name](steps))


@pytest.mark.parametrize("name", SHAPES)
def test_a_rate_does_not_widen_what_it_multiplies(name, float64):
    assert (SHAPES[name](jnp.int32(3)) * jnp.ones(2, "float32")).dtype == "float32"
