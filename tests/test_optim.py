import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.test_util import check_grads

from blocks import (
    adam,
    adam_l2,
    adamw,
    adamw_lr,
    apply_updates,
    chain,
    clip_by_global_norm,
    decay_matrices,
    sgd,
    sgd_l2,
    sgdw,
)


def path(optimizer, w, grads):
    """The weights after each update by one of the rows of `grads`."""
    w, grads = jax.tree.map(jnp.asarray, (w, grads))

    def step(carry, g):
        w, state = carry
        updates, state = optimizer.update(g, state, w)
        w = apply_updates(w, updates)
        return (w, state), w

    return jax.lax.scan(step, (w, optimizer.init(w)), grads)[1]


def algorithm_2(
    w, grads, lr, *, decay=0.0, l2=0.0, eta=1.0, b1=0.9, b2=0.999, eps=1e-8
):
    """Loshchilov and Hutter (2019), algorithm 2, line by line in float64.

    `lr` is the paper's eta_t times alpha.
    """

    def at(value, t):
        return float(value(t)) if callable(value) else value

    w, m, v, weights = np.asarray(w, np.float64), 0.0, 0.0, []
    for t, g in enumerate(np.asarray(grads, np.float64)):
        g = g + l2 * w
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        direction = m / (1 - b1 ** (t + 1))
        direction = direction / (np.sqrt(v / (1 - b2 ** (t + 1))) + eps)
        w = w - at(lr, t) * direction - at(eta, t) * decay * w
        weights.append(w)
    return np.array(weights)


def algorithm_1(w, grads, lr, *, decay=0.0, l2=0.0, eta=1.0, momentum=0.0):
    """Loshchilov and Hutter (2019), algorithm 1, as above."""

    def at(value, t):
        return float(value(t)) if callable(value) else value

    w, m, weights = np.asarray(w, np.float64), 0.0, []
    for t, g in enumerate(np.asarray(grads, np.float64)):
        g = g + l2 * w
        m = momentum * m + at(lr, t) * g
        w = w - m - at(eta, t) * decay * w
        weights.append(w)
    return np.array(weights)


def half_cosine(t):
    return 0.5 * (1 + jnp.cos(jnp.pi * t / 20))


GOLDEN = {
    "torch_adamw_lr05_wd1": lambda lr: adamw_lr(0.05, weight_decay=0.1),
    "torch_adamw_lr05_wd2": lambda lr: adamw_lr(0.05, weight_decay=2.0),
    "torch_adam_lr05": lambda lr: adam(0.05),
    "torch_adam_L2_lr05_wd1": lambda lr: adam_l2(0.05, weight_decay=0.1),
    "torch_adamw_schedule": lambda lr: adamw_lr(lr, weight_decay=0.1),
    "optax_adamw_lr05_wd1": lambda lr: adamw_lr(0.05, weight_decay=0.1),
    "optax_adam_lr05": lambda lr: adam(0.05),
    "optax_adamw_schedule": lambda lr: adamw_lr(lr, weight_decay=0.1),
    "paper_adamw_lr05_wd005_eta1": lambda lr: adamw(0.05, weight_decay=0.005),
    "paper_adamw_lr05_wd1_eta1": lambda lr: adamw(0.05, weight_decay=0.1),
}


def test_each_path_matches_its_library(golden):
    file = golden("optimizers")

    @jax.jit  # of all at once, for compiling is what takes the time
    def paths(w, grads, rates):
        made = {name: make(lambda t: rates[t]) for name, make in GOLDEN.items()}
        return {name: path(each, w, grads) for name, each in made.items()}

    got = paths(*(jnp.asarray(file[key]) for key in ("w0", "grads", "lr_schedule")))
    for name in GOLDEN:
        tolerance = 5e-6 if name.startswith("optax") else 1e-6
        np.testing.assert_allclose(
            got[name], file[name], rtol=0, atol=tolerance, err_msg=name
        )


@pytest.mark.parametrize("eta", [0.5, half_cosine])
def test_adamw_matches_the_paper(golden, eta):
    file = golden("optimizers")
    start = file["w0"], file["grads"]
    settings = dict(b1=0.8, b2=0.99, eps=1e-3)
    got = path(adamw(0.05, weight_decay=0.1, eta=eta, **settings), *start)
    want = algorithm_2(*start, 0.05, decay=0.1, eta=eta, **settings)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


