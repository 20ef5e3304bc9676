"""The care with precision that several blocks share."""

from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

T = TypeVar("T")


def upcast(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """`x` in float32, or unchanged where it is wider: sums need the digits."""
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


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
