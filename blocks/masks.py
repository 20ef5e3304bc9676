"""Which query may attend to which key: boolean, True = may attend.

Axes: `*batch` any leading axes, `t` queries, `s` keys. A mask of one row of positions
is (t, s); one that differs by row of a batch is (*batch, 1, t, s), its 1 standing for
the heads. Masks are combined with `&`.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Integer, ScalarLike, Shaped

from blocks.numerics import known


def _for_heads(visible: Bool[Array, "*batch t s"]) -> Bool[Array, "..."]:
    """A batch of masks gets an axis of size 1 that all heads share."""
    return visible if visible.ndim == 2 else jnp.expand_dims(visible, -3)


def causal_mask(
    q_positions: Integer[Array, "*#batch t"], k_positions: Integer[Array, "*#batch s"]
) -> Bool[Array, "..."]:
    """True where the key stands at the query's position or before it.

    Positions are compared, not indices of arrays, so two new queries of five keys see
    four keys and five. One row of positions gives (t, s), a batch (`*batch`, 1, t, s).

    Vaswani et al. (2017), section 3.2.3.
    """
    return _for_heads(k_positions[..., None, :] <= q_positions[..., :, None])


def window_mask(
    q_positions: Integer[Array, "*#batch t"],
    k_positions: Integer[Array, "*#batch s"],
    window: ScalarLike,
) -> Bool[Array, "..."]:
    """True where query and key stand fewer than `window` positions apart.

    `window` counts the token itself: with `causal_mask` each query sees at most
    `window` keys, without it at most `2 * window - 1`. One row of positions gives
    (t, s), a batch (`*batch`, 1, t, s). A window below 1 raises ValueError.

    Beltagy, Peters and Cohan (2020), section 3.1, where a window of w has w/2 keys on
    each side.
    """
    if (number := known(window)) is not None and number < 1:
        raise ValueError(
            f"a window holds at least the token itself; got window={window}"
        )
    # Narrow and unsigned positions would wrap round where they are subtracted.
    q, k = q_positions.astype(jnp.int32), k_positions.astype(jnp.int32)
    return _for_heads(jnp.abs(q[..., :, None] - k[..., None, :]) < window)


def _require_real(real: Array) -> None:
    if real.dtype != jnp.bool_:
        raise ValueError(f"real must be boolean, True = not padding; got {real.dtype}")


def padding_mask(real: Bool[Array, "*batch s"]) -> Bool[Array, "*batch 1 1 s"]:
    """`real`, True at the tokens that are not padding, as a mask over the keys.

    Anything but booleans raises ValueError.
    """
    _require_real(real)
    return real[..., None, None, :]


def positions_of(real: Bool[Array, "*batch s"]) -> Int[Array, "*batch s"]:
    """The position of each real token in its row, counted from 0; padding gets 0.

    With padding on the left a token's position is not its index. `real` is True at
    the tokens that are not padding, wherever the padding stands. Anything but booleans
    raises ValueError.
    """
    _require_real(real)
    before = jnp.cumsum(real, axis=-1, dtype=jnp.int32) - 1
    return jnp.where(real, before, 0)


def from_torch_mask(blocked: Shaped[Array, "*shape"]) -> Bool[Array, "*shape"]:
    """The mask of `torch.nn.MultiheadAttention` and `torch.nn.Transformer`, as here.

    There True means *blocked*. `torch.nn.functional.scaled_dot_product_attention`
    already says True = may attend and needs no change. The result of a
    `key_padding_mask` goes through `padding_mask`. A mask that is not boolean raises
    ValueError.
    """
    if blocked.dtype != jnp.bool_:
        raise ValueError(f"a mask must be boolean; got {blocked.dtype}")
    return ~blocked


def require_fit(name: str, array: Array, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless `array` is (t, s) or names every axis of `shape`."""
    axes = shape if array.ndim == len(shape) else shape[-2:]
    sizes_fit = all(a in (1, b) for a, b in zip(array.shape, axes, strict=False))
    if array.ndim != len(axes) or not sizes_fit:
        raise ValueError(
            f"{name} must be (t, s) or name every axis of (*batch, n, t, s) = {shape}, "
            f"with 1 where it is shared; got {array.shape}"
        )


def require_mask(mask: Array, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless `mask` is boolean and fits `shape`."""
    require_fit("mask", mask, shape)
    if mask.dtype != jnp.bool_:
        raise ValueError(f"mask must be boolean, True = may attend; got {mask.dtype}")


def require_bias(bias: Array, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless `bias` is floating and fits `shape`."""
    require_fit("bias", bias, shape)
    if not jnp.issubdtype(bias.dtype, jnp.floating):
        raise ValueError(f"bias must be floating, added to scores; got {bias.dtype}")


def require_heads(n: int, g: int) -> None:
    """Raise ValueError unless `g` key heads can serve `n` query heads."""
    if min(n, g) < 1:
        raise ValueError(f"attention needs at least one head; got {n=} and {g=}")
    if n % g:
        raise ValueError(f"{g} key heads must divide {n} query heads")
