"""What training makes small.

Axes: `*batch` any leading axes, `V` the vocabulary, `*shape` any axes.
"""

import jax.numpy as jnp
from jax.nn import logsumexp
from jaxtyping import Array, Bool, Float, Int

from blocks.numerics import upcast


def mse(
    prediction: Float[Array, "*shape"], target: Float[Array, "*shape"]
) -> Float[Array, ""]:
    """The mean of the squared errors over all elements, in float32 or wider.

    Shapes that differ raise ValueError, for they would broadcast.
    """
    if prediction.shape != target.shape:
        raise ValueError(
            "mse compares arrays of one shape; "
            f"got {prediction.shape} and {target.shape}"
        )
    return jnp.mean((upcast(prediction) - upcast(target)) ** 2)


def cross_entropy(
    logits: Float[Array, "*batch V"],
    targets: Int[Array, "*batch"],
    *,
    mask: Bool[Array, "*batch"] | None = None,
) -> Float[Array, ""]:
    r"""The mean surprise, in nats, at the targets.

    $$ \frac{1}{N} \sum_{i : \mathrm{mask}_i}
       \bigl( \log \sum_v e^{z_{i,v}} - z_{i,y_i} \bigr) $$

    N counts the targets where `mask` is True, so padding does not dilute the mean.
    With none, because all are hidden or the batch is empty, the loss and its gradient
    are 0. Hidden logits have no say and gradient 0, be they NaN. In float32 or wider.
    The targets stand where the logits do: the task shifts them, once. A target outside
    the vocabulary gives NaN, unless the mask hides it. Shapes that do not fit and a
    mask that is not boolean raise ValueError.
    """
    wide = upcast(logits)
    shapes = {
        targets.shape,
        wide.shape[:-1],
        targets.shape if mask is None else mask.shape,
    }
    if len(shapes) > 1 or (mask is not None and mask.dtype != jnp.bool_):
        raise ValueError(
            "targets and a boolean mask have the shape of the logits without the last "
            f"axis, {wide.shape[:-1]}; got {targets.shape} and "
            + ("no mask" if mask is None else f"{mask.shape} {mask.dtype}")
        )
    if mask is not None:  # before the logarithm: its gradient there would be NaN too
        wide = jnp.where(mask[..., None], wide, 0.0)
    inside = (targets >= 0) & (targets < wide.shape[-1])
    column = jnp.where(inside, targets, 0)[..., None]
    chosen = jnp.take_along_axis(wide, column, axis=-1)[..., 0]
    surprise = logsumexp(wide, axis=-1) - jnp.where(inside, chosen, jnp.nan)
    if mask is None:
        return jnp.sum(surprise) / max(surprise.size, 1)
    total = jnp.sum(jnp.where(mask, surprise, 0.0))
    return total / jnp.maximum(jnp.sum(mask), 1)
