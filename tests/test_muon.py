import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.test_util import check_grads
from optax.contrib import MuonDimensionNumbers

from blocks import (
    MultiHeadAttention,
    RMSNorm,
    adam,
    adamw_lr,
    apply_updates,
    chain,
    clip_by_global_norm,
    matrix_axes,
    muon,
    orthogonalize,
    scale_by_muon,
    scale_by_rate,
    sgd,
)

QUINTIC = 3.4445, -4.7750, 2.0315


def path(optimizer, params, grads):
    """The parameters after each update, by a tree of gradients with rows of steps."""

    def step(carry, g):
        params, state = carry
        updates, state = optimizer.update(g, state, params)
        params = apply_updates(params, updates)
        return (params, state), params

    start = params, optimizer.init(params)
    return jax.jit(lambda start, grads: jax.lax.scan(step, start, grads)[1])(
        start, grads
    )


def draw(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape))


def by_singular_values(x, steps=5, coefficients=QUINTIC):
    """The iteration as it acts on each singular value, in float64."""
    u, s, vh = np.linalg.svd(np.asarray(x, np.float64), full_matrices=False)
    s, (a, b, c) = s / np.sqrt(np.sum(s**2)), coefficients
    for _ in range(steps):
        s = a * s + b * s**3 + c * s**5
    return (u * s) @ vh


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (1, 1), (1, 4)])
@pytest.mark.parametrize(
    "settings", [{}, dict(steps=2), dict(steps=3, coefficients=(2.0, -1.5, 0.5))]
)
def test_a_polynomial_of_each_singular_value(shape, settings):
    x = draw(0, *shape)
    got = orthogonalize(x, **settings)
    np.testing.assert_allclose(got, by_singular_values(x, **settings), rtol=1e-6)


def test_one_step_by_hand():
    got = orthogonalize(jnp.array([[3.0]]), steps=1)
    np.testing.assert_allclose(got, 3.4445 - 4.7750 + 2.0315, rtol=1e-5)


def test_all_but_the_smallest_singular_values_end_near_1():
    s = jnp.geomspace(1, 0.0025, 40)
    q, _ = jnp.linalg.qr(draw(1, 40, 40).astype(jnp.float32))
    ends = jnp.linalg.svd(orthogonalize(q * (s / jnp.linalg.norm(s))))[1]
    big = s / jnp.linalg.norm(s) > 0.002
    assert 0 < big.sum() < 40
    ends = jnp.sort(ends)[-int(big.sum()) :]
    assert 0.67 < ends.min() < 0.72 and 1.1 < ends.max() < 1.21


