import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from blocks import (
    MLP,
    adam,
    adamw,
    apply_updates,
    cross_entropy,
    fit,
    mse,
    sgd,
    warmup_cosine,
)


def loss(model, batch):
    x, y = batch
    return mse(model(x), y)


def problem():
    """A model and ten rows of data."""
    generator = np.random.default_rng(0)
    x, y = (jnp.float32(generator.normal(size=(10, n))) for n in (4, 2))
    return MLP.init(jax.random.key(0), [4, 8, 2]), (x, y)


def train(model, data, fit=fit, **settings):
    told = dict(loss=loss, optimizer=adam(0.01), key=jax.random.key(3))
    return fit(model, data, **(told | dict(epochs=3, batch_size=4) | settings))


def unchecked(*data, **settings):
    """`train` where the annotations of `fit` are not checked."""
    return train(*data, fit=inspect.unwrap(fit), **settings)


def line_by_line(model, data, optimizer, key, epochs, batch_size):
    """What `fit` promises, without a scan, a compiler or a carry."""
    state, means, rows = optimizer.init(model), [], len(data[0])
    for _ in range(epochs):
        key, sub = jax.random.split(key)
        order, total = np.asarray(jax.random.permutation(sub, rows)), 0.0
        for start in range(0, rows, batch_size):
            chosen = order[start : start + batch_size]
            batch = [np.asarray(part)[chosen] for part in data]
            batch = jax.tree.map(jnp.asarray, batch)
            value, grads = jax.value_and_grad(loss)(model, batch)
            updates, state = optimizer.update(grads, state, model)
            model = apply_updates(model, updates)
            total += float(value) * len(chosen)
        means.append(total / rows)
    return model, np.array(means)


def assert_same(got, want, **tolerance):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, **tolerance)


@pytest.mark.usefixtures("pinned_random")
def test_the_five_losses_of_the_book():
    model = MLP.init(jax.random.key(0), [4, 8, 2])
    x = jax.random.normal(jax.random.key(1), (32, 4))
    y = jax.random.normal(jax.random.key(2), (32, 2))
    _, losses = fit(
        model,
        (x, y),
        loss=loss,
        optimizer=adamw(0.01, weight_decay=0.1),
        key=jax.random.key(0),
        epochs=5,
        batch_size=8,
    )
    printed = [round(float(value), 4) for value in losses]
    assert printed == [4.961, 1.4344, 1.0681, 1.0447, 1.0493]


OPTIMIZERS = [
    sgd(0.05, momentum=0.9),
    adamw(0.02, weight_decay=0.01),
    optax.adamw(0.02),
    optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.05)),
]


@pytest.mark.parametrize(
    "optimizer, batch_size",
    [(OPTIMIZERS[0], 4), (OPTIMIZERS[1], 5), (OPTIMIZERS[2], 4), (OPTIMIZERS[3], 10)],
)
def test_every_row_is_seen_once_an_epoch(optimizer, batch_size):
    model, data = problem()
    key = jax.random.key(3)
    got = train(model, data, optimizer=optimizer, batch_size=batch_size)
    assert_same(
        got, line_by_line(model, data, optimizer, key, 3, batch_size), rtol=1e-4
    )


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_more_epochs_compile_nothing_more(optimizer):
    calls, after = [], []

    def counted(model, batch):
        calls.append(None)
        return loss(model, batch)

    train(
        *problem(),
        loss=counted,
        optimizer=optimizer,
        report=lambda *_: after.append(len(calls)),
    )
    assert len(after) == 3 and after[0] == after[-1] <= 4


def test_a_report_follows_each_epoch():
    seen = []
    _, losses = train(*problem(), report=lambda *told: seen.append(told))
    assert [number for number, _ in seen] == [1, 2, 3]
    assert all(type(value) is float for _, value in seen)
    np.testing.assert_allclose([value for _, value in seen], losses, rtol=1e-6)


def test_a_loss_is_taken_before_its_update():
    model, data = problem()
    _, losses = train(model, data, epochs=1, batch_size=10)
    np.testing.assert_allclose(losses, loss(model, data)[None], rtol=1e-5)


def test_data_is_any_tree_of_arrays_of_jax_or_numpy():
    model, (x, y) = problem()
    want = train(model, (x, y))

    def by_name(model, batch):
        return loss(model, (batch["x"], batch["deep"]["y"]))

    named = {"x": x, "deep": {"y": np.asarray(y)}}
    assert_same(train(model, named, loss=by_name), want, rtol=1e-5)
    # Warnings are errors in these tests, that about a wide dtype too.
    wide = [np.asarray(x, np.float64), np.asarray(y, np.float64)]
    assert_same(train(model, wide), want, rtol=1e-5)


def test_training_makes_the_loss_smaller():
    model, data = problem()
    _, losses = train(model, data, epochs=200, optimizer=adam(0.02))
    assert losses.shape == (200,) and losses[-1] < 0.3 * losses[0]


