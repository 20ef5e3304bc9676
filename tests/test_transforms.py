import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.test_util import check_grads

from blocks import (
    Transform,
    adam,
    add_decay,
    add_momentum,
    apply_updates,
    chain,
    clip_by_global_norm,
    scale_by_adam,
    scale_by_rate,
)

STEPS = 5


def tree(key, size=1.0, dtype=jnp.float32):
    keys, shapes = jax.random.split(key, 3), [(3, 4), (4,), ()]
    w, b, c = (
        size * jax.random.normal(key, shape, dtype)
        for key, shape in zip(keys, shapes, strict=True)
    )
    return {"first": {"w": w, "b": b}, "last": [c]}


def gradients(key):
    """A tree for each step, the later ones larger."""
    keys = jax.random.split(jax.random.fold_in(key, 1), STEPS)
    return jax.tree.map(
        lambda *g: jnp.stack(g), *map(tree, keys, 10.0 ** np.arange(-2, 3))
    )


def updates_of(transform, params, grads):
    """What leaves `transform` at each step, the parameters standing still."""

    def step(state, grad):
        updates, state = transform.update(grad, state, params)
        return state, updates

    return jax.jit(lambda: jax.lax.scan(step, transform.init(params), grads)[1])()


def assert_trees_close(got, want, **tolerance):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, **tolerance), got, want)


def by_the_paper(grads, b1, b2, eps):
    """Kingma and Ba (2015), algorithm 1, the direction alone, in float64."""
    m, v, directions = 0.0, 0.0, []
    for t, g in enumerate(np.asarray(grads, np.float64), 1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        directions.append(m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + eps))
    return np.array(directions)


@pytest.mark.parametrize(
    "b1, b2, eps", [(0.9, 0.999, 1e-8), (0.5, 0.9, 0.1), (0, 0, 1)]
)
def test_scale_by_adam_matches_the_paper(key, b1, b2, eps):
    grads = gradients(key)
    got = updates_of(scale_by_adam(b1=b1, b2=b2, eps=eps), tree(key), grads)
    want = jax.tree.map(lambda g: by_the_paper(g, b1, b2, eps), grads)
    assert_trees_close(got, want, rtol=2e-6)


@pytest.mark.parametrize("t", [1, 20, 100_000])
@pytest.mark.parametrize("traced", [False, True])
def test_early_and_late_corrections_are_exact(t, traced):
    b1, b2 = 0.9, 0.999_99
    if traced:
        b1, b2 = float(np.float32(b1)), float(np.float32(b2))

    def direction(b1, b2):
        transform = scale_by_adam(b1=b1, b2=b2)
        state = transform.init(jnp.ones(()))._replace(t=jnp.array(t - 1))
        return transform.update(jnp.array(3.0), state)[0]

    m, v = (1 - b1) / (1 - b1**t), (1 - b2) / (1 - b2**t)
    got = (jax.jit(direction) if traced else direction)(b1, b2)
    np.testing.assert_allclose(got, m / np.sqrt(v), rtol=2e-6)


def only_the_first(params):
    return {"first": {"w": True, "b": True}, "last": [False]}


def schedule(t):
    return 0.1 * (t + 1)


MATCHES = {
    "adam": (scale_by_adam(), optax.scale_by_adam()),
    "adam set": (
        scale_by_adam(b1=0.8, b2=0.95, eps=1e-3),
        optax.scale_by_adam(b1=0.8, b2=0.95, eps=1e-3),
    ),
    "momentum": (add_momentum(0.7), optax.trace(0.7)),
    "rate": (scale_by_rate(0.3), optax.scale_by_learning_rate(0.3)),
    "schedule": (scale_by_rate(schedule), optax.scale_by_learning_rate(schedule)),
    "decay": (add_decay(0.2), optax.add_decayed_weights(0.2)),
    "decay masked": (
        add_decay(0.2, mask=only_the_first),
        optax.add_decayed_weights(0.2, mask=only_the_first),
    ),
    "decay schedule": (add_decay(schedule), optax.add_decayed_weights(schedule)),
    "clip": (clip_by_global_norm(1.5), optax.clip_by_global_norm(1.5)),
    "chain": (
        chain(clip_by_global_norm(2.0), add_decay(0.1), add_momentum(0.5)),
        optax.chain(
            optax.clip_by_global_norm(2.0),
            optax.add_decayed_weights(0.1),
            optax.trace(0.5),
        ),
    ),
}
OURS, THEIRS = MATCHES["chain"]
TOGETHER = optax.chain(THEIRS, optax.scale_by_adam())
MATCHES["ours in theirs"] = optax.chain(OURS, scale_by_adam()), TOGETHER
MATCHES["theirs in ours"] = chain(THEIRS, optax.scale_by_adam()), TOGETHER


@pytest.mark.parametrize("name", MATCHES)
def test_each_part_matches_optax_alone_and_in_a_chain(key, name):
    params, grads = tree(key), gradients(key)
    ours, theirs = (updates_of(t, params, grads) for t in MATCHES[name])
    # optax computes 1 - b2**t in float32, which is 1e-5 off at the second step.
    assert_trees_close(ours, theirs, rtol=2e-5, atol=1e-7)


def norm(tree):
    return float(jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree))))


@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 1e3])
def test_clipping_shortens_what_is_too_long_and_nothing_else(key, size):
    grads = tree(key, size)
    clipped, _ = clip_by_global_norm(0.5).update(grads, ())
    length = norm(grads)
    factor = 0.5 / length if length > 0.5 else 1.0
    want = jax.tree.map(lambda g: np.asarray(g, np.float64) * factor, grads)
    assert_trees_close(clipped, want, rtol=1e-6)


