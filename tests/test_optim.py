import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.test_util import check_grads

from blocks import (
    MLP,
    FeedForward,
    GLUFeedForward,
    KVCache,
    LayerNorm,
    LearnedPositions,
    MultiHeadAttention,
    RMSNorm,
    adam,
    adam_l2,
    adamw,
    adamw_lr,
    apply_updates,
    chain,
    clip_by_global_norm,
    decay_matrices,
    sgd,
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


def two_layers(key):
    """Every kind of module, by name in a dict, with `layers` stacked for a scan."""

    def layer(key):
        return {
            "attention": MultiHeadAttention.init(key, 4, 2, biases=True),
            "norms": [RMSNorm.init(4), LayerNorm.init(4)],
            "hidden": (FeedForward.init(key, 4, 8), GLUFeedForward.init(key, 4, 8)),
        }

    return {
        "layers": jax.vmap(layer)(jax.random.split(key)),
        "mlp": MLP.init(key, [4, 8, 2]),
        "positions": LearnedPositions.init(key, 9, 4),
        "dense": {"kernel": jnp.ones((2, 2)), "bias": jnp.ones(2), "w": jnp.ones(2)},
        "embedding": jnp.ones((5, 4)),
    }


def test_matrices_alone_decay_also_in_stacked_layers(key):
    shapes = jax.eval_shape(two_layers, key)
    params = jax.tree.map(
        lambda array: jnp.asarray(np.full(array.shape, 2, np.float32)), shapes
    )
    assert params["layers"]["norms"][0].scale.shape == (2, 4)

    def one_step(params, optimizer):
        zeros = jax.tree.map(jnp.zeros_like, params)
        updates, _ = optimizer.update(zeros, optimizer.init(params), params)
        return apply_updates(params, updates)

    for make, decayed in (adamw_lr, 1.98), (adamw, 1.8):
        made = make(0.1, weight_decay=0.1, mask=decay_matrices)
        after = jax.jit(one_step, static_argnums=1)(params, made)
        layers, dense = after["layers"], after["dense"]
        attention, (ff, gated) = layers["attention"], layers["hidden"]
        shrunk = [attention.w_q, attention.w_k, attention.w_v, attention.w_o]
        shrunk += [ff.w_in, ff.w_out, gated.w_gate, gated.w_up, gated.w_down]
        shrunk += [*after["mlp"].weights, dense["kernel"], dense["w"]]
        kept = [attention.b_q, attention.b_k, attention.b_v, attention.b_o]
        kept += [*jax.tree.leaves(layers["norms"]), ff.b_in, ff.b_out]
        kept += [*after["mlp"].biases, dense["bias"]]
        kept += [after["positions"].table, after["embedding"]]
        assert len(shrunk) + len(kept) == len(jax.tree.leaves(after))
        for array in shrunk:
            np.testing.assert_allclose(array, decayed, rtol=1e-6)
        for array in kept:
            np.testing.assert_array_equal(array, 2.0)


def test_a_schedule_of_the_decay_is_given_as_eta():
    text = "^weight_decay must be a number; its schedule is given as eta$"
    with pytest.raises(ValueError, match=text):
        # The checks of these tests would refuse before the function can.
        inspect.unwrap(adamw)(0.1, weight_decay=half_cosine)


def test_without_a_mask_every_array_decays():
    zeros = jax.tree.map(lambda array: jnp.zeros((1, *array.shape)), PARAMS)
    after = path(adamw(0.1, weight_decay=0.1), PARAMS, zeros)
    for name, before in PARAMS.items():
        np.testing.assert_allclose(after[name][0], 0.9 * before, rtol=1e-6)


@pytest.mark.parametrize(
    "params, name",
    [
        ({"layer": {"q_proj": jnp.ones(2)}}, r"\['layer'\]\['q_proj'\]"),
        ([{"weighted": jnp.ones(2)}], r"\[0\]\['weighted'\]"),
        (KVCache.init(1, 2, 1, 2), r"\.k"),
    ],
)
def test_a_name_that_says_nothing_is_refused(params, name):
    text = (
        f"^decay_matrices cannot tell whether {name} decays: name it w_… or b_…, or "
        "one of w, weight, weights, kernel, b, bias, biases, scale, table, embedding$"
    )
    with pytest.raises(ValueError, match=text):
        decay_matrices(params)
