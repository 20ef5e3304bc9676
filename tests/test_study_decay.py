"""The study of decay: its data, its engine, and what is stored of it."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from blocks.page import results
from blocks.studies import decay, digits, surfaces
from scripts import study_decay

# Compiled as wholes, for many small operations take longer to compile than one program.
mislabel, answers = jax.jit(digits.mislabel), jax.jit(decay.logits)
draw = jax.jit(digits.draw, static_argnums=3)
begin = jax.jit(decay.begin, static_argnums=(1, 3))
shift, common_cost = jax.jit(surfaces.shift), jax.jit(surfaces.common_cost)

SMALL = decay.Network((64, 10), normalised=False, images=40, batch=8, updates=10)


@pytest.fixture(scope="module")
def numbered():
    """1,100 images; the first pixel of each says which it is."""
    rng = np.random.default_rng(0)
    images = rng.normal(size=(1100, 64)).astype(np.float32)
    images[:, 0] = np.arange(1100) / 1100
    return jnp.asarray(images), jnp.asarray(rng.integers(0, 10, 1100), jnp.int32)


@pytest.fixture(scope="module")
def begun(key, numbered):
    """Model, data and the rows of two points of SMALL."""
    return begin(key, SMALL, numbered, 2)


def test_exactly_forty_percent_are_wrong_and_none_of_them_right_by_chance(key):
    labels = jnp.arange(4000) % 10
    noisy = mislabel(key, labels)
    assert jnp.sum(noisy != labels) == 1600
    shifts = np.bincount((noisy - labels)[noisy != labels] % 10, minlength=10)
    assert shifts[0] == 0
    # Nine ways, 1600 / 9 each on average: seven deviations are 88.
    assert np.all(abs(shifts[1:] - 1600 / 9) < 88)
    assert jnp.sum(mislabel(key, labels[:205]) != labels[:205]) == 82


def test_what_is_tested_on_is_not_trained_on_and_has_its_own_label(key, numbered):
    images, labels = numbered
    data = draw(key, images, labels, 100)
    train, test = (
        np.rint(1100 * x[:, 0]).astype(int) for x in (data.images, data.test_images)
    )
    assert len(test) == 1000 and len({*train, *test}) == 1100
    assert jnp.array_equal(data.test_labels, labels[test])
    assert jnp.sum(data.labels != labels[train]) == 40


def test_too_few_images_are_refused(key, numbered):
    with pytest.raises(ValueError, match=r"101 \+ 1000 images.*there are 1100"):
        digits.draw(key, *numbered, 101)


def test_the_digits_are_centred_and_of_unit_deviation():
    pytest.importorskip("sklearn")
    images, labels = digits.load_digits()
    assert images.shape == (1797, 64) and set(labels.tolist()) == set(range(10))
    assert abs(images.mean(axis=0)).max() < 1e-5
    assert images.std() == pytest.approx(1, abs=1e-5)


def eta(t):
    return (1 + np.cos(np.pi * t / SMALL.updates)) / 2


def adam(state, g, t):
    state["m"] = 0.9 * state.get("m", 0) + 0.1 * g
    state["v"] = 0.999 * state.get("v", 0) + 0.001 * g**2
    m, v = state["m"] / (1 - 0.9**t), state["v"] / (1 - 0.999**t)
    return m / (np.sqrt(v) + 1e-8)


def momentum(state, step):
    state["m"] = 0.9 * state.get("m", 0) + step
    return state["m"]


# One update in the words of the paper: what is taken from w, t from 1.
LOOPS = {
    "sgd_l2": lambda s, w, g, t, lr, wd: momentum(s, eta(t - 1) * lr * (g + wd * w)),
    "sgdw": lambda s, w, g, t, lr, wd: (
        momentum(s, eta(t - 1) * lr * g) + eta(t - 1) * wd * w
    ),
    "adam_l2": lambda s, w, g, t, lr, wd: eta(t - 1) * lr * adam(s, g + wd * w, t),
    "adamw": lambda s, w, g, t, lr, wd: eta(t - 1) * (lr * adam(s, g, t) + wd * w),
    "adamw_lr": lambda s, w, g, t, lr, wd: eta(t - 1) * lr * (adam(s, g, t) + wd * w),
}


@pytest.mark.parametrize("form", decay.FORMS)
def test_a_cell_is_a_plain_loop_of_the_papers_updates(form, key, numbered, begun):
    rates, decays = jnp.array([0.005, 0.02, 0.1]), jnp.array([0.03, 0.3, 0.6])
    curves = decay.grid(key, form, SMALL, numbered, rates, decays, points=10)
    model, data, rows = begun
    for r, d in np.ndindex(3, 3):
        w, b, states = np.array(model.weights[0], float), np.zeros(10), ({}, {})
        lr, wd, loss, error = float(rates[r]), float(decays[d]), [], []
        for t, chosen in enumerate(rows.reshape(10, 8), start=1):
            x, y = np.array(data.images[chosen]), np.array(data.labels[chosen])
            z = np.exp(x @ w + b)
            p = z / z.sum(axis=1, keepdims=True)
            loss.append(-np.log(p[range(8), y]).mean())
            p[range(8), y] -= 1
            pairs = zip((w, b), (x.T @ p / 8, p.mean(axis=0)), states, strict=True)
            w, b = (u - LOOPS[form](s, u, g, t, lr, wd) for u, g, s in pairs)
            digit = (np.array(data.test_images) @ w + b).argmax(axis=1)
            error.append(np.mean(digit != data.test_labels))
        np.testing.assert_allclose(curves.loss[r, d], loss, rtol=2e-4)
        np.testing.assert_allclose(curves.error[r, d], error, atol=0.004)


def test_a_point_of_a_curve_is_the_mean_loss_since_the_last(key, numbered):
    rates, decays = jnp.array([0.01, 0.02, 0.03]), jnp.array([0.1, 0.3, 0.5])
    few, many = (
        decay.grid(key, "sgdw", SMALL, numbered, rates, decays, points=points)
        for points in (2, 10)
    )
    means = many.loss.reshape(3, 3, 2, 5).mean(axis=-1)
    np.testing.assert_allclose(few.loss, means, rtol=1e-5)
    np.testing.assert_allclose(few.error, many.error[..., 4::5], atol=0.002)


def test_no_answer_of_the_normalised_network_depends_on_the_scale_of_a_matrix(key):
    keys, sizes = jax.random.split(key, 4), ((64, 20), (20, 20), (20, 10))
    model = tuple(map(jax.random.normal, keys, sizes))
    x = jax.random.normal(keys[3], (30, 64))
    before = answers(model, x)
    np.testing.assert_allclose(np.mean(before**2, axis=1), 9, rtol=1e-5)
    for scales in (1e-4, 1.0, 1.0), (1.0, 1e3, 1.0), (1.0, 1.0, 1e-6):
        scaled = tuple(c * w for c, w in zip(scales, model, strict=True))
        np.testing.assert_allclose(answers(scaled, x), before, atol=1e-4)


def test_the_networks_begin_with_or_without_what_is_not_scale_invariant(key):
    fake = jnp.zeros((1400, 64)), jnp.zeros(1400, jnp.int32)
    shapes = {}
    for name, network in decay.NETWORKS.items():
        model, _, rows = jax.eval_shape(
            lambda key, n=network: decay.begin(key, n, fake, 10), key
        )
        shapes[name] = [leaf.shape for leaf in jax.tree.leaves(model)]
        assert rows.shape == (10, 40, network.batch)
    assert shapes["normalised"] == [(64, 64), (64, 64), (64, 10)]
    assert sorted(shapes["plain"]) == [(10,), (64,), (64, 10), (64, 64)]


def test_every_epoch_shows_every_image_once(begun):
    _, _, rows = begun
    assert rows.shape == (2, 5, 8)
    epochs = np.sort(rows.reshape(2, 40))
    assert np.array_equal(epochs, [np.arange(40)] * 2)
    assert not np.array_equal(rows.ravel()[:40], rows.ravel()[40:])


def test_what_does_not_fit_is_said(key, numbered):
    with pytest.raises(ValueError, match="10 updates need to divide into 3 parts"):
        decay.begin(key, SMALL, numbered, 3)
    with pytest.raises(ValueError, match="one of sgd_l2, sgdw.*got 'lion'"):
        decay.axes("lion")
    with pytest.raises(ValueError, match="one of sgd_l2, sgdw.*got 'lion'"):
        decay.grid(key, "lion", SMALL, numbered, jnp.ones(1), jnp.ones(1))


@pytest.fixture
def small_study(monkeypatch, numbered):
    monkeypatch.setattr(digits, "load_digits", lambda: numbered)
    return study_decay.one_grid("adamw", SMALL, cells=3, seeds=2)


def test_what_is_stored_can_be_read_back_and_measured_anew(small_study, numbered):
    text = study_decay.as_text({"a": {"b": small_study}, "n": 1})
    assert study_decay.as_text(json.loads(text)) == text
    assert json.loads(text)["a"]["b"]["mistakes"] == small_study["mistakes"]
    rates, decays = decay.axes("adamw", 3)
    np.testing.assert_allclose(small_study["log10_rates"], np.log10(rates), atol=1e-4)
    np.testing.assert_allclose(small_study["log10_decays"], np.log10(decays), atol=1e-4)
    run = decay.grid(
        jax.random.key(1), "adamw", SMALL, numbered, rates, decays, points=10
    )
    mistakes = np.array(small_study["mistakes"])
    np.testing.assert_allclose(mistakes[1], 1000 * run.error[..., -1], atol=4)
    last = np.array(small_study["error"])[..., -1]
    np.testing.assert_allclose(last, mistakes.mean(axis=0) / 10, atol=0.51)


def test_numbers_that_are_too_large_or_none_are_stored_as_the_limit():
    values = np.array([0.123, 12.0, np.inf], np.float32)
    assert study_decay.whole(values, 100, 999) == [12, 999, 999]
    assert study_decay.whole(values[:2], 100) == [12, 1200]


PAIRS = [(name, form) for name in decay.NETWORKS for form in decay.FORMS]


def stored(name, form):
    found = results("decay")["grids"][name][form]
    return found, jnp.array(found["mistakes"]) / digits.TESTED, decay.axes(form)


@pytest.mark.parametrize("name, form", PAIRS)
def test_a_stored_shift_is_near_its_prediction_and_can_be_measured_anew(name, form):
    found, errors, (rates, decays) = stored(name, form)
    assert errors.shape == (6, 18, 18)
    np.testing.assert_allclose(found["log10_rates"], jnp.log10(rates), atol=1e-4)
    np.testing.assert_allclose(found["log10_decays"], jnp.log10(decays), atol=1e-4)
    mean = errors.mean(axis=0)
    again = float(shift(mean, rates, decays))
    assert found["shift"] == pytest.approx(again, abs=2e-3)
    assert found["low"] <= found["shift"] <= found["high"]
    assert abs(found["shift"] - decay.PREDICTED[name][form]) < 0.25
    assert found["usable_rows"] == int(surfaces.usable_rows(mean).sum()) >= 9
    cost = float(common_cost(mean))
    assert found["cost"] == pytest.approx(cost, abs=2e-3)
    last = np.array(found["error"])[..., -1]
    np.testing.assert_allclose(last, 100 * mean, atol=0.51)
    assert np.shape(found["loss"]) == np.shape(found["error"]) == (18, 18, 10)


def test_the_stored_picture_reverses_from_one_network_to_the_other():
    cost = {pair: stored(*pair)[0]["cost"] for pair in PAIRS}
    for paper, coupled in ("sgdw", "sgd_l2"), ("adamw", "adam_l2"):
        assert 5 * cost["normalised", paper] < cost["normalised", coupled]
        assert 5 * cost["plain", coupled] < cost["plain", paper]


def test_some_cells_trained_anew_agree_with_those_stored():
    pytest.importorskip("sklearn")
    _, errors, (rates, decays) = stored("plain", "adamw")
    network, data = decay.NETWORKS["plain"], digits.load_digits()
    again = decay.grid(
        jax.random.key(0), "adamw", network, data, rates[3::4], decays[3::5], points=1
    )
    difference = abs(again.error[..., -1] - errors[0, 3::4, 3::5])
    assert difference.mean() < 0.03


def test_what_is_stored_is_small_and_says_how_it_was_made():
    file = Path(study_decay.ROOT) / "results" / "decay.json"
    assert file.stat().st_size < 330_000
    found = results("decay")
    assert found["command"] == "make study-decay" and found["seeds"] == 6
    assert {"Python", "jax", "jaxlib", "scikit-learn"} == set(found["versions"])
    assert found["updates"][-1] == decay.NETWORKS["plain"].updates
