"""The keys and values of the tokens seen so far.

Axes: `b` rows of a batch, `c` capacity, `t` new tokens, `g` key heads, `h` per head.
"""

from numbers import Integral

import jax.numpy as jnp
from jax.typing import ArrayLike, DTypeLike
from jaxtyping import Array, Float, Int

from blocks.module import module


@module
class KVCache:
    """Room for `c` keys and values of each row, filled from slot 0 on.

    The cache holds no count of its own: the model keeps one for all its layers and
    moves it after a whole step. Keys stand here already rotated.
    """

    k: Float[Array, "b c g h"]
    v: Float[Array, "b c g h"]

    @classmethod
    def init(
        cls, b: int, capacity: int, g: int, h: int, *, dtype: DTypeLike = jnp.float32
    ) -> "KVCache":
        """An empty cache; a `dtype` that is not floating raises ValueError."""
        if not jnp.issubdtype(dtype, jnp.floating):
            name = jnp.dtype(dtype).name
            raise ValueError(f"a cache holds floating numbers; got {name}")
        return cls(
            k=jnp.zeros((b, capacity, g, h), dtype),
            v=jnp.zeros((b, capacity, g, h), dtype),
        )

    @property
    def capacity(self) -> int:
        return self.k.shape[1]

    def write(
        self,
        k: Float[Array, "b t g h"],
        v: Float[Array, "b t g h"],
        start: Int[ArrayLike, ""] | Int[Array, "b"],
    ) -> "KVCache":
        """The cache with `k` and `v` in slots start, …, start + t - 1.

        `start` is one number for all rows or one for each. Where it is a number,
        Python's or NumPy's, slots beyond the capacity raise ValueError; where it is an
        array, and may be traced, a row with a slot outside the cache becomes NaN
        throughout.
        """
        (b, _, *heads), t = self.k.shape, k.shape[1]
        if not k.shape == v.shape == (b, t, *heads):
            raise ValueError(
                f"the cache holds (b, c, g, h) = {self.k.shape}; "
                f"got keys {k.shape} and values {v.shape}"
            )
        if isinstance(start, Integral) and not 0 <= int(start) <= self.capacity - t:
            raise ValueError(
                f"slots must lie within the capacity {self.capacity}; "
                f"got {t} tokens from slot {start}"
            )
        first = jnp.broadcast_to(jnp.asarray(start), (b,))[:, None]
        slots = first + jnp.arange(t)
        outside = jnp.any((slots < 0) | (slots >= self.capacity), axis=1)
        rows = jnp.arange(b)[:, None]

        def put(old, new):
            written = old.at[rows, slots].set(new.astype(old.dtype), mode="drop")
            return jnp.where(outside[:, None, None, None], jnp.nan, written)

        return KVCache(k=put(self.k, k), v=put(self.v, v))
