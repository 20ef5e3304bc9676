r"""The size at which a weight rests when decay shrinks it and noise makes it grow.

The weight is scale-invariant: the loss sees $w / r$ alone, where r is the RMS of w. So
its gradient is orthogonal to it and the smaller, the larger it is. Here the gradient is
noise of RMS $1 / r$; learning rate and decay are constant. Where decay does not hold a
weight, there is no size at which it rests, and the formulas give NaN.

Axes: `d` features of the weight, `t` updates.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray, ScalarLike

from blocks.norms import rms_norm
from blocks.transforms import Transform, apply_updates


def _rest(grown: ScalarLike, shrunk: ScalarLike, power: int) -> Float[Array, ""]:
    """The r at which what noise adds to r^power meets what decay takes, as a share."""
    found = (jnp.asarray(grown, float) / shrunk) ** (1 / power)
    return jnp.where(jnp.asarray(shrunk) > 0, found, jnp.nan)


def sgd_l2_rms(
    lr: ScalarLike, decay: ScalarLike, *, momentum: ScalarLike = 0.0
) -> Float[Array, ""]:
    r"""The RMS at which `sgd_l2` holds a weight, with $\mu$ the momentum:

    $$ r^4 = \frac{\mathrm{lr}}
       {(1-\mu)\, \lambda\, (2 - \mathrm{lr}\,\lambda / (1+\mu))}
       \approx \frac{\mathrm{lr} / (1-\mu)}{2 \lambda} $$

    For all `lr * decay` below 2 (1 + momentum), where decay begins to overshoot.
    """
    taken = (1 - momentum) * decay * (2 - lr * decay / (1 + momentum))
    return _rest(lr, taken, 4)


def sgdw_rms(
    lr: ScalarLike, decay: ScalarLike, *, momentum: ScalarLike = 0.0
) -> Float[Array, ""]:
    r"""The RMS at which `sgdw` holds a weight, with $a = 1 - \lambda$:

    $$ r^4 = \frac{\mathrm{lr}^2}{(1-\mu^2)(1-a^2)} \cdot \frac{1+a\mu}{1-a\mu}
       \approx \frac{(\mathrm{lr} / (1-\mu))^2}{2 \lambda} $$

    For a decay between 0 and 2.
    """
    a = 1 - decay
    noise = lr**2 / (1 - momentum**2) * (1 + a * momentum) / (1 - a * momentum)
    return _rest(noise, decay * (2 - decay), 4)


def adam_l2_rms(lr: ScalarLike, decay: ScalarLike) -> Float[Array, ""]:
    r"""The RMS at which `adam_l2` holds a weight: $r^3 = \mathrm{lr} / (2 \lambda)$.

    Adam divides the decay by the gradient's size, $1 / r$; so the share taken at each
    update is $\mathrm{lr}\,\lambda\,r$. Up to a share of 0.15 it holds to 2 percent,
    for it leaves out what the decay adds to that size.
    """
    return _rest(lr, 2 * decay, 3)


def adamw_rms(
    lr: ScalarLike, decay: ScalarLike, *, b1: ScalarLike = 0.9
) -> Float[Array, ""]:
    r"""The RMS at which `adamw` holds a weight, with $a = 1 - \lambda$:

    $$ r^2 = \mathrm{lr}^2 \frac{1-\beta_1}{1+\beta_1} \cdot
       \frac{1+a\beta_1}{1-a\beta_1} \cdot \frac{1}{1-a^2}
       \approx \frac{\mathrm{lr}^2}{2 \lambda} $$

    For a decay between 0 and 2. Weights that are not scale-invariant rest there as well
    if all they see is noise.
    """
    a = 1 - decay
    noise = (1 - b1) / (1 + b1) * (1 + a * b1) / (1 - a * b1)
    return _rest(lr**2 * noise, decay * (2 - decay), 2)


def adamw_lr_rms(
    lr: ScalarLike, decay: ScalarLike, *, b1: ScalarLike = 0.9
) -> Float[Array, ""]:
    r"""The RMS at which `adamw_lr` holds a weight: that of `adamw` with the decay
    `lr * decay`, so $r^2 \approx \mathrm{lr} / (2 \lambda)$.
    """
    return adamw_rms(lr, lr * decay, b1=b1)


def sizes(
    optimizer: Transform, key: PRNGKeyArray, w: Float[Array, "d"], *, steps: int
) -> Float[Array, "{steps}"]:
    """The RMS of a weight after each of `steps` updates, its gradients nothing but
    noise behind `rms_norm`.
    """

    def noise_seen(w, noise):
        return noise @ rms_norm(w, jnp.ones_like(w), eps=0.0)

    def step(carry, key):
        w, state = carry
        g = jax.grad(noise_seen)(w, jax.random.normal(key, w.shape))
        updates, state = optimizer.update(g, state, w)
        w = apply_updates(w, updates)
        return (w, state), jnp.sqrt(jnp.mean(w**2))

    keys = jax.random.split(key, steps)
    return lax.scan(step, (w, optimizer.init(w)), keys)[1]
