"""Attention: each query takes a mean of values, weighted by how their keys match it.

Axes: `*batch` any leading axes, `t` queries, `s` keys, `d` features of the model, `n`
query heads, `g` key heads, `h` features of a head.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, ScalarLike, Shaped

from blocks.cache import KVCache
from blocks.masks import causal_mask, require_bias, require_heads, require_mask
from blocks.module import module, static
from blocks.numerics import require_floating, upcast
from blocks.rotary import apply_rotary, require_pairs, rotary_angles


def attention_weights(
    q: Float[Array, "*batch t n h"],
    k: Float[Array, "*batch s g h"],
    *,
    mask: Shaped[Array, "..."] | None = None,
    bias: Float[Array, "..."] | None = None,
    scale: ScalarLike | None = None,
) -> Float[Array, "*batch n t s"]:
    r"""How much each query takes from each key: a softmax over the keys.

    $$ \mathrm{softmax}_s\bigl(q_t \cdot k_s \cdot \mathrm{scale} + b_{t,s}\bigr) $$

    `scale` is 1/sqrt(h) unless given. Key head i // (n/g) serves query head i. `mask`
    is boolean, True = may attend; `bias` is floating, finite and added to the scores.
    Each is (t, s), or names every axis of (`*batch`, n, t, s) with 1 where shared.
    A query that may attend nowhere gets weights of 0. Float32 or wider, whatever the
    dtype of `q`. ValueError where g does not divide n, or mask or bias do not fit.

    Vaswani et al. (2017), section 3.2.1; shared key heads by Ainslie et al. (2023).
    """
    (*batch, t, n, h), (s, g) = q.shape, k.shape[-3:-1]
    require_heads(n, g)
    shape = (*batch, n, t, s)
    grouped = upcast(q).reshape(*batch, t, g, n // g, h)
    scores = jnp.einsum("...tgrh,...sgh->...grts", grouped, upcast(k)).reshape(shape)
    scores = scores * (h**-0.5 if scale is None else scale)
    if bias is not None:
        require_bias(bias, shape)
        scores = scores + bias
    if mask is not None:
        require_mask(mask, shape)
    return jax.nn.softmax(scores, axis=-1, where=mask)


def attend(
    q: Float[Array, "*batch t n h"],
    k: Float[Array, "*batch s g h"],
    v: Float[Array, "*batch s g u"],
    *,
    mask: Shaped[Array, "..."] | None = None,
    bias: Float[Array, "..."] | None = None,
    scale: ScalarLike | None = None,
) -> Float[Array, "*batch t n u"]:
    r"""For each query, the mean of the values under its `attention_weights`.

    $$ \mathrm{softmax}\bigl(Q K^\top / \sqrt{h}\bigr) \, V $$

    A query that may attend nowhere gets 0, and finite gradients. The size `u` of a
    value is free. The mean is taken in float32 or wider and has the dtype of `v`.
    Settings and errors are those of `attention_weights`.

    Vaswani et al. (2017), section 3.2.1.
    """
    weights = attention_weights(q, k, mask=mask, bias=bias, scale=scale)
    (*batch, n, t, s), (g, u) = weights.shape, v.shape[-2:]
    grouped = weights.reshape(*batch, g, n // g, t, s)
    mixed = jnp.einsum("...grts,...sgu->...tgru", grouped, upcast(v))
    return mixed.reshape(*batch, t, n, u).astype(v.dtype)


@module
class MultiHeadAttention:
    """Queries, keys and values by projection, `attend` in each head, and the way back.

    Vaswani et al. (2017), section 3.2.2; with fewer key heads than query heads, Ainslie
    et al. (2023); with `rotary`, queries and keys are turned as in Su et al. (2021).
    """

    w_q: Float[Array, "d n h"]
    w_k: Float[Array, "d g h"]
    w_v: Float[Array, "d g h"]
    w_o: Float[Array, "n h d"]
    b_q: Float[Array, "n h"] | None = None
    b_k: Float[Array, "g h"] | None = None
    b_v: Float[Array, "g h"] | None = None
    b_o: Float[Array, "d"] | None = None
    rotary: bool = static(default=False)
    base: float = static(default=10_000.0)
    pairs: str = static(default="adjacent")

    @classmethod
    def init(
        cls,
        key: PRNGKeyArray,
        d: int,
        n: int,
        *,
        g: int | None = None,
        h: int | None = None,
        biases: bool = False,
        rotary: bool = False,
        base: float = 10_000.0,
        pairs: str = "adjacent",
    ) -> "MultiHeadAttention":
        """Heads of size h = d/n and g = n key heads, unless they are given.

        ValueError where g does not divide n, or n does not divide d and h is not given;
        where `pairs` is another word; and with `rotary`, where h is odd.
        """
        g = n if g is None else g
        require_heads(n, g)
        if h is None and d % n:
            raise ValueError(f"{n} heads must divide the {d} features, or h be given")
        h = d // n if h is None else h
        require_pairs(h if rotary else 0, pairs)
        k_q, k_k, k_v, k_o = jax.random.split(key, 4)
        return cls(
            w_q=jax.random.normal(k_q, (d, n, h)) / d**0.5,
            w_k=jax.random.normal(k_k, (d, g, h)) / d**0.5,
            w_v=jax.random.normal(k_v, (d, g, h)) / d**0.5,
            w_o=jax.random.normal(k_o, (n, h, d)) / (n * h) ** 0.5,
            b_q=jnp.zeros((n, h)) if biases else None,
            b_k=jnp.zeros((g, h)) if biases else None,
            b_v=jnp.zeros((g, h)) if biases else None,
            b_o=jnp.zeros(d) if biases else None,
            rotary=rotary,
            base=base,
            pairs=pairs,
        )

    def _project(self, x, w, b):
        require_floating(x)
        y = jnp.einsum("...td,dnh->...tnh", x, w)
        return y if b is None else y + b

    def _turn(self, x, positions):
        if not self.rotary:
            return x
        positions = jnp.arange(x.shape[-3]) if positions is None else positions
        angles = rotary_angles(positions, x.shape[-1], base=self.base)
        return apply_rotary(x, angles[..., None, :], pairs=self.pairs)

    def _back(self, mixed, dtype):
        y = jnp.einsum("...tnh,nhd->...td", mixed, self.w_o)
        return (y if self.b_o is None else y + self.b_o).astype(dtype)

    def __call__(
        self,
        x: Float[Array, "*batch t d"],
        context: Float[Array, "*batch s d"] | None = None,
        *,
        mask: Shaped[Array, "..."] | None = None,
        bias: Float[Array, "..."] | None = None,
        positions: Int[Array, "*#rows t"] | None = None,
        context_positions: Int[Array, "*#rows s"] | None = None,
    ) -> Float[Array, "*batch t d"]:
        """Attention to `x`, or to `context`; positions count from 0 unless given."""
        if context is None and context_positions is not None:
            raise ValueError("context_positions belong to a context, and there is none")
        if context is None:
            context, context_positions = x, positions
        q = self._turn(self._project(x, self.w_q, self.b_q), positions)
        k = self._turn(self._project(context, self.w_k, self.b_k), context_positions)
        v = self._project(context, self.w_v, self.b_v)
        return self._back(attend(q, k, v, mask=mask, bias=bias), x.dtype)

    def extend(
        self,
        x: Float[Array, "b t d"],
        cache: KVCache,
        start: Int[jax.typing.ArrayLike, ""] | Int[Array, "b"],
        *,
        mask: Shaped[Array, "..."] | None = None,
        bias: Float[Array, "..."] | None = None,
        positions: Int[Array, "*#rows t"] | None = None,
    ) -> tuple[Float[Array, "b t d"], KVCache]:
        """Causal attention of new tokens to those in the cache and to themselves.

        New tokens stand in slots start, …, start + t - 1, which are their positions too
        unless given (padding on the left moves them). `mask` and `bias` span the
        capacity: (t, c), or (b, n, t, c) with 1 where shared. Slots outside: `write`.
        """
        slots = jnp.asarray(start)[..., None] + jnp.arange(x.shape[1])
        positions = slots if positions is None else positions
        q = self._turn(self._project(x, self.w_q, self.b_q), positions)
        k = self._turn(self._project(x, self.w_k, self.b_k), positions)
        cache = cache.write(k, self._project(x, self.w_v, self.b_v), start)
        visible = causal_mask(slots, jnp.arange(cache.capacity))
        if mask is not None:
            require_mask(mask, (x.shape[0], q.shape[-2], x.shape[1], cache.capacity))
            visible = visible & mask
        mixed = attend(q, cache.k, cache.v, mask=visible, bias=bias)
        return self._back(mixed, x.dtype), cache