def test_a_rotation_of_the_matrix_rotates_the_result():
    x, (q, _) = draw(2, 4, 6), jnp.linalg.qr(draw(3, 4, 4))
    x, q = x.astype(jnp.float32), q.astype(jnp.float32)
    np.testing.assert_allclose(
        orthogonalize(q @ x), q @ orthogonalize(x), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_allclose(
        orthogonalize(100 * x), orthogonalize(x), rtol=1e-3, atol=1e-4
    )


def test_matrices_of_a_stack_do_not_meet():
    x = draw(4, 2, 3, 4, 5).astype(jnp.float32)
    got = orthogonalize(x)
    for i in range(2):
        for j in range(3):
            np.testing.assert_allclose(got[i, j], orthogonalize(x[i, j]), atol=1e-5)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_low_precision_is_computed_in_float32(dtype):
    x = (300 * draw(5, 4, 4)).astype(dtype)  # whose square float16 does not hold
    got = orthogonalize(x)
    assert got.dtype == dtype
    want = orthogonalize(x.astype(jnp.float32))
    np.testing.assert_allclose(got.astype(jnp.float32), want, rtol=0.01, atol=0.01)


def test_a_matrix_of_zeros_stays():
    np.testing.assert_array_equal(orthogonalize(jnp.zeros((2, 3))), 0.0)


def test_a_large_eps_shortens_the_matrix():
    x = jnp.array([[1.0]])
    np.testing.assert_allclose(orthogonalize(x, eps=1.0, steps=0), 0.5)


@pytest.mark.parametrize("steps", [-1, 2.0])
def test_steps_are_counted(steps):
    text = f"^steps must be an int from 0 on; got {steps}$"
    with pytest.raises(ValueError, match=text):
        inspect.unwrap(orthogonalize)(jnp.ones((2, 2)), steps=steps)
    with pytest.raises(ValueError, match=text):
        inspect.unwrap(scale_by_muon)(steps=steps)


def test_a_vector_is_no_matrix():
    with pytest.raises(ValueError, match=r"has two axes, i and o; got shape \(3,\)"):
        inspect.unwrap(orthogonalize)(jnp.ones(3))


@pytest.mark.parametrize("size", [1e-15, 1e25])
def test_the_size_of_a_matrix_is_of_no_account(key, size):
    x = jax.random.normal(key, (3, 5))
    want = orthogonalize(x, eps=0.0)
    np.testing.assert_allclose(orthogonalize(x * size, eps=0.0), want, rtol=1e-4)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_a_matrix_without_entries_is_let_through(shape):
    empty = jnp.zeros(shape)
    updates, _ = muon(0.1).update(empty, muon(0.1).init(empty), empty)
    assert updates.shape == shape


def by_the_paper(w, grads, lr, *, beta=0.95, nesterov=True, decay=0.0):
    """Jordan et al. (2024): momentum, Nesterov, the iteration, the scale of a shape."""
    w, b, weights = np.asarray(w, np.float64), 0.0, []
    for g in np.asarray(grads, np.float64):
        b = beta * b + g
        o = by_singular_values(beta * b + g if nesterov else b)
        w = w - lr * (max(1, w.shape[1] / w.shape[0]) ** 0.5 * o + decay * w)
        weights.append(w)
    return np.array(weights)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (1, 4)])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        dict(nesterov=False),
        dict(weight_decay=0.3, momentum=0.8),
    ],
)
def test_the_uncorrected_form_is_that_of_the_paper(shape, settings):
    w, grads = draw(6, *shape), draw(7, 8, *shape)
    told = {"weight_decay": "decay", "momentum": "beta"}
    paper = {told.get(name, name): value for name, value in settings.items()}
    got = path(muon(0.1, corrected=False, eps=1e-14, **settings), w, grads)
    np.testing.assert_allclose(got, by_the_paper(w, grads, 0.1, **paper), rtol=1e-6)


def by_optax(w, grads, lr, beta, nesterov):
    """With both means divided by what they lack at the start."""
    w, m, weights = np.asarray(w, np.float64), 0.0, []
    for t, g in enumerate(np.asarray(grads, np.float64), 1):
        m = beta * m + (1 - beta) * g
        mixed = beta * m / (1 - beta ** (t + 1)) + (1 - beta) * g / (1 - beta**t)
        o = by_singular_values(mixed if nesterov else m)
        w = w - lr * max(1, w.shape[1] / w.shape[0]) ** 0.5 * o
        weights.append(w)
    return np.array(weights)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize("beta", [0.95, 0.5, 0])
def test_the_corrected_form_is_that_of_its_formula(beta, nesterov):
    w, grads = draw(6, 3, 4), draw(7, 8, 3, 4)
    made = muon(0.1, momentum=beta, nesterov=nesterov, eps=1e-14)
    want = by_optax(w, grads, 0.1, beta, nesterov)
    np.testing.assert_allclose(path(made, w, grads), want, rtol=1e-6)


def test_the_correction_is_felt_with_nesterov_alone_and_fades():
    w, grads = jnp.zeros((3, 3)), draw(8, 200, 3, 3).astype(jnp.float32)

    def gaps(**settings):
        made = [muon(0.1, corrected=on, **settings) for on in (True, False)]
        steps = [jnp.diff(path(each, w, grads), axis=0) for each in made]
        return jnp.abs(steps[0] - steps[1]).max((1, 2))

    assert gaps(nesterov=False).max() < 1e-3
    assert gaps()[:10].max() > 0.01 and gaps()[-50:].max() < 1e-3


def fall(t):
    return 0.1 / (t + 1)


def params():
    return {
        "w_in": draw(9, 4, 3),
        "deep": [draw(10, 2, 6), {"scale": draw(11, 3), "kernel": draw(12, 3, 3)}],
    }


def gradients():
    return jax.tree.map(lambda p: draw(p.size, 6, *p.shape), params())


def on_the_first(params):
    return {"w_in": True, "deep": [False, {"scale": False, "kernel": True}]}


