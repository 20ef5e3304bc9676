"""Normalisation of each vector over its own features.

Axes: `*batch` any leading axes, `d` features.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, ScalarLike

from blocks.module import module, static
from blocks.numerics import upcast


def _require_features(x: Array, **arrays: Array) -> None:
    for name, array in arrays.items():
        if jnp.shape(array) != x.shape[-1:]:
            raise ValueError(
                f"{name} must have the shape (d,) = {x.shape[-1:]} of one vector; "
                f"got {jnp.shape(array)}"
            )


def rms_norm(
    x: Float[Array, "*batch d"], scale: Float[Array, "d"], *, eps: ScalarLike = 1e-5
) -> Float[Array, "*batch d"]:
    r"""Divide each vector by its root mean square, then scale each feature.

    $$ y_i = \frac{x_i}{\sqrt{\frac1d \sum_j x_j^2 + \epsilon}} \, g_i $$

    The mean is taken in float32 or wider and `y` has the dtype of `x`. `scale` is the
    paper's $g$; the paper has no $\epsilon$, without which a vector of zeros would
    have no answer. A scale of another shape raises ValueError.

    Zhang and Sennrich (2019), eq. 4.
    """
    _require_features(x, scale=scale)
    wide = upcast(x)
    mean_square = jnp.mean(wide**2, axis=-1, keepdims=True)
    return (wide * lax.rsqrt(mean_square + eps) * scale).astype(x.dtype)


def layer_norm(
    x: Float[Array, "*batch d"],
    scale: Float[Array, "d"],
    bias: Float[Array, "d"],
    *,
    eps: ScalarLike = 1e-5,
) -> Float[Array, "*batch d"]:
    r"""Centre each vector and divide it by its deviation, then scale and shift.

    $$ y_i = \frac{x_i - \mu}{\sqrt{\frac1d \sum_j (x_j - \mu)^2 + \epsilon}} \, g_i
       + b_i, \qquad \mu = \frac1d \sum_j x_j $$

    The variance divides by $d$, not by $d - 1$. Mean and variance are taken in float32
    or wider and `y` has the dtype of `x`. `scale` is $g$ and `bias` is $b$;
    another shape of either raises ValueError.

    Ba, Kiros and Hinton (2016), section 3.
    """
    _require_features(x, scale=scale, bias=bias)
    wide = upcast(x)
    centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
    variance = jnp.mean(centred**2, axis=-1, keepdims=True)
    return (centred * lax.rsqrt(variance + eps) * scale + bias).astype(x.dtype)


@module
class RMSNorm:
    """`rms_norm` holding its scale, which begins at one."""

    scale: Float[Array, "d"]
    eps: float = static(default=1e-5)

    @classmethod
    def init(cls, d: int, *, eps: float = 1e-5) -> "RMSNorm":
        return cls(scale=jnp.ones(d), eps=eps)

    def __call__(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        return rms_norm(x, self.scale, eps=self.eps)


@module
class LayerNorm:
    """`layer_norm` holding its scale, which begins at one, and its bias, at zero."""

    scale: Float[Array, "d"]
    bias: Float[Array, "d"]
    eps: float = static(default=1e-5)

    @classmethod
    def init(cls, d: int, *, eps: float = 1e-5) -> "LayerNorm":
        return cls(scale=jnp.ones(d), bias=jnp.zeros(d), eps=eps)

    def __call__(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        return layer_norm(x, self.scale, self.bias, eps=self.eps)