def test_long_vectors_in_float16_are_measured_in_float32():
    long = jnp.full(4, 300.0, jnp.float16)
    clipped, _ = clip_by_global_norm(1.0).update(long, ())
    assert clipped.dtype == jnp.float16
    np.testing.assert_allclose(clipped.astype(jnp.float32), 0.5, rtol=1e-3)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_low_precision_keeps_its_moments_in_float32_and_its_parameters(key, dtype):
    params, grads = tree(key, dtype=dtype), tree(key, dtype=dtype)
    optimizer = chain(add_momentum(0.9), adam(0.1))
    updates, state = jax.jit(optimizer.update)(grads, optimizer.init(params), params)
    floats = [s.dtype for s in jax.tree.leaves(state) if s.dtype != jnp.int32]
    assert set(floats) == {jnp.dtype(jnp.float32)}
    leaves = jax.tree.leaves(apply_updates(params, updates))
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype(dtype)}


def test_updates_are_added_to_the_parameters(key):
    params = tree(key)
    got = apply_updates(params, tree(jax.random.fold_in(key, 1)))
    want = jax.tree.map(np.add, params, tree(jax.random.fold_in(key, 1)))
    assert_trees_close(got, want, rtol=1e-7)


def test_an_empty_chain_passes_its_updates_on(key):
    nothing = chain()
    assert isinstance(nothing, Transform)
    assert nothing.update(3.0, nothing.init(None)) == (3.0, ())


@pytest.mark.usefixtures("float64")
def test_gradients_pass_through_every_setting():
    grads = jnp.array([[0.3, -1.0], [2.0, 0.5]])

    def end(w, grads, b1, b2, eps, lr, decay, limit, momentum):
        transform = chain(
            clip_by_global_norm(limit),
            add_momentum(momentum),
            scale_by_adam(b1=b1, b2=b2, eps=eps),
            add_decay(decay),
            scale_by_rate(lr),
        )
        state = transform.init(w)
        for g in grads:
            updates, state = transform.update(g, state, w)
            w = apply_updates(w, updates)
        return w

    settings = (0.8, 0.9, 0.1, 0.2, 0.3, 1.2, 0.5)
    check_grads(jax.jit(end), (jnp.ones(2), grads, *settings), order=1, rtol=1e-3)


@pytest.mark.parametrize("name", ["b1", "b2"])
@pytest.mark.parametrize("value", [1.0, -0.1, 7, np.float32(1), np.int64(-2)])
def test_means_that_never_settle_are_refused(name, value):
    with pytest.raises(
        ValueError, match=rf"^{name} must lie in \[0, 1\); got {value}$"
    ):
        scale_by_adam(**{name: value})


def test_a_mean_that_never_settles_is_refused_in_an_array_too():
    with pytest.raises(ValueError, match=r"^b2 must lie in \[0, 1\); got 1.0$"):
        scale_by_adam(b2=jnp.array(1.0))


@pytest.mark.parametrize("shape", [(2, 3), (), (1,)])
def test_an_update_has_the_shape_of_its_parameter(shape):
    text = f"an update has the shape of its parameter, (3,); got {shape}"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        apply_updates({"w": jnp.ones(3)}, {"w": jnp.ones(shape)})


def test_a_row_of_rates_does_not_make_a_row_of_weights():
    rate = scale_by_rate(lambda t: jnp.array([[0.1], [0.2]]))
    updates, _ = rate.update(jnp.ones(3), rate.init(jnp.ones(3)))
    with pytest.raises(ValueError, match=r"parameter, \(3,\); got \(2, 3\)$"):
        apply_updates(jnp.ones(3), updates)


def test_decay_needs_the_parameters():
    decay = add_decay(0.1)
    text = r"^weight decay needs params: update\(grads, state, params\)$"
    with pytest.raises(ValueError, match=text):
        decay.update(jnp.ones(2), decay.init(jnp.ones(2)))


def test_an_infinite_limit_clips_nothing():
    updates = {"w": jnp.array([3.0, -4.0])}
    clipped, _ = clip_by_global_norm(jnp.inf).update(updates, ())
    np.testing.assert_array_equal(clipped["w"], updates["w"])


def test_a_limit_must_be_positive():
    for limit in (0.0, -1.0, np.float32(0), jnp.array(-1.0)):
        with pytest.raises(ValueError, match="limit of the norm is positive; got"):
            clip_by_global_norm(limit)


@pytest.mark.parametrize("size", [1e-30, 1e25])
def test_a_norm_whose_square_no_float32_holds_is_clipped(size):
    grads = [jnp.array([3.0 * size, 0.0]), jnp.array(4.0 * size)]
    clipped, _ = clip_by_global_norm(size).update(grads, ())
    want = [np.array([0.6 * size, 0.0]), np.array(0.8 * size)]
    assert_trees_close(clipped, want, rtol=1e-6)


def test_a_small_decay_is_not_lost_in_bfloat16():
    p = jnp.ones(3, jnp.bfloat16)
    decay = add_decay(1e-3)
    updates, _ = decay.update(p, decay.init(p), p)
    np.testing.assert_allclose(updates, 1.001, rtol=1e-6)


def test_a_mask_that_is_no_function_is_refused_at_once():
    with pytest.raises(ValueError, match="a function of the parameters.*; got dict"):
        inspect.unwrap(add_decay)(0.1, mask={"w": True})


@pytest.mark.parametrize("momentum", [-0.1, 1.0, 1.5])
def test_a_momentum_that_never_settles_is_refused(momentum):
    with pytest.raises(ValueError, match=rf"in \[0, 1\); got {momentum}$"):
        add_momentum(momentum)