SAME = dict(nesterov=False, corrected=True)  # optax's Adam has a Nesterov of its own
MATCHES = {
    "default": ({}, {}),
    "without nesterov": (dict(nesterov=False), dict(nesterov=False)),
    "another momentum": (dict(momentum=0.7), dict(beta=0.7)),
    "another polynomial": (
        dict(steps=7, coefficients=(2.0, -1.5, 0.5), eps=1e-3),
        dict(ns_steps=7, ns_coeffs=(2.0, -1.5, 0.5), eps=1e-3),
    ),
    "the size of Adam": (dict(consistent_rms=0.2), dict(consistent_rms=0.2)),
    "decay": (dict(weight_decay=0.3), dict(weight_decay=0.3)),
    "decay with a mask": (
        dict(weight_decay=0.3, mask=on_the_first),
        dict(weight_decay=0.3, weight_decay_mask=on_the_first),
    ),
}


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", MATCHES)
@pytest.mark.parametrize("lr", [0.1, fall])
def test_matrices_move_as_in_optax(name, lr):
    ours, theirs = MATCHES[name]
    got = path(muon(lr, **ours), params(), gradients())
    want = path(optax.contrib.muon(lr, **theirs), params(), gradients())
    for get in (
        lambda tree: tree["w_in"],
        lambda tree: tree["deep"][0],
        lambda tree: tree["deep"][1]["kernel"],
    ):
        np.testing.assert_allclose(get(got), get(want), rtol=1e-9)
    if name == "without nesterov":
        scales = (tree["deep"][1]["scale"] for tree in (got, want))
        np.testing.assert_allclose(*scales, rtol=1e-6)


def test_in_float32_too():
    start, grads = jax.tree.map(jnp.float32, (params(), gradients()))
    got = path(muon(0.1, nesterov=False), start, grads)
    want = path(optax.contrib.muon(0.1, nesterov=False), start, grads)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4), got, want
    )


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("rest", [None, sgd(0.2), optax.adamw(0.3)])
def test_the_rest_has_an_optimiser_of_its_own(rest):
    got = path(muon(0.1, rest=rest), params(), gradients())
    alone = adam(0.1) if rest is None else rest
    scale, grads = params()["deep"][1]["scale"], gradients()["deep"][1]["scale"]
    np.testing.assert_allclose(
        got["deep"][1]["scale"], path(alone, scale, grads), rtol=1e-12
    )
    kernel, grads = params()["deep"][1]["kernel"], gradients()["deep"][1]["kernel"]
    np.testing.assert_allclose(
        got["deep"][1]["kernel"], path(muon(0.1), kernel, grads), rtol=1e-12
    )


def layer(seed):
    attention = MultiHeadAttention.init(jax.random.key(seed), 4, 2, biases=True)
    return {"norm": RMSNorm.init(4), "attention": attention}


def layer_gradients(seed):
    return jax.tree.map(lambda p: draw(seed + p.size, 5, *p.shape), layer(seed))


@pytest.mark.usefixtures("float64")
def test_each_layer_of_a_stack_moves_as_if_alone():
    optimizer = muon(0.1, weight_decay=0.1, matrices=matrix_axes)
    alone = [path(optimizer, layer(k), layer_gradients(k)) for k in range(3)]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *map(layer, range(3)))
    grads = jax.tree.map(lambda *x: jnp.stack(x, 1), *map(layer_gradients, range(3)))
    want = jax.tree.map(lambda *x: jnp.stack(x, 1), *alone)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9),
        path(optimizer, stacked, grads),
        want,
    )


@pytest.mark.usefixtures("float64")
def test_the_heads_of_attention_are_one_matrix():
    start, grads = layer(0)["attention"], layer_gradients(0)["attention"]

    def axes(params):
        given = dict.fromkeys("qkv", MuonDimensionNumbers(0, (1, 2)))
        given["o"] = MuonDimensionNumbers((0, 1), 2)
        none = dict.fromkeys(("b_q", "b_k", "b_v", "b_o"))
        return {"w_" + name: spec for name, spec in given.items()} | none

    def as_dict(module):
        return {name: getattr(module, name) for name in axes(None)}

    theirs = optax.contrib.muon(0.1, muon_weight_dimension_numbers=axes)
    want = path(theirs, as_dict(start), as_dict(grads))
    got = path(muon(0.1, matrices=matrix_axes), start, grads)
    for name in ("w_q", "w_k", "w_v", "w_o"):
        np.testing.assert_allclose(getattr(got, name), want[name], rtol=1e-9)


