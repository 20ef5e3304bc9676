"""A training loop that fits on a page.

Axes: `*rows` examples along the first axis of every array of the data.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, ScalarLike

from blocks.numerics import upcast
from blocks.transforms import apply_updates

M = TypeVar("M")


def _in_parts(part: Callable, chosen: Int[Array, "n"], size: int) -> tuple[Any, Any]:
    """`part(chosen)`, means and what they weigh, from parts of `size` rows, of which
    only one is in memory. A part that weighs nothing has no say, be it NaN.
    """
    if len(chosen) <= size:
        means, weight = part(chosen)
        return jax.tree.map(lambda x: jnp.where(weight == 0, 0, x), means), weight

    def add(sums, rows):
        means, weight = part(rows)
        told = means, jnp.ones_like(weight)
        return jax.tree.map(
            lambda s, x: s + jnp.where(weight == 0, 0, weight * x), sums, told
        ), None

    like = jax.eval_shape(part, chosen[:size])
    zeros = jax.tree.map(lambda x: upcast(jnp.zeros(x.shape, x.dtype)), like)
    whole = len(chosen) - len(chosen) % size
    sums, _ = lax.scan(add, zeros, chosen[:whole].reshape(-1, size))
    if whole < len(chosen):
        sums, _ = add(sums, chosen[whole:])
    means, total = sums
    divisor = total + (total == 0)
    return jax.tree.map(
        lambda s, x: (s / divisor).astype(x.dtype), means, like[0]
    ), total


def fit(
    model: M,
    data: PyTree,
    *,
    loss: Callable[[M, Any], Float[Array, ""] | tuple[Float[Array, ""], ScalarLike]],
    optimizer: Any,
    key: PRNGKeyArray,
    epochs: int,
    batch_size: int,
    accumulate: int = 1,
    history: str = "epochs",
    report: Callable[[int, float], Any] | None = None,
) -> tuple[M, Float[Array, "_"]]:
    """The trained model, and a history to be plotted: the mean loss of each epoch.

    `data` is any pytree of arrays with one example a row; `loss(model, batch)` gets
    rows of it. Each epoch draws a new order from `key` and passes through all rows
    once; where `batch_size` does not divide their number, the last batch is smaller.
    Any optimiser with optax's `init` and `update` serves. After each epoch,
    `report(epoch, loss)` is called, with epochs counted from 1.

    A loss is taken before its update, and weighs as many rows as it saw. One that is a
    mean over something else returns a pair: the mean, and over how many, such as the
    tokens that are no padding. With `accumulate` each batch passes in so many parts,
    one after another, for the memory of one; each part has that weight, so the update
    is the same. `history="updates"` gives the loss of each update instead.

    Raises ValueError where the data are not arrays of as many rows each, where
    `batch_size` is not a whole number from 1 to that of the rows, `epochs` not one from
    0 on, `accumulate` not one that divides `batch_size`, for another `history`, and
    for a loss that is no number.
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
    if (
        not isinstance(accumulate, Integral)
        or accumulate < 1
        or batch_size % accumulate
    ):
        raise ValueError(
            f"accumulate must be a whole number that divides batch_size={batch_size}; "
            f"got {accumulate}"
        )
    if history not in ("epochs", "updates"):
        raise ValueError(f"history must be 'epochs' or 'updates'; got {history!r}")
    data = jax.tree.map(jnp.asarray, data)

    def weighed(model, chosen):
        told = loss(model, jax.tree.map(lambda leaf: leaf[chosen], data))
        value, weight = told if isinstance(told, tuple) else (told, len(chosen))
        if jnp.shape(value) or jnp.shape(weight):
            raise ValueError(
                "a loss is a number, or a pair of numbers: it and what it weighs; "
                f"got shapes {jnp.shape(value)} and {jnp.shape(weight)}"
            )
        return value, jnp.asarray(weight, upcast(value).dtype)

    def step(carry, chosen):
        model, state = carry

        def part(chosen):
            found = jax.value_and_grad(weighed, has_aux=True)(model, chosen)
            (value, weight), grads = found
            return (value, grads), weight

        (value, grads), weight = _in_parts(part, chosen, batch_size // accumulate)
        updates, state = optimizer.update(grads, state, model)
        return (apply_updates(model, updates), state), (value, weight)

    @jax.jit
    def epoch(carry, order):
        whole = rows - rows % batch_size
        carry, told = lax.scan(step, carry, order[:whole].reshape(-1, batch_size))
        if whole < rows:
            carry, last = step(carry, order[whole:])
            told = jax.tree.map(jnp.append, told, last)
        values, weights = told
        total = jnp.sum(weights)
        mean = jnp.sum(jnp.where(weights == 0, 0, weights * values))
        return carry, mean / (total + (total == 0)), values

    carry, losses = (model, optimizer.init(model)), []
    for number in range(1, epochs + 1):
        key, sub = jax.random.split(key)
        carry, mean, values = epoch(carry, jax.random.permutation(sub, rows))
        losses.append(mean if history == "epochs" else values)
        if report is not None:
            report(number, float(mean))
    return carry[0], jnp.hstack(losses) if losses else jnp.zeros(0)
