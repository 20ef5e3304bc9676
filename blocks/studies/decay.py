"""Test error over learning rate by weight decay: every cell of a grid is a training.

Axes: `a` images, `r` learning rates, `d` decays, `k` points of a learning curve.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, ScalarLike

from blocks.feedforward import MLP
from blocks.losses import cross_entropy
from blocks.norms import rms_norm
from blocks.optim import adam_l2, adamw, adamw_lr, sgd_l2, sgdw
from blocks.schedules import warmup_cosine
from blocks.studies.digits import Data, draw
from blocks.transforms import Schedule, Transform, apply_updates


class Network(NamedTuple):
    """A network and its training: so many updates on batches of so many images."""

    sizes: tuple[int, ...]
    normalised: bool
    images: int
    batch: int
    updates: int = 400


NETWORKS = {
    "normalised": Network((64, 64, 64, 10), normalised=True, images=400, batch=16),
    "plain": Network((64, 64, 10), normalised=False, images=200, batch=32),
}


class Curves(NamedTuple):
    """The mean loss of the batches since the last point, and the share of the test
    images that are taken for another digit: after NaN about 0.9, as if all were 0."""

    loss: Float[Array, "*cells k"]
    error: Float[Array, "*cells k"]


# Each takes a learning rate, a decay and the schedule that multiplies step and decay.
FORMS: dict[str, Callable[[ScalarLike, ScalarLike, Schedule], Transform]] = {
    "sgd_l2": lambda lr, decay, eta: sgd_l2(
        lambda t: lr * eta(t), weight_decay=decay, momentum=0.9
    ),
    "sgdw": lambda lr, decay, eta: sgdw(
        lambda t: lr * eta(t), weight_decay=decay, eta=eta, momentum=0.9
    ),
    "adam_l2": lambda lr, decay, eta: adam_l2(
        lambda t: lr * eta(t), weight_decay=decay
    ),
    "adamw": lambda lr, decay, eta: adamw(
        lambda t: lr * eta(t), weight_decay=decay, eta=eta
    ),
    "adamw_lr": lambda lr, decay, eta: adamw_lr(
        lambda t: lr * eta(t), weight_decay=decay
    ),
}
# Decades by which the best decay should move for each decade of the learning rate. A
# scale-invariant weight has an equilibrium set by the share that decay takes at each
# update: lr * decay, decay alone, or lr^(4/3) decay^(2/3) with Adam + L2. A plain one
# near rest lies where gradient and decay cancel: the paper's forms weigh a decay
# against lr times a gradient, the others scale both by lr.
PREDICTED = {
    "normalised": {"sgd_l2": -1, "sgdw": 0, "adam_l2": -2, "adamw": 0, "adamw_lr": -1},
    "plain": {"sgd_l2": 0, "sgdw": 1, "adam_l2": 0, "adamw": 1, "adamw_lr": 0},
}
# First and last learning rate, first and last decay, as powers of ten.
RANGES = {
    "sgd_l2": (-2.5, 1.0, -3.5, 1.25),
    "sgdw": (-2.5, 1.0, -3.5, 0.0),
    "adam_l2": (-3.5, 0.0, -5.5, 0.5),
    "adamw": (-3.5, 0.0, -3.5, 0.0),
    "adamw_lr": (-3.5, 0.0, -2.5, 2.5),
}


def axes(form: str, cells: int = 18) -> tuple[Float[Array, "r"], Float[Array, "d"]]:
    """`cells` learning rates and as many decays, at equal ratios; for both networks."""
    _require_form(form)
    first, last, weakest, strongest = RANGES[form]
    return jnp.logspace(first, last, cells), jnp.logspace(weakest, strongest, cells)


def _require_form(form: str) -> None:
    if form not in FORMS:
        raise ValueError(f"the form is one of {', '.join(FORMS)}; got {form!r}")


def logits(model: PyTree, x: Float[Array, "b 64"]) -> Float[Array, "b 10"]:
    """The answers of a plain `MLP`; or of matrices, each followed by a norm without
    gain, so that none depends on the scale of any matrix. Those have an RMS of 3.
    """
    if isinstance(model, MLP):
        return model(x)
    *hidden, last = model
    for w in hidden:
        x = jax.nn.relu(_unit(x @ w))
    return 3 * _unit(x @ last)


def _unit(x):
    # A usual epsilon would be felt by the small weights that a strong decay leaves.
    return rms_norm(x, jnp.ones(x.shape[-1]), eps=1e-20)


def train(
    model: PyTree, optimizer: Transform, data: Data, rows: Int[Array, "k updates batch"]
) -> Curves:
    """The learning curves of one training; `rows` are those of each batch."""

    def loss(model, chosen):
        return cross_entropy(logits(model, data.images[chosen]), data.labels[chosen])

    def step(carry, chosen):
        model, state = carry
        value, grads = jax.value_and_grad(loss)(model, chosen)
        updates, state = optimizer.update(grads, state, model)
        return (apply_updates(model, updates), state), value

    def part(carry, chosen):
        carry, losses = lax.scan(step, carry, chosen)
        answers = logits(carry[0], data.test_images).argmax(axis=-1)
        return carry, Curves(losses.mean(), jnp.mean(answers != data.test_labels))

    return lax.scan(part, (model, optimizer.init(model)), rows)[1]


def begin(
    key: PRNGKeyArray,
    network: Network,
    digits: tuple[Float[Array, "a 64"], Int[Array, "a"]],
    points: int,
) -> tuple[PyTree, Data, Int[Array, "{points} updates batch"]]:
    """The model, data and batches of one seed: all cells begin with the same.

    The normalised network is the matrices alone. Each epoch has an order of its own.
    """
    if network.updates % points:
        raise ValueError(
            f"{network.updates} updates need to divide into {points} parts"
        )
    first, second, third = jax.random.split(key, 3)
    model = MLP.init(second, network.sizes)
    length = network.updates * network.batch
    epochs = jax.random.split(third, -(-length // network.images))
    orders = jax.vmap(lambda key: jax.random.permutation(key, network.images))(epochs)
    rows = orders.ravel()[:length].reshape(points, -1, network.batch)
    data = draw(first, *digits, network.images)
    return (model.weights if network.normalised else model), data, rows


@partial(jax.jit, static_argnames=("form", "network", "points", "chunk"))
def grid(
    key: PRNGKeyArray,
    form: str,
    network: Network,
    digits: tuple[Float[Array, "a 64"], Int[Array, "a"]],
    rates: Float[Array, "r"],
    decays: Float[Array, "d"],
    *,
    points: int = 10,
    chunk: int = 12,
) -> Curves:
    """The learning curves of every cell for one seed: arrays (r, d, k).

    `chunk` cells are trained side by side, the chunks one after another. Another number
    rounds otherwise, and training a normalised network makes much of that: single
    cells move by several points, the picture does not.
    """
    _require_form(form)
    model, data, rows = begin(key, network, digits, points)
    eta = warmup_cosine(1.0, warmup=0, total=network.updates)

    def cell(pair):
        lr, decay = pair
        return train(model, FORMS[form](lr, decay, eta), data, rows)

    pairs = jnp.repeat(rates, decays.size), jnp.tile(decays, rates.size)
    curves = lax.map(cell, pairs, batch_size=chunk)
    return jax.tree.map(lambda x: x.reshape(rates.size, decays.size, points), curves)
