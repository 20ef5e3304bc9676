"""A training loop that fits on a page.

Axes: `*rows` examples along the first axis of every array of the data.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from blocks.transforms import apply_updates

M = TypeVar("M")


def fit(
    model: M,
    data: PyTree,
    *,
    loss: Callable[[M, Any], Float[Array, ""]],
    optimizer: Any,
    key: PRNGKeyArray,
    epochs: int,
    batch_size: int,
    report: Callable[[int, float], Any] | None = None,
) -> tuple[M, Float[Array, "{epochs}"]]:
    """The trained model, and the mean loss of each epoch.

    `data` is any pytree of arrays with one example a row; `loss(model, batch)` gets
    rows of it. Each epoch draws a new order from `key` and passes through all rows
    once; where `batch_size` does not divide their number, the last batch is smaller.
    A loss is taken before its update, and weighs as many rows as it saw. Any
    optimiser with optax's `init` and `update` serves. After each epoch,
    `report(epoch, loss)` is called, with epochs counted from 1. Raises ValueError
    where the data are not arrays of as many rows each, where `batch_size` is not a
    whole number from 1 to that of the rows, or `epochs` not one from 0 on.
    """
    for leaf in jax.tree.leaves(data):
        if not getattr(leaf, "shape", ()):
            raise ValueError(
                "the data must be arrays with one example a row; "
                f"got {leaf!r} of type {type(leaf).__name__}"
            )
    sizes = sorted({leaf.shape[0] for leaf in jax.tree.leaves(data)})
    if len(sizes) != 1:
        raise ValueError(f"all arrays of the data need as many rows; got {sizes}")
    rows = sizes[0]
    if not isinstance(batch_size, Integral) or not 1 <= batch_size <= rows:
        raise ValueError(
            f"a batch holds a whole number of rows from 1 to {rows}; got {batch_size}"
        )
    if not isinstance(epochs, Integral) or epochs < 0:
        raise ValueError(f"epochs must be a whole number from 0 on; got {epochs}")
    data = jax.tree.map(jnp.asarray, data)

    def step(carry, chosen):
        model, state = carry
        batch = jax.tree.map(lambda leaf: leaf[chosen], data)
        value, grads = jax.value_and_grad(loss)(model, batch)
        updates, state = optimizer.update(grads, state, model)
        return (apply_updates(model, updates), state), value

    @jax.jit
    def epoch(carry, order):
        whole = rows - rows % batch_size
        carry, values = lax.scan(step, carry, order[:whole].reshape(-1, batch_size))
        total = jnp.sum(values) * batch_size
        if whole < rows:
            carry, value = step(carry, order[whole:])
            total = total + value * (rows - whole)
        return carry, total / rows

    carry, losses = (model, optimizer.init(model)), []
    for number in range(1, epochs + 1):
        key, sub = jax.random.split(key)
        carry, mean = epoch(carry, jax.random.permutation(sub, rows))
        losses.append(mean)
        if report is not None:
            report(number, float(mean))
    return carry[0], jnp.array(losses)