@pytest.mark.usefixtures("float64")
def test_it_stands_in_a_chain_of_ours_or_of_optax():
    clip = clip_by_global_norm(1.0)
    want = path(optax.chain(clip, optax.contrib.muon(0.1)), params(), gradients())
    for link in chain, optax.chain:
        got = path(link(clip, muon(0.1)), params(), gradients())
        np.testing.assert_allclose(got["w_in"], want["w_in"], rtol=1e-9)
    parts = chain(scale_by_muon(momentum=0.8), scale_by_rate(0.1))
    w, grads = draw(13, 3, 4), draw(14, 5, 3, 4)
    np.testing.assert_allclose(
        path(parts, w, grads), path(muon(0.1, momentum=0.8), w, grads), rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_low_precision_weights_keep_their_dtype_and_a_mean_in_float32(dtype):
    w, g = draw(15, 3, 4).astype(dtype), draw(16, 4, 3, 4).astype(dtype)
    optimizer = muon(0.1, weight_decay=0.1)
    state = optimizer.init(w)
    floats = [s.dtype for s in jax.tree.leaves(state) if s.dtype != jnp.int32]
    assert set(floats) == {jnp.dtype(jnp.float32)}
    got = path(optimizer, w, g)
    assert got.dtype == dtype
    want = path(optimizer, w.astype(jnp.float32), g.astype(jnp.float32))
    np.testing.assert_allclose(got.astype(jnp.float32), want, rtol=0.03, atol=0.03)


@pytest.mark.usefixtures("float64")
def test_every_setting_may_be_moved_by_a_slider():
    names = "weight_decay", "momentum", "eps", "consistent_rms"
    w, grads = draw(17, 3, 4), draw(18, 5, 3, 4)

    @jax.jit
    def traced(lr, coefficients, *values):
        settings = dict(zip(names, values, strict=True), coefficients=coefficients)
        return path(muon(lr, **settings), w, grads)

    values = (0.1, (3.0, -3.5, 1.3), 0.2, 0.9, 0.1, 0.3)
    lr, coefficients, *rest = values
    plain = muon(lr, coefficients=coefficients, **dict(zip(names, rest, strict=True)))
    got = traced(*jax.tree.map(jnp.float64, values))
    np.testing.assert_allclose(got, path(plain, w, grads), rtol=1e-9)


@pytest.mark.usefixtures("float64")
def test_gradients_pass_through_training():
    def end(w, grads, lr, decay, momentum):
        return path(muon(lr, weight_decay=decay, momentum=momentum), w, grads)[-1]

    settings = draw(19, 2, 3), draw(20, 3, 2, 3), 0.1, 0.2, 0.9
    check_grads(jax.jit(end), settings, order=1, modes="rev", rtol=1e-3)


@pytest.mark.parametrize("momentum", [1.0, -0.1, np.float32(1), jnp.array(2.0)])
def test_a_mean_that_never_settles_is_refused(momentum):
    text = rf"^momentum must lie in \[0, 1\); got {momentum}$"
    for make in scale_by_muon, lambda **settings: muon(0.1, **settings):
        with pytest.raises(ValueError, match=text):
            make(momentum=momentum)


@pytest.mark.parametrize(
    "params, named",
    [
        ({"w": jnp.ones((2, 2)), "b": jnp.ones(2)}, "['b'] of shape (2,)"),
        (jnp.ones((2, 3, 4)), "the update of shape (2, 3, 4)"),
    ],
)
def test_what_is_no_matrix_needs_another_optimiser(params, named):
    transform = scale_by_muon()
    text = f"Muon moves matrices; {named} is none and needs another optimiser"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        transform.update(params, transform.init(params))


def test_decay_needs_the_parameters():
    optimizer, w = muon(0.1), jnp.ones((2, 2))
    text = r"^weight decay needs params: update\(grads, state, params\)$"
    with pytest.raises(ValueError, match=text):
        optimizer.update(w, optimizer.init(w))


def test_a_tree_without_matrices_is_left_to_the_rest():
    w, grads = draw(21, 3), draw(22, 4, 3)
    rest = adamw_lr(0.1, weight_decay=0.2)
    got = path(muon(0.5, rest=rest), w, grads)
    np.testing.assert_allclose(got, path(rest, w, grads), rtol=1e-6)
