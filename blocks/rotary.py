"""Rotary position embedding: a position turns the features of queries and keys.

Axes: `*shape` any axes of positions, `*batch` any leading axes, `h` features of a head.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Num, ScalarLike, Shaped

from blocks.numerics import upcast


def require_pairs(h: int, pairs: str = "adjacent") -> None:
    """Raise ValueError unless `h` features fall into such pairs."""
    if h % 2:
        raise ValueError(f"rotary turns pairs of features, so h must be even; got {h=}")
    if pairs not in ("adjacent", "halves"):
        raise ValueError(f'pairs must be "adjacent" or "halves"; got {pairs!r}')


def rotary_angles(
    positions: Num[Array, "*shape"], h: int, *, base: ScalarLike = 10_000.0
) -> Float[Array, "*shape {h}//2"]:
    r"""The angle, in radians, by which each position turns each pair of features.

    $$ \phi_{t,i} = t \, \mathrm{base}^{-2i/h}, \qquad i = 0, \dots, h/2 - 1 $$

    Float32 or wider whatever the dtype of the positions, since bfloat16 has no odd
    number above 256. An odd `h` raises ValueError.

    Su et al. (2021), section 3.2.2; the paper counts i from 1.
    """
    require_pairs(h)
    frequencies = base ** (-jnp.arange(0, h, 2) / h)
    wide = positions.astype(jnp.promote_types(positions.dtype, jnp.float32))
    return wide[..., None] * frequencies


def apply_rotary(
    x: Float[Array, "*batch h"],
    angles: Float[Array, "*#batch turned"],
    *,
    pairs: str = "adjacent",
) -> Float[Array, "*batch h"]:
    r"""Turn each pair of features of `x` by its angle.

    $$ (a, b) \mapsto (a \cos\phi - b \sin\phi, \; a \sin\phi + b \cos\phi) $$

    `pairs="adjacent"` takes features 2i and 2i + 1, as the paper does;
    `pairs="halves"` takes i and i + m, as most programs for Llama do, where m is the
    number of angles.
    With fewer angles than h/2 the first 2m features turn and the others pass. Angles
    (m,) are one position for all of `x`. Others name every axis of `x`, with 1 where it
    is shared, so a head axis in `x` needs one in `angles`: `x` (b, t, n, h) with
    `angles[:, :, None]`. Where heads share, the first axes may be left out: (t, 1, m).
    The product is taken in float32 or wider and has the dtype of `x`. Other shapes,
    more angles than h/2, or another word for `pairs` raise ValueError.

    Su et al. (2021), section 3.4.2, eq. 34.
    """
    h, turned = x.shape[-1], 2 * angles.shape[-1]
    if turned > h:
        raise ValueError(f"{turned // 2} angles turn {turned} features; x has only {h}")
    require_pairs(turned, pairs)
    axes, named = x.shape[-2::-1], angles.shape[-2::-1]  # from the last one back
    sizes_fit = all(a in (1, b) for a, b in zip(named, axes, strict=False))
    # Without that 1, rows of positions could be taken for heads.
    told_apart = len(named) == len(axes) or named[:1] in ((), (1,))
    if len(named) > len(axes) or not sizes_fit or not told_apart:
        raise ValueError(
            f"angles must be (m,) or name every axis of x {x.shape}, with 1 where it "
            f"is shared, as for heads in angles[:, :, None]; got {angles.shape}"
        )
    wide = upcast(x[..., :turned])
    if pairs == "adjacent":
        a, b = wide[..., 0::2], wide[..., 1::2]
    else:
        a, b = wide[..., : turned // 2], wide[..., turned // 2 :]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    new = a * cos - b * sin, a * sin + b * cos
    if pairs == "adjacent":
        y = jnp.stack(new, axis=-1).reshape(wide.shape)
    else:
        y = jnp.concatenate(new, axis=-1)
    return jnp.concatenate([y.astype(x.dtype), x[..., turned:]], axis=-1)


def adjacent_to_halves(x: Shaped[Array, "*batch h"]) -> Shaped[Array, "*batch h"]:
    """Reorder features so that the partners of adjacent pairs stand a half apart.

    `apply_rotary(x, angles)` and `apply_rotary(adjacent_to_halves(x), angles,
    pairs="halves")` then hold the same numbers, the second in the new order. Applied
    to the last axis of `w_q` and `w_k` (d, n, h) it carries trained weights from one
    layout to the other without changing a score. An odd `h` raises ValueError.
    """
    if x.shape[-1] % 2:
        raise ValueError(f"pairs need an even number of features; got {x.shape[-1]}")
    return jnp.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
