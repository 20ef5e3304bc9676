"""The care with precision that several blocks share."""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import Tracer
from jax.typing import DTypeLike
from jaxtyping import Array, Float

T = TypeVar("T")


def known(value: Any) -> Any:
    """`value`, or None where it is traced: then its number comes with the run."""
    return None if isinstance(value, Tracer) else value


def require_floating(x: Array) -> None:
    """Raise ValueError for integers: results in their dtype would be cut."""
    if not jnp.issubdtype(x.dtype, jnp.floating):
        raise ValueError(f"blocks compute with floating numbers; got {x.dtype}")


def upcast(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """`x` in float32, or unchanged where it is wider: sums need the digits.

    Numbers that are not floating raise ValueError.
    """
    require_floating(x)
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def norm(x: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """The Euclidean norm over `axis`, which stays as an axis of 1, or over all.

    The numbers are divided by the largest before they are squared, for the square of a
    large one has no place in float32.
    """
    keep = axis is not None
    top = lax.stop_gradient(jnp.max(jnp.abs(x), axis, keepdims=True, initial=0.0))
    top = jnp.where((top > 0) & jnp.isfinite(top), top, 1.0)
    root = jnp.sqrt(jnp.sum((x / top) ** 2, axis, keepdims=keep))
    return root * (top if keep else jnp.squeeze(top))


def cast(tree: T, dtype: DTypeLike) -> T:
    """`tree`, a module or any pytree, with its floating arrays in `dtype`.

    Integers, booleans and random keys stay as they are. A `dtype` that is not
    floating raises ValueError.
    """
    if not jnp.issubdtype(dtype, jnp.floating):
        raise ValueError(f"cast needs a floating dtype; got {jnp.dtype(dtype).name}")

    def change(leaf):
        floating = jnp.issubdtype(jnp.result_type(leaf), jnp.floating)
        return jnp.asarray(leaf, dtype) if floating else leaf

    return jax.tree.map(change, tree)