def test_another_key_brings_another_order():
    one, other = (train(*problem(), key=jax.random.key(k))[1] for k in (3, 4))
    assert not np.allclose(one, other, rtol=1e-4)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_a_model_in_low_precision_stays_so(dtype):
    model, data = jax.tree.map(lambda array: array.astype(dtype), problem())
    trained, losses = train(model, data)
    assert {leaf.dtype for leaf in jax.tree.leaves(trained)} == {jnp.dtype(dtype)}
    assert losses.dtype == jnp.float32 and jnp.isfinite(losses).all()


PROGRAM = """
import jax, jax.numpy as jnp
from blocks import MLP, adam, fit, mse
key = jax.random.key(0)
data = {name: jax.random.normal(key, (6, 2)) for name in ("x", "y")}
settings = dict(optimizer=adam(0.1), key=key, epochs=2, batch_size=4)
model, losses = fit(
    MLP.init(key, [2, 3, 2]), data, loss=lambda m, b: mse(m(b["x"]), b["y"]), **settings
)
numbers = [*map(float, losses), *model.weights[0].ravel().tolist()]
"""


def test_the_result_is_the_same_again_and_in_another_process():
    here = {}
    with jax.default_device(jax.devices("cpu")[0]):
        exec(PROGRAM, here)
    told = {name: value for name, value in os.environ.items() if "JAX" in name}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM + "print(*numbers)"],
        cwd=Path(__file__).parents[1],
        # Another seed than this process has, whichever it was given.
        env=told | {"PYTHONHASHSEED": "12345", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(here["numbers"]) == 8
    there = np.array(ran.stdout.split(), float)
    np.testing.assert_allclose(there, here["numbers"], rtol=1e-5)


def test_all_arrays_of_the_data_have_as_many_rows():
    model, (x, y) = problem()
    text = r"^all arrays of the data need as many rows; got \[9, 10\]$"
    with pytest.raises(ValueError, match=text):
        train(model, (x, y[:9]))


@pytest.mark.parametrize("leaf", [1.0, np.float64(1), jnp.array(1.0)])
def test_what_has_no_rows_is_no_data(leaf):
    model, (x, _) = problem()
    text = "^the data must be arrays with one example a row; got .* of type .*"
    with pytest.raises(ValueError, match=text + re.escape(type(leaf).__name__)):
        train(model, (x, leaf))


def test_lists_of_numbers_are_no_arrays():
    text = "^the data must be arrays with one example a row; got 1.5 of type float$"
    with pytest.raises(ValueError, match=text):
        train(problem()[0], ([1.5, 2.0], [0.0, 1.0]))


@pytest.mark.parametrize("batch_size", [0, -2, 11, 4.0, 2.5])
def test_a_batch_holds_some_of_the_rows(batch_size):
    text = f"^a batch holds a whole number of rows from 1 to 10; got {batch_size}$"
    with pytest.raises(ValueError, match=text):
        unchecked(*problem(), batch_size=batch_size)


@pytest.mark.parametrize("epochs", [-1, 2.0])
def test_epochs_are_counted_from_zero(epochs):
    text = f"^epochs must be a whole number from 0 on; got {epochs}$"
    with pytest.raises(ValueError, match=text):
        unchecked(*problem(), epochs=epochs)


def test_without_an_epoch_the_model_stays_as_it_was():
    model, data = problem()
    trained, losses = train(model, data, epochs=0)
    assert_same(trained, model)
    assert losses.shape == (0,)


def sentences(rows=11, dtype=jnp.float32):
    """A model of tokens, and rows of which each has more of them than the last."""
    generator = np.random.default_rng(1)
    x = jnp.asarray(generator.normal(size=(rows, 6, 4)), dtype)
    targets = jnp.asarray(generator.integers(3, size=(rows, 6)))
    mask = jnp.arange(6) < jnp.arange(rows)[:, None] % 7
    model = MLP.init(jax.random.key(0), [4, 8, 3])
    return jax.tree.map(lambda w: w.astype(dtype), model), (x, targets, mask)


def by_tokens(model, batch):
    x, targets, mask = batch
    return cross_entropy(model(x), targets, mask=mask), mask.sum()


def by_rows(model, batch):
    return by_tokens(model, batch)[0]


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    "batch_size, accumulate, optimizer",
    [(11, 11, sgd(0.5, momentum=0.9)), (6, 2, adam(0.05)), (8, 4, sgd(0.5))],
)
def test_parts_of_unequal_numbers_of_tokens_are_one_big_batch(
    batch_size, accumulate, optimizer
):
    """Also where the last batch is smaller, and its last part smaller still."""
    one, parts = (
        train(
            *sentences(dtype=jnp.float64),
            loss=by_tokens,
            optimizer=optimizer,
            batch_size=batch_size,
            accumulate=n,
        )
        for n in (1, accumulate)
    )
    assert_same(parts, one, rtol=1e-12)


def test_a_loss_that_keeps_its_tokens_to_itself_weighs_rows():
    settings = dict(loss=by_rows, optimizer=sgd(0.5), batch_size=8, epochs=1)
    (one, _), (parts, _) = (
        train(*sentences(), accumulate=n, **settings) for n in (1, 4)
    )
    assert jnp.abs(one.weights[0] - parts.weights[0]).max() > 1e-3