def test_line_12_of_the_paper_scales_both_terms_by_one_schedule(golden):
    file = golden("optimizers")
    start, alpha = (file["w0"], file["grads"]), 0.05

    def rate(t):
        return half_cosine(t) * alpha

    got = path(adamw(rate, weight_decay=0.1, eta=half_cosine), *start)
    want = algorithm_2(*start, rate, decay=0.1, eta=half_cosine)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("lr", [0.05, lambda t: 0.05 * half_cosine(t)])
def test_both_decays_of_sgd_match_the_paper(golden, momentum, lr):
    file = golden("optimizers")
    start = file["w0"], file["grads"]
    got = path(sgd_l2(lr, weight_decay=0.3, momentum=momentum), *start)
    want = algorithm_1(*start, lr, l2=0.3, momentum=momentum)
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-6)
    for eta in 0.5, half_cosine:
        made = sgdw(lr, weight_decay=0.1, eta=eta, momentum=momentum)
        want = algorithm_1(*start, lr, decay=0.1, eta=eta, momentum=momentum)
        np.testing.assert_allclose(path(made, *start), want, rtol=0, atol=2e-6)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("eta", [1.0, half_cosine])
def test_without_momentum_l2_and_decay_are_one_path(golden, eta):
    """Up to the factor, also where one schedule multiplies step and decay."""
    file, alpha = golden("optimizers"), 0.05
    start = np.float64(file["w0"]), np.float64(file["grads"])

    def lr(t):
        return alpha * (eta(t) if callable(eta) else eta)

    def gap(**momentum):
        l2 = path(sgd_l2(lr, weight_decay=0.3, **momentum), *start)
        decay = path(sgdw(lr, weight_decay=0.3 * alpha, eta=eta, **momentum), *start)
        return np.abs(l2 - decay).max()

    assert gap() < 1e-14
    assert gap(momentum=0.9) > 0.01


@pytest.mark.parametrize("make", [sgd_l2, sgdw])
def test_a_slider_may_move_the_settings_of_sgd(golden, make):
    file = golden("optimizers")
    start = file["w0"], file["grads"]

    @jax.jit
    def traced(lr, decay, momentum):
        return path(make(lr, weight_decay=decay, momentum=momentum), *start)

    for lr, decay, momentum in (0.05, 0.1, 0.9), (0.1, 0.3, 0.0):
        told = {"l2" if make is sgd_l2 else "decay": decay}
        want = algorithm_1(*start, lr, momentum=momentum, **told)
        got = traced(*map(jnp.float32, (lr, decay, momentum)))
        np.testing.assert_allclose(got, want, rtol=0, atol=3e-6)


