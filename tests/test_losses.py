import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.test_util import check_grads

from blocks import cross_entropy, mse


def by_the_formula(logits, targets, mask=None):
    """The mean of -log softmax at the targets, one at a time in float64."""
    logits, targets, surprises = np.asarray(logits, np.float64), np.array(targets), []
    mask = None if mask is None else np.array(mask)
    for at in np.ndindex(*targets.shape):
        if mask is None or mask[at]:
            p = np.exp(logits[at]) / np.exp(logits[at]).sum()
            surprises.append(-np.log(p[targets[at]]))
    return np.mean(surprises) if surprises else 0.0


def drawn(key, shape=(3, 4), size=5):
    ks = jax.random.split(key, 3)
    logits = 2 * jax.random.normal(ks[0], (*shape, size))
    targets = jax.random.randint(ks[1], shape, 0, size)
    return logits, targets, jax.random.bernoulli(ks[2], 0.5, shape).at[0].set(True)


@pytest.mark.parametrize("shape", [(), (4,), (3, 4)])
def test_cross_entropy_matches_its_formula(key, shape):
    logits, targets, _ = drawn(key, (1, *shape))
    logits, targets = logits[0], targets[0]
    want = by_the_formula(logits, targets)
    np.testing.assert_allclose(cross_entropy(logits, targets), want, rtol=1e-6)


def test_a_masked_mean_counts_what_the_mask_shows(key):
    logits, targets, mask = drawn(key)
    want = by_the_formula(logits, targets, mask)
    got = cross_entropy(logits, targets, mask=mask)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_cross_entropy_matches_optax(key):
    logits, targets, mask = drawn(key)
    each = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    np.testing.assert_allclose(cross_entropy(logits, targets), each.mean(), rtol=1e-6)
    got = cross_entropy(logits, targets, mask=mask)
    np.testing.assert_allclose(got, each.mean(where=mask), rtol=1e-6)


def test_padding_does_not_dilute_the_mean():
    targets = jnp.array([[1, 2, 3, 0], [0, 0, 0, 0]])
    for width in 0, 9:
        wide = jnp.pad(targets, ((0, 0), (0, width)))
        loss = cross_entropy(jnp.zeros((*wide.shape, 5)), wide, mask=wide != 0)
        np.testing.assert_allclose(loss, np.log(5), rtol=1e-6)


def test_with_nothing_but_padding_the_loss_and_its_gradient_are_zero(key):
    logits, targets, _ = drawn(key)
    nothing = jnp.zeros(targets.shape, bool)
    loss, grad = jax.value_and_grad(cross_entropy)(logits, targets, mask=nothing)
    assert loss == 0 and not grad.any()


def test_over_an_empty_batch_the_loss_is_zero():
    logits, targets = jnp.zeros((0, 5)), jnp.zeros(0, int)
    assert cross_entropy(logits, targets) == 0
    assert cross_entropy(logits, targets, mask=targets == 0) == 0


@pytest.mark.parametrize("hidden", [jnp.nan, jnp.inf, -jnp.inf])
@pytest.mark.parametrize("shown", [0, 1])
def test_hidden_logits_may_be_anything(key, hidden, shown):
    logits, targets, mask = drawn(key)
    mask = mask & (shown == 1)
    spoiled = jnp.where(mask[..., None], logits, hidden)
    by_logits = jax.value_and_grad(cross_entropy)
    got, grad = by_logits(spoiled, targets, mask=mask)
    want, want_grad = by_logits(logits, targets, mask=mask)
    assert got == want
    np.testing.assert_array_equal(grad, want_grad)


def test_what_the_mask_hides_has_no_gradient(key):
    logits, targets, mask = drawn(key)
    hidden = jnp.where(mask, targets, -100)
    loss, grad = jax.value_and_grad(cross_entropy)(logits, hidden, mask=mask)
    np.testing.assert_allclose(loss, cross_entropy(logits, targets, mask=mask))
    assert not grad[~mask].any() and jnp.isfinite(grad).all()


