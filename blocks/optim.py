"""The optimisers by name: what each adds to the weights at every update.

Throughout, `g` is the gradient, `w` a weight, and `adam(g)` the direction of
`scale_by_adam`. `lr` and `eta` are numbers or schedules of the updates done (0, 1, …).
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import ScalarLike

from blocks.transforms import (
    Mask,
    Schedule,
    Transform,
    add_decay,
    add_momentum,
    chain,
    scale_by_adam,
    scale_by_rate,
)


def sgd(lr: ScalarLike | Schedule, *, momentum: ScalarLike = 0.0) -> Transform:
    r"""Gradient descent: $w \gets w - \mathrm{lr}_t \, m$, where m gathers g.

    Without momentum, m is g. Robbins and Monro (1951); momentum: Polyak (1964).
    """
    return chain(add_momentum(momentum), scale_by_rate(lr))


def sgd_l2(
    lr: ScalarLike | Schedule,
    *,
    weight_decay: ScalarLike,
    momentum: ScalarLike = 0.0,
    mask: Mask | None = None,
) -> Transform:
    r"""Gradient descent on the loss plus weight_decay times half the squared weights.

    $$ m \gets \mathrm{momentum} \cdot m
       + \mathrm{lr}_t \, (g + \mathrm{weight\_decay} \, w), \quad w \gets w - m $$

    m gathers steps, as in the paper. `sgd`, torch and optax gather gradients and apply
    the rate of the moment: another path where the rate changes and momentum is not 0.
    `mask(params)` is True where decay acts; without it, everywhere.

    Loshchilov and Hutter (2019), algorithm 1, lines 6 and 8.
    """
    return chain(
        add_decay(weight_decay, mask=mask), scale_by_rate(lr), add_momentum(momentum)
    )


def sgdw(
    lr: ScalarLike | Schedule,
    *,
    weight_decay: ScalarLike,
    eta: ScalarLike | Schedule = 1.0,
    momentum: ScalarLike = 0.0,
    mask: Mask | None = None,
) -> Transform:
    r"""Gradient descent whose decay touches neither the momentum nor the learning rate.

    $$ m \gets \mathrm{momentum} \cdot m + \mathrm{lr}_t \, g, \quad
       w \gets w - m - \eta_t \, \mathrm{weight\_decay} \, w $$

    Without momentum it is `sgd_l2` whose decay is eta times `weight_decay` over `lr`.
    Line 8 of the paper is `lr` = eta times alpha, as in `adamw`. `mask(params)` is True
    where decay acts; without it, everywhere. A schedule as `weight_decay` raises
    ValueError: it belongs to `eta`.

    Loshchilov and Hutter (2019), algorithm 1, lines 8 and 9.
    """
    return chain(
        scale_by_rate(lr),
        add_momentum(momentum),
        _decoupled(weight_decay, eta, mask),
    )


def adam(
    lr: ScalarLike | Schedule,
    *,
    b1: ScalarLike = 0.9,
    b2: ScalarLike = 0.999,
    eps: ScalarLike = 1e-8,
) -> Transform:
    r"""$w \gets w - \mathrm{lr}_t \, \mathrm{adam}(g)$, without any decay.

    Kingma and Ba (2015), algorithm 1.
    """
    return chain(scale_by_adam(b1=b1, b2=b2, eps=eps), scale_by_rate(lr))


def adam_l2(
    lr: ScalarLike | Schedule,
    *,
    weight_decay: ScalarLike,
    b1: ScalarLike = 0.9,
    b2: ScalarLike = 0.999,
    eps: ScalarLike = 1e-8,
    mask: Mask | None = None,
) -> Transform:
    r"""$w \gets w - \mathrm{lr}_t \, \mathrm{adam}(g + \mathrm{weight\_decay} \, w)$.

    The decay passes through the moments, so a weight with large gradients decays less.
    This is L2 regularisation. `mask(params)` is True where decay acts; without it,
    everywhere.

    Loshchilov and Hutter (2019), algorithm 2, line 6.
    """
    return chain(
        add_decay(weight_decay, mask=mask),
        scale_by_adam(b1=b1, b2=b2, eps=eps),
        scale_by_rate(lr),
    )


def adamw(
    lr: ScalarLike | Schedule,
    *,
    weight_decay: ScalarLike,
    eta: ScalarLike | Schedule = 1.0,
    b1: ScalarLike = 0.9,
    b2: ScalarLike = 0.999,
    eps: ScalarLike = 1e-8,
    mask: Mask | None = None,
) -> Transform:
    r"""The paper's AdamW: the decay touches neither the moments nor the learning rate.

    $$ w \gets w - \mathrm{lr}_t \, \mathrm{adam}(g)
       - \eta_t \, \mathrm{weight\_decay} \, w $$

    The paper's line 12 scales both terms by one schedule of size 1 at its peak:
    `adamw(lambda t: eta(t) * alpha, weight_decay=..., eta=eta)`. `mask(params)` is True
    where decay acts; without it, everywhere (see `decay_matrices`). `weight_decay` has
    no default, for the same number means less by a factor `lr` in `adamw_lr`. A
    schedule in its place raises ValueError: it belongs to `eta`.

    Loshchilov and Hutter (2019), algorithm 2, line 12.
    """
    return chain(
        scale_by_adam(b1=b1, b2=b2, eps=eps),
        scale_by_rate(lr),
        _decoupled(weight_decay, eta, mask),
    )


def _decoupled(
    weight_decay: Any, eta: ScalarLike | Schedule, mask: Mask | None
) -> Transform:
    """Take `eta * weight_decay * w` from each weight, whatever else its update does."""
    if callable(weight_decay):
        raise ValueError("weight_decay must be a number; its schedule is given as eta")

    def decay(t):
        return -jnp.asarray(eta(t) if callable(eta) else eta) * weight_decay

    return add_decay(decay, mask=mask)


def adamw_lr(
    lr: ScalarLike | Schedule,
    *,
    weight_decay: ScalarLike,
    b1: ScalarLike = 0.9,
    b2: ScalarLike = 0.999,
    eps: ScalarLike = 1e-8,
    mask: Mask | None = None,
) -> Transform:
    r"""AdamW as torch and optax have it: the learning rate multiplies the decay.

    $$ w \gets w - \mathrm{lr}_t \, (\mathrm{adam}(g) + \mathrm{weight\_decay} \, w) $$

    `mask(params)` is True where decay acts; without it, everywhere. At a constant rate
    it is `adamw` with eta times the decay equal to `lr * weight_decay`.
    """
    return chain(
        scale_by_adam(b1=b1, b2=b2, eps=eps),
        add_decay(weight_decay, mask=mask),
        scale_by_rate(lr),
    )