FORMS = {
    "adamw": (
        lambda lr, decay, eta, **rest: adamw(lr, weight_decay=decay, eta=eta, **rest),
        lambda lr, decay, eta: dict(decay=decay, eta=eta),
    ),
    "adamw_lr": (
        lambda lr, decay, eta, **rest: adamw_lr(lr, weight_decay=decay, **rest),
        lambda lr, decay, eta: dict(decay=decay, eta=lr),
    ),
    "adam_l2": (
        lambda lr, decay, eta, **rest: adam_l2(lr, weight_decay=decay, **rest),
        lambda lr, decay, eta: dict(l2=decay),
    ),
    "adam": (lambda lr, decay, eta, **rest: adam(lr, **rest), lambda *_: {}),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_setting_may_be_moved_by_a_slider(golden, name):
    file, (make, told) = golden("optimizers"), FORMS[name]

    @jax.jit
    def traced(lr, decay, eta, b1, b2, eps):
        made = make(lr, decay, eta, b1=b1, b2=b2, eps=eps)
        return path(made, file["w0"], file["grads"])

    for values in (0.05, 0.1, 0.5, 0.9, 0.999, 1e-8), (0.1, 0.3, 0.2, 0.8, 0.99, 1e-3):
        values = [np.float64(np.float32(value)) for value in values]
        lr, decay, eta, b1, b2, eps = values
        want = algorithm_2(
            file["w0"], file["grads"], lr, **told(lr, decay, eta), b1=b1, b2=b2, eps=eps
        )
        got = traced(*map(jnp.float32, values))
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


def test_the_two_forms_of_adamw_agree_at_a_constant_rate(golden):
    file = golden("optimizers")
    start = file["w0"], file["grads"]
    ours = path(adamw(0.05, weight_decay=0.2, eta=0.5), *start)
    library = path(adamw_lr(0.05, weight_decay=0.5 * 0.2 / 0.05), *start)
    np.testing.assert_allclose(ours, library, rtol=0, atol=1e-6)


def test_the_first_step_of_adamw_by_hand():
    w, g = jnp.array([1.0]), jnp.array([[0.5]])
    np.testing.assert_allclose(path(adamw(0.1, weight_decay=0.5), w, g), 0.4, rtol=1e-6)


@pytest.mark.parametrize(
    "optimizer, want",
    [
        (adamw_lr(0.1, weight_decay=0.1), [1.88, 1.82663942, 1.77043385]),
        (adam_l2(0.1, weight_decay=0.1), [1.9, 1.83406450, 1.76283561]),
        (adamw(0.1, weight_decay=0.1), [1.7, 1.49543942, 1.30795630]),
    ],
)
def test_the_three_decays_differ(optimizer, want):
    got = path(optimizer, jnp.array(2.0), jnp.array([0.5, -0.2, 0.1]))
    np.testing.assert_allclose(got, want, atol=5e-6)


def test_only_l2_decays_the_less_the_larger_the_gradients():
    swings = jnp.array([1.0, -1, 1, -1])[:, None] * jnp.array([1e-3, 1e3])
    for make in adamw, adamw_lr, adam_l2:
        small, large = path(make(0.01, weight_decay=0.1), jnp.full(2, 2.0), swings)[-1]
        gap = float(large - small)
        assert gap > 0.01 if make is adam_l2 else abs(gap) < 1e-4


PARAMS = {"w_q": jnp.array([[1.0, -2.0], [0.5, 3.0]]), "scale": jnp.array([0.1, -0.2])}
MATCHES = {
    "sgd": (sgd(0.1), optax.sgd(0.1)),
    "sgd with momentum": (sgd(0.1, momentum=0.8), optax.sgd(0.1, momentum=0.8)),
    "sgd with a schedule": (sgd(half_cosine), optax.sgd(half_cosine)),
    "sgd_l2 with a mask": (
        sgd_l2(0.1, weight_decay=0.3, momentum=0.8, mask=decay_matrices),
        optax.chain(
            optax.add_decayed_weights(0.3, mask=decay_matrices),
            optax.sgd(0.1, momentum=0.8),
        ),
    ),
    "sgdw with a mask": (
        sgdw(0.1, weight_decay=0.3, eta=0.1, momentum=0.8, mask=decay_matrices),
        optax.chain(
            optax.sgd(0.1, momentum=0.8),
            optax.add_decayed_weights(-0.03, mask=decay_matrices),
        ),
    ),
    "adam": (adam(0.1), optax.adam(0.1)),
    "adam with other settings": (
        adam(half_cosine, b1=0.8, b2=0.95, eps=1e-3),
        optax.adam(half_cosine, b1=0.8, b2=0.95, eps=1e-3),
    ),
    "adamw_lr": (adamw_lr(0.1, weight_decay=0.3), optax.adamw(0.1, weight_decay=0.3)),
    "adamw_lr with other settings": (
        adamw_lr(half_cosine, weight_decay=0.3, b1=0.8, b2=0.95, eps=1e-3),
        optax.adamw(half_cosine, weight_decay=0.3, b1=0.8, b2=0.95, eps=1e-3),
    ),
    "adamw_lr with a mask": (
        adamw_lr(0.1, weight_decay=0.3, mask=decay_matrices),
        optax.adamw(0.1, weight_decay=0.3, mask=decay_matrices),
    ),
    "adamw with a mask": (
        adamw(0.1, weight_decay=0.03, mask=decay_matrices),
        optax.adamw(0.1, weight_decay=0.3, mask=decay_matrices),
    ),
    "adam_l2 with a mask": (
        adam_l2(0.1, weight_decay=0.3, mask=decay_matrices),
        optax.chain(
            optax.add_decayed_weights(0.3, mask=decay_matrices), optax.adam(0.1)
        ),
    ),
    "ours in their chain": (
        optax.chain(optax.clip_by_global_norm(1.0), adamw_lr(0.1, weight_decay=0.3)),
        optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1, weight_decay=0.3)),
    ),
    "theirs in our chain": (
        chain(clip_by_global_norm(1.0), optax.adamw(0.1, weight_decay=0.3)),
        optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1, weight_decay=0.3)),
    ),
}