def test_targets_stand_where_the_logits_do():
    text = jnp.array([[1, 2, 3, 4, 5], [7, 8, 9, 7, 1]])
    targets = text[:, 1:4]
    for shift in range(3):
        oracle = 20 * jax.nn.one_hot(text[:, shift : shift + 3], 10)
        loss = cross_entropy(oracle, targets)
        assert loss < 1e-3 if shift == 1 else loss > 10


def test_a_constant_added_to_all_logits_changes_nothing(key):
    logits, targets, _ = drawn(key)
    want = cross_entropy(logits, targets)
    for constant in -1e4, 1e4:
        np.testing.assert_allclose(
            cross_entropy(logits + constant, targets), want, rtol=1e-3
        )


@pytest.mark.parametrize("wrong", [-1, 5, 100])
@pytest.mark.parametrize("loss", [cross_entropy, jax.jit(cross_entropy)])
def test_a_target_outside_the_vocabulary_gives_nan(key, loss, wrong):
    logits, targets, _ = drawn(key)
    assert jnp.isnan(loss(logits, targets.at[1, 2].set(wrong)))


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4)])
def test_mse_matches_its_formula(key, shape):
    a, b = np.array(jax.random.normal(key, (2, *shape)))
    errors = [(float(a[at]) - float(b[at])) ** 2 for at in np.ndindex(*shape)]
    got = mse(jnp.asarray(a), jnp.asarray(b))
    np.testing.assert_allclose(got, np.mean(errors), rtol=1e-6)


def test_mse_matches_optax(key):
    a, b = jax.random.normal(key, (2, 3, 4))
    np.testing.assert_allclose(mse(a, b), 2 * optax.l2_loss(a, b).mean(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_losses_are_taken_in_float32(key, dtype):
    logits, targets, mask = drawn(key)
    low = (30 * logits).astype(dtype)
    wide = low.astype(jnp.float32)
    for got, want in [
        (cross_entropy(low, targets), cross_entropy(wide, targets)),
        (
            cross_entropy(low, targets, mask=mask),
            cross_entropy(wide, targets, mask=mask),
        ),
        (mse(10 * low, -10 * low), mse(10 * low.astype(jnp.float32), -10 * wide)),
    ]:
        assert got.dtype == jnp.float32 and jnp.isfinite(got)
        np.testing.assert_allclose(got, want, rtol=2e-2)


@pytest.mark.usefixtures("float64")
def test_gradients_of_the_losses():
    key = jax.random.key(0)
    logits, targets, mask = drawn(key)
    logits = logits.astype(jnp.float64)

    def masked(logits):
        return cross_entropy(logits, targets, mask=mask)

    check_grads(jax.jit(masked), (logits,), order=2)
    check_grads(jax.jit(mse), (logits, 2 * logits), order=1)


def test_mse_compares_arrays_of_one_shape():
    text = r"^mse compares arrays of one shape; got \(3, 1\) and \(3,\)$"
    with pytest.raises(ValueError, match=text):
        # The shape checks of these tests would refuse before the function can.
        inspect.unwrap(mse)(jnp.ones((3, 1)), jnp.ones(3))


@pytest.mark.parametrize("mask", [jnp.ones((2, 1, 1, 3), bool), jnp.ones((2, 3))])
def test_a_mask_that_would_broadcast_or_is_not_boolean_is_refused(mask):
    logits, targets = jnp.zeros((2, 3, 5)), jnp.zeros((2, 3), int)
    with pytest.raises(ValueError, match=r"axis, \(2, 3\); got \(2, 3\) and \(2"):
        inspect.unwrap(cross_entropy)(logits, targets, mask=mask)


def test_targets_that_would_broadcast_are_refused():
    with pytest.raises(ValueError, match=r"got \(1, 3\) and no mask"):
        inspect.unwrap(cross_entropy)(jnp.zeros((2, 3, 5)), jnp.zeros((1, 3), int))
