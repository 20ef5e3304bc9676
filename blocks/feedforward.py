"""The part of a layer that works on each token by itself.

Axes: `*batch` any leading axes, `d` features of the model, `f` hidden features.
"""

from collections.abc import Sequence
from numbers import Integral

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from blocks.activations import activate, require_activation
from blocks.module import module, static
from blocks.numerics import require_floating


def _affine(
    x: Float[Array, "*batch i"], w: Float[Array, "i o"], b: Float[Array, "o"] | None
) -> Float[Array, "*batch o"]:
    """`x @ w`, plus `b` where there is one."""
    require_floating(x)
    return x @ w if b is None else x @ w + b


def feed_forward(
    x: Float[Array, "*batch d"],
    w_in: Float[Array, "d f"],
    w_out: Float[Array, "f d"],
    *,
    b_in: Float[Array, "f"] | None = None,
    b_out: Float[Array, "d"] | None = None,
    activation: str = "relu",
) -> Float[Array, "*batch d"]:
    r"""Two matrices with an activation between them, the same for every token.

    $$ \sigma(x W_1 + b_1) \, W_2 + b_2 $$

    The result has the dtype of `x`.

    Vaswani et al. (2017), section 3.3, where $\sigma$ is ReLU.
    """
    hidden = activate(_affine(x, w_in, b_in), activation)
    return _affine(hidden, w_out, b_out).astype(x.dtype)


def glu(
    x: Float[Array, "*batch d"],
    w_gate: Float[Array, "d f"],
    w_up: Float[Array, "d f"],
    w_down: Float[Array, "f d"],
    *,
    b_gate: Float[Array, "f"] | None = None,
    b_up: Float[Array, "f"] | None = None,
    b_down: Float[Array, "d"] | None = None,
    activation: str = "silu",
) -> Float[Array, "*batch d"]:
    r"""A feed-forward layer in which one projection of the token gates another.

    $$ \bigl(\sigma(x W) \odot x V\bigr) W_2 $$

    The activation is on `w_gate`, the paper's $W$; `w_up` is $V$ and `w_down` is $W_2$.
    "sigmoid" makes it GLU, "identity" bilinear, "relu" ReGLU, "gelu" GEGLU and "silu"
    SwiGLU. The result has the dtype of `x`.

    Shazeer (2020), eq. 6; with the biases of eqs. 4 and 5 where they are given.
    """
    gate = activate(_affine(x, w_gate, b_gate), activation)
    return _affine(gate * _affine(x, w_up, b_up), w_down, b_down).astype(x.dtype)


def gated_hidden_size(f: int, *, multiple: int = 1) -> int:
    """The hidden size that gives a gated layer the parameters of one with two matrices.

    Three matrices in place of two, so two thirds of `f`, rounded up to a `multiple`.
    ValueError unless both are whole and at least 1. Shazeer (2020), section 2.
    """
    if not all(isinstance(size, Integral) and size >= 1 for size in (f, multiple)):
        raise ValueError(f"sizes must be whole and at least 1; got {f=}, {multiple=}")
    return -(-2 * f // (3 * multiple)) * multiple


@module
class FeedForward:
    """`feed_forward` holding its weights, and its biases if it has them."""

    w_in: Float[Array, "d f"]
    w_out: Float[Array, "f d"]
    b_in: Float[Array, "f"] | None = None
    b_out: Float[Array, "d"] | None = None
    activation: str = static(default="relu")

    @classmethod
    def init(
        cls,
        key: PRNGKeyArray,
        d: int,
        f: int,
        *,
        activation: str = "relu",
        biases: bool = True,
    ) -> "FeedForward":
        k_in, k_out = jax.random.split(key)
        return cls(
            w_in=jax.random.normal(k_in, (d, f)) / d**0.5,
            w_out=jax.random.normal(k_out, (f, d)) / f**0.5,
            b_in=jnp.zeros(f) if biases else None,
            b_out=jnp.zeros(d) if biases else None,
            activation=require_activation(activation),
        )

    def __call__(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        return feed_forward(
            x,
            self.w_in,
            self.w_out,
            b_in=self.b_in,
            b_out=self.b_out,
            activation=self.activation,
        )


@module
class GLUFeedForward:
    """`glu` holding its three weights, and its biases if it has them."""

    w_gate: Float[Array, "d f"]
    w_up: Float[Array, "d f"]
    w_down: Float[Array, "f d"]
    b_gate: Float[Array, "f"] | None = None
    b_up: Float[Array, "f"] | None = None
    b_down: Float[Array, "d"] | None = None
    activation: str = static(default="silu")

    @classmethod
    def init(
        cls,
        key: PRNGKeyArray,
        d: int,
        f: int,
        *,
        activation: str = "silu",
        biases: bool = False,
    ) -> "GLUFeedForward":
        k_gate, k_up, k_down = jax.random.split(key, 3)
        return cls(
            w_gate=jax.random.normal(k_gate, (d, f)) / d**0.5,
            w_up=jax.random.normal(k_up, (d, f)) / d**0.5,
            w_down=jax.random.normal(k_down, (f, d)) / f**0.5,
            b_gate=jnp.zeros(f) if biases else None,
            b_up=jnp.zeros(f) if biases else None,
            b_down=jnp.zeros(d) if biases else None,
            activation=require_activation(activation),
        )

    def __call__(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        return glu(
            x,
            self.w_gate,
            self.w_up,
            self.w_down,
            b_gate=self.b_gate,
            b_up=self.b_up,
            b_down=self.b_down,
            activation=self.activation,
        )


@module
class MLP:
    """Layers of any sizes with an activation between each two of them.

    Weights begin normal with variance 2 / (features in), which keeps the size of a
    vector through a ReLU (He et al., 2015, section 2.2); biases begin at zero.
    """

    weights: tuple[Float[Array, "i o"], ...]
    biases: tuple[Float[Array, "o"], ...]
    activation: str = static(default="relu")

    @classmethod
    def init(
        cls, key: PRNGKeyArray, sizes: Sequence[int], *, activation: str = "relu"
    ) -> "MLP":
        if len(sizes) < 2:
            raise ValueError(f"sizes must name at least input and output; got {sizes}")
        require_activation(activation)
        keys = jax.random.split(key, len(sizes) - 1)
        weights = tuple(
            jax.random.normal(k, (i, o)) * (2 / i) ** 0.5
            for k, i, o in zip(keys, sizes[:-1], sizes[1:], strict=True)
        )
        biases = tuple(jnp.zeros(o) for o in sizes[1:])
        return cls(weights=weights, biases=biases, activation=activation)

    def __call__(self, x: Float[Array, "*batch i"]) -> Float[Array, "*batch o"]:
        *hidden, last = zip(self.weights, self.biases, strict=True)
        y = x
        for w, b in hidden:
            y = activate(_affine(y, w, b), self.activation)
        return _affine(y, *last).astype(x.dtype)