@functools.cache
def all_paths():
    """Of every pair in `MATCHES`, compiled at once."""
    w_q = np.random.default_rng(0).normal(size=(8, 2, 2))
    grads = {"w_q": jnp.float32(w_q), "scale": jnp.ones((8, 2))}

    @jax.jit
    def paths(w, grads):
        return {
            name: [path(made, w, grads) for made in pair]
            for name, pair in MATCHES.items()
        }

    return paths(PARAMS, grads)


@pytest.mark.parametrize("name", MATCHES)
def test_each_optimiser_matches_optax(name):
    for got, want in zip(*map(jax.tree.leaves, all_paths()[name]), strict=True):
        np.testing.assert_allclose(got, want, rtol=5e-6, atol=5e-6)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_low_precision_weights_keep_their_dtype(dtype):
    every = (
        sgd(0.1, momentum=0.9),
        sgd_l2(0.1, weight_decay=0.1, momentum=0.9),
        sgdw(0.1, weight_decay=0.1, momentum=0.9),
        adamw(0.1, weight_decay=0.1),
        adam_l2(0.1, weight_decay=0.1),
    )
    w, grads = jnp.ones(3), jnp.full((2, 3), 0.5)

    @jax.jit
    def paths(w, grads):
        return [path(made, w, grads) for made in every]

    narrow = paths(w.astype(dtype), grads.astype(dtype))
    for got, want in zip(narrow, paths(w, grads), strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(jnp.float32), want, rtol=0.01)


@pytest.mark.usefixtures("float64")
def test_gradients_pass_through_training():
    def end(w, grads, lr, decay, eta, b2):
        return path(adamw(lr, weight_decay=decay, eta=eta, b2=b2), w, grads)[-1]

    grads = jnp.array([[0.3, -1.0], [2.0, 0.5]])
    settings = jnp.ones(2), grads, 0.1, 0.2, 0.5, 0.9
    check_grads(jax.jit(end), settings, order=1, modes="rev")

    def end_of_sgd(w, grads, lr, decay, eta, momentum):
        l2 = sgd_l2(lr, weight_decay=decay, momentum=momentum)
        decoupled = sgdw(lr, weight_decay=decay, eta=eta, momentum=momentum)
        return path(l2, w, grads)[-1], path(decoupled, w, grads)[-1]

    check_grads(jax.jit(end_of_sgd), settings, order=1, modes="rev")


def test_a_schedule_of_the_decay_is_given_as_eta():
    text = "^weight_decay must be a number; its schedule is given as eta$"
    for make in adamw, sgdw:
        with pytest.raises(ValueError, match=text):
            # The checks of these tests would refuse before the function can.
            inspect.unwrap(make)(0.1, weight_decay=half_cosine)


def test_without_a_mask_every_array_decays():
    zeros = jax.tree.map(lambda array: jnp.zeros((1, *array.shape)), PARAMS)
    after = path(adamw(0.1, weight_decay=0.1), PARAMS, zeros)
    for name, before in PARAMS.items():
        np.testing.assert_allclose(after[name][0], 0.9 * before, rtol=1e-6)


def matrices_by_axes(params):
    return jax.tree.map(lambda array: array.ndim >= 2, params)


def test_decay_of_every_array_or_of_matrices_is_one_where_there_are_no_others():
    """Adam with decoupled decay on two axes or more, beside AdamW on everything."""
    matrices = {"w_q": PARAMS["w_q"], "w_k": 2 * PARAMS["w_q"]}
    draws = np.random.default_rng(1).normal(size=(8, 2, 2))
    grads = {"w_q": jnp.float32(draws), "w_k": jnp.float32(3 * draws)}
    with_a_bias = {"w_q": PARAMS["w_q"], "b_q": jnp.array([1.0, -2.0])}
    grads_with_a_bias = {"w_q": grads["w_q"], "b_q": grads["w_q"][:, 0]}

    def gaps(params, grads, schedule=lambda t: 1.0):
        def lr(t):
            return 0.1 * schedule(t)

        paper = adamw(lr, weight_decay=0.03)
        on_matrices = adamw_lr(lr, weight_decay=0.3, mask=matrices_by_axes)
        paths = path(paper, params, grads), path(on_matrices, params, grads)
        return jax.tree.map(lambda a, b: float(jnp.abs(a - b).max()), *paths)

    gap = gaps(matrices, grads)
    assert max(gap.values()) < 1e-6
    gap = gaps(with_a_bias, grads_with_a_bias)
    assert gap["w_q"] < 1e-6 and gap["b_q"] > 0.05
    gap = gaps(matrices, grads, half_cosine)
    assert min(gap.values()) > 0.01