def test_parts_of_a_mean_over_rows_are_one_big_batch():
    settings = dict(optimizer=sgd(0.1), batch_size=8)
    one, parts = (train(*problem(), accumulate=n, **settings) for n in (1, 4))
    assert_same(parts, one, rtol=1e-5)


def test_the_gradient_of_a_batch_is_that_of_all_its_tokens():
    model, data = sentences()
    trained, losses = train(
        model, data, loss=by_tokens, optimizer=sgd(1.0), epochs=1, batch_size=11
    )
    value, grads = jax.value_and_grad(by_rows)(model, data)
    assert_same(trained, jax.tree.map(jnp.subtract, model, grads), rtol=1e-5)
    np.testing.assert_allclose(losses, [value], rtol=1e-6)


def test_a_part_that_weighs_nothing_has_no_say():
    def nan_where_empty(model, batch):
        value, tokens = by_tokens(model, batch)
        return jnp.where(tokens > 0, value, jnp.nan), tokens

    model, data = sentences()
    settings = dict(batch_size=11, optimizer=sgd(0.1))
    want = train(model, data, loss=by_tokens, **settings)
    got = train(model, data, loss=nan_where_empty, accumulate=11, **settings)
    assert_same(got, want, rtol=1e-4)
    trained, losses = train(model, data, loss=nan_where_empty, batch_size=1, epochs=1)
    assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves((trained, losses)))


@pytest.mark.parametrize("accumulate", [1, 2])
def test_without_a_single_token_nothing_moves(accumulate):
    model, (x, targets, mask) = sentences()
    data = x, targets, jnp.zeros_like(mask)
    settings = dict(loss=by_tokens, optimizer=sgd(0.1), accumulate=accumulate)
    trained, losses = train(model, data, **settings)
    assert_same(trained, model)
    np.testing.assert_array_equal(losses, 0.0)


def test_the_history_of_updates_has_the_epochs_as_its_means():
    model, data = sentences()
    settings = dict(loss=by_tokens, batch_size=11, accumulate=1)
    _, losses = train(model, data, history="updates", **settings)
    np.testing.assert_allclose(losses, train(model, data, **settings)[1], rtol=1e-6)

    settings = dict(loss=by_tokens, batch_size=4, epochs=2, optimizer=sgd(0.0))
    trained, losses = train(model, data, history="updates", **settings)
    assert_same(trained, model)
    assert losses.shape == (6,)
    key, tokens = jax.random.key(3), data[2].sum(1)
    _, means = train(model, data, **settings)
    for epoch in range(2):
        key, sub = jax.random.split(key)
        order = jax.random.permutation(sub, 11)
        weights = jnp.array([tokens[order[i : i + 4]].sum() for i in (0, 4, 8)])
        mean = jnp.average(losses[3 * epoch : 3 * epoch + 3], weights=weights)
        np.testing.assert_allclose(means[epoch], mean, rtol=1e-5)
    np.testing.assert_allclose(means, by_rows(model, data), rtol=1e-5)


def test_a_schedule_counts_updates_and_not_parts():
    optimizer = sgd(warmup_cosine(0.1, warmup=2, total=6))
    settings = dict(optimizer=optimizer, batch_size=4, history="updates")
    (_, whole), (_, parts) = (
        train(*problem(), accumulate=n, **settings) for n in (1, 2)
    )
    assert whole.shape == (9,)
    np.testing.assert_allclose(parts, whole, rtol=1e-5)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_parts_are_added_up_in_float32(dtype):
    model, data = sentences(rows=65, dtype=dtype)
    settings = dict(loss=by_tokens, optimizer=sgd(1.0), batch_size=65, epochs=1)
    trained, losses = train(model, data, accumulate=65, **settings)
    assert {leaf.dtype for leaf in jax.tree.leaves(trained)} == {jnp.dtype(dtype)}
    assert losses.dtype == jnp.float32
    want, value = train(model, data, **settings)
    np.testing.assert_allclose(losses, value, rtol=0.02)
    for a, b in zip(jax.tree.leaves(trained), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a.astype(jnp.float32), b, atol=0.01)


@pytest.mark.parametrize("accumulate", [0, -1, 3, 8, 2.0])
def test_parts_divide_a_batch(accumulate):
    text = (
        "^accumulate must be a whole number that divides batch_size=4; "
        f"got {accumulate}$"
    )
    with pytest.raises(ValueError, match=text):
        unchecked(*problem(), accumulate=accumulate)


def test_a_history_is_of_epochs_or_of_updates():
    text = "^history must be 'epochs' or 'updates'; got 'steps'$"
    with pytest.raises(ValueError, match=text):
        train(*problem(), history="steps")


@pytest.mark.parametrize("told", [lambda b: (b.mean(), b > 0), lambda b: b])
def test_a_loss_and_its_weight_are_numbers(told):
    with pytest.raises(ValueError, match=r"a pair of numbers: .* got shapes \(.*\)"):
        train(
            jnp.zeros(()),
            jnp.ones(4),
            loss=lambda model, batch: told(batch + model),
            optimizer=sgd(0.1),
            batch_size=2,
        )
