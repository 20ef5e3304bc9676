"""The optimisers by name: what each adds to the weights at every update.

Throughout, `g` is the gradient, `w` a weight, and `adam(g)` the direction of
`scale_by_adam`. `lr` and `eta` are numbers or schedules of the updates done (0, 1, …).
"""

import jax
import jax.numpy as jnp
from jaxtyping import PyTree, ScalarLike

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
    if callable(weight_decay):
        raise ValueError("weight_decay must be a number; its schedule is given as eta")

    def decay(t):
        return -jnp.asarray(eta(t) if callable(eta) else eta) * weight_decay

    return chain(
        scale_by_adam(b1=b1, b2=b2, eps=eps),
        scale_by_rate(lr),
        add_decay(decay, mask=mask),
    )


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


_DECAYED = "w", "weight", "weights", "kernel"
_KEPT = "b", "bias", "biases", "scale", "table", "embedding"


def decay_matrices(params: PyTree) -> PyTree:
    """A mask for decay: True at the matrices, False at gains, biases and tables.

    Goes by the last name on the way to each array, since a gain that is stacked over
    layers has two axes like a matrix. `w_…`, `w`, `weight`, `weights` and `kernel`
    decay; `b_…`, `b`, `bias`, `biases`, `scale`, `table` and `embedding` do not.
    Another name raises ValueError.
    """

    def decays(path, _):
        named = [k for k in path if not isinstance(k, jax.tree_util.SequenceKey)]
        name = jax.tree_util.keystr(tuple(named[-1:]), simple=True)
        if name.startswith("w_") or name in _DECAYED:
            return True
        if name.startswith("b_") or name in _KEPT:
            return False
        raise ValueError(
            f"decay_matrices cannot tell whether {jax.tree_util.keystr(path)} decays: "
            f"name it w_… or b_…, or one of {', '.join(_DECAYED + _KEPT)}"
        )

    return jax.tree.map_with_path(decays, params)
