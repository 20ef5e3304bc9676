"""The curves between two matrices, by name.

Axes: `*shape` any axes.
"""

from collections.abc import Callable
from functools import partial

import jax
from jaxtyping import Array, Float

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": partial(jax.nn.gelu, approximate=False),
    "gelu_tanh": partial(jax.nn.gelu, approximate=True),
    "identity": lambda x: x,
    "relu": jax.nn.relu,
    "sigmoid": jax.nn.sigmoid,
    "silu": jax.nn.silu,
}


def require_activation(activation: str) -> str:
    """The name itself, if there is a curve of that name; else raise ValueError."""
    if activation not in ACTIVATIONS:
        names = ", ".join(ACTIVATIONS)
        raise ValueError(f"activation must be one of {names}; got {activation!r}")
    return activation


def activate(x: Float[Array, "*shape"], activation: str) -> Float[Array, "*shape"]:
    """`x` through the activation of that name; an unknown name raises ValueError.

    "gelu" is the form with erf, "gelu_tanh" the approximation by tanh (Hendrycks and
    Gimpel, 2016, section 2); "silu" is x sigmoid(x), also called Swish.
    """
    return ACTIVATIONS[require_activation(activation)](x)
