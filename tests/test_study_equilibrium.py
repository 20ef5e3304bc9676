"""The size at which decay and noise hold a weight: formulas against the optimisers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from blocks import adam_l2, adamw, adamw_lr, sgd_l2, sgdw
from blocks.studies import decay
from blocks.studies import equilibrium as rest

EQUILIBRIA = {
    "SGD + L2": (sgd_l2, rest.sgd_l2_rms, dict(momentum=0.0), 0.1, 0.5),
    "SGD + L2, momentum": (sgd_l2, rest.sgd_l2_rms, dict(momentum=0.9), 0.1, 9.0),
    "SGDW, momentum": (sgdw, rest.sgdw_rms, dict(momentum=0.9), 0.1, 0.2),
    "Adam + L2": (adam_l2, rest.adam_l2_rms, {}, 0.1, 0.1),
    "AdamW": (adamw, rest.adamw_rms, dict(b1=0.9), 0.01, 0.09),
    "AdamW, half": (adamw, rest.adamw_rms, dict(b1=0.5), 0.01, 0.5),
    "AdamW, library": (adamw_lr, rest.adamw_lr_rms, dict(b1=0.5), 0.01, 2.0),
}


@pytest.mark.parametrize("name", EQUILIBRIA)
def test_an_equilibrium_is_that_of_the_optimiser_under_noise(name, key):
    make, formula, settings, lr, wd = EQUILIBRIA[name]
    expected = formula(lr, wd, **settings)
    w = 2 * expected * jax.random.normal(key, (1024,))  # it has some way to go
    found = rest.sizes(make(lr, weight_decay=wd, **settings), key, w, steps=5000)
    assert jnp.mean(found[-800:]) / expected == pytest.approx(1, abs=0.015)


def test_the_equilibrium_under_adam_and_l2_takes_a_share_by_both_powers():
    def log_share(log_rate, log_decay):
        lr, wd = jnp.exp(log_rate), jnp.exp(log_decay)
        return jnp.log(lr * wd * rest.adam_l2_rms(lr, wd))

    by_rate, by_decay = jax.grad(log_share, argnums=(0, 1))(-3.0, -2.0)
    np.testing.assert_allclose([by_rate, by_decay], [4 / 3, 2 / 3], rtol=1e-5)
    predicted = decay.PREDICTED["normalised"]["adam_l2"]
    assert -by_rate / by_decay == pytest.approx(predicted, abs=1e-5)


def test_without_momentum_both_forms_of_sgd_rest_at_the_same_size():
    lr, wd = 0.1, 3.0
    paper, coupled = rest.sgdw_rms(lr, lr * wd), rest.sgd_l2_rms(lr, wd)
    np.testing.assert_allclose(paper, coupled, rtol=1e-6)


def test_the_forms_are_close_to_one_root_each_where_decay_is_weak():
    lr, wd, slow = 0.01, 1e-4, 1 - 0.9
    found = [
        rest.sgd_l2_rms(lr, wd, momentum=0.9) / (lr / slow / 2 / wd) ** 0.25,
        rest.sgdw_rms(lr, wd, momentum=0.9) / ((lr / slow) ** 2 / 2 / wd) ** 0.25,
        rest.adamw_rms(lr, wd) / (lr / (2 * wd) ** 0.5),
        rest.adamw_lr_rms(lr, wd) / (lr / 2 / wd) ** 0.5,
    ]
    np.testing.assert_allclose(found, 1, atol=1e-3)


@pytest.mark.parametrize("name", EQUILIBRIA)
@pytest.mark.parametrize("decay", [0.0, -0.1, 500.0])
def test_without_a_rest_there_is_no_size(name, decay):
    _, formula, settings, lr, _ = EQUILIBRIA[name]
    if decay == 500.0 and name == "Adam + L2":
        return  # which divides the decay by what it is part of
    found = formula(lr, decay, **settings)
    assert found.dtype == jnp.zeros(()).dtype and jnp.isnan(found)
