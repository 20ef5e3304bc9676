"""Muon: momentum, turned into the nearest matrix that stretches nothing.

Axes: `*stack` matrices side by side, such as layers; `i` what a matrix reads, `o` what
it writes.
"""

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree, ScalarLike

from blocks.numerics import norm, upcast
from blocks.optim import adam
from blocks.parameters import split, two_axes
from blocks.transforms import (
    Mask,
    Schedule,
    Transform,
    add_decay,
    bias_correction,
    chain,
    require_settling,
    scale_by_rate,
)

Axes = Callable[[PyTree], PyTree]
Quintic = tuple[ScalarLike, ScalarLike, ScalarLike]
QUINTIC = 3.4445, -4.7750, 2.0315


class MuonState(NamedTuple):
    t: Int[Array, ""]  # updates done
    m: PyTree  # running mean of g


def _require_steps(steps: Any) -> None:
    if not isinstance(steps, Integral) or steps < 0:
        raise ValueError(f"steps must be an int from 0 on; got {steps!r}")


def orthogonalize(
    x: Float[Array, "*stack i o"],
    *,
    steps: int = 5,
    coefficients: Quintic = QUINTIC,
    eps: ScalarLike = 1e-8,
) -> Float[Array, "*stack i o"]:
    r"""Each matrix with its singular vectors kept and its singular values near 1.

    $$ X \gets X / (\lVert X \rVert_F + \epsilon), \quad
       \text{then in each step} \quad
       X \gets a X + b X X^\top X + c (X X^\top)^2 X $$

    Each step maps every singular value s to a s + b s³ + c s⁵. By default those above
    0.002 of the norm end between 0.68 and 1.21: the coefficients are chosen for a steep
    start, not to settle at 1. Computed in float32 or wider; a matrix of zeros stays.
    Fewer than two axes, and `steps` that are no int from 0 on, raise ValueError.

    Jordan et al. (2024), Newton-Schulz iteration.
    """
    _require_steps(steps)
    if jnp.ndim(x) < 2:
        raise ValueError(f"a matrix has two axes, i and o; got shape {jnp.shape(x)}")
    a, b, c = coefficients
    wide = upcast(x)
    tall = wide.shape[-2] > wide.shape[-1]
    y = jnp.matrix_transpose(wide) if tall else wide  # the smaller square will do
    y = y / (norm(y, axis=(-2, -1)) + eps)
    for _ in range(steps):
        square = y @ jnp.matrix_transpose(y)
        y = a * y + (b * square + c * square @ square) @ y
    return jnp.asarray(jnp.matrix_transpose(y) if tall else y, x.dtype)


def scale_by_muon(
    *,
    momentum: ScalarLike = 0.95,
    nesterov: bool = True,
    corrected: bool = True,
    steps: int = 5,
    coefficients: Quintic = QUINTIC,
    eps: ScalarLike = 1e-8,
    consistent_rms: ScalarLike | None = None,
    matrices: Axes | None = None,
) -> Transform:
    r"""Orthogonalise a running mean of the gradient of each matrix, and size it.

    $$ m \gets \beta m + (1-\beta) g, \quad
       u = \mathrm{orthogonalize}(\beta m + (1-\beta) g) \sqrt{\max(1, o/i)} $$

    $\beta$ is `momentum`; without `nesterov`, m itself is orthogonalised. Where
    `corrected`, as in optax, means do not start small: m is divided by
    $1-\beta^{t+1}$ and g by $1-\beta^t$ (m, without Nesterov, by that). The paper and
    torch do not; with Nesterov the first updates differ. `consistent_rms` puts itself
    times $\sqrt{\max(i, o)}$ for the last factor; 0.2 is the size of Adam's updates
    (Liu et al., 2025). `matrices(params)` says for each array how many of its last axes
    are read and written, as `matrix_axes` does; without it every array is (i, o). The
    mean is kept in float32 or wider. An array that is no matrix, a `momentum` outside
    [0, 1) and `steps` that are no int from 0 on raise ValueError.

    Jordan et al. (2024).
    """
    _require_steps(steps)
    find = matrices or two_axes
    require_settling(momentum=momentum)

    def turn(path, u, axes):
        if axes is None:
            raise ValueError(
                f"Muon moves matrices; {jax.tree_util.keystr(path) or 'the update'} "
                f"of shape {u.shape} is none and needs another optimiser"
            )
        reads, writes = axes
        stack = u.shape[: u.ndim - reads - writes]
        i = math.prod(u.shape[len(stack) : len(stack) + reads])
        o = math.prod(u.shape[u.ndim - writes :])
        matrix = u.reshape(*stack, i, o)
        turned = orthogonalize(matrix, steps=steps, coefficients=coefficients, eps=eps)
        size = max(1, o / max(1, i)) ** 0.5
        if consistent_rms is not None:
            size = consistent_rms * max(i, o) ** 0.5
        return turned.reshape(u.shape) * size

    def init(params):
        zeros = jax.tree.map(lambda p: jnp.zeros_like(upcast(p)), params)
        return MuonState(t=jnp.zeros((), jnp.int32), m=zeros)

    def update(updates, state, params=None):
        t, b = state.t + 1, momentum
        g = jax.tree.map(upcast, updates)
        m = jax.tree.map(lambda m, g: b * m + (1 - b) * g, state.m, g)
        now = bias_correction(b, t) if corrected else 1.0
        then = bias_correction(b, t + 1) if corrected else 1.0

        def mix(m, g):
            return b * m / then + (1 - b) * g / now if nesterov else m / now

        mixed = jax.tree.map(mix, m, g)
        return jax.tree.map_with_path(turn, mixed, find(updates)), MuonState(t, m)

    return Transform(init, update)


def muon(
    lr: ScalarLike | Schedule,
    *,
    weight_decay: ScalarLike = 0.0,
    momentum: ScalarLike = 0.95,
    nesterov: bool = True,
    corrected: bool = True,
    steps: int = 5,
    coefficients: Quintic = QUINTIC,
    eps: ScalarLike = 1e-8,
    consistent_rms: ScalarLike | None = None,
    mask: Mask | None = None,
    matrices: Axes | None = None,
    rest: Any = None,
) -> Transform:
    r"""Muon for the matrices, and another optimiser for the rest.

    $$ w \gets w - \mathrm{lr}_t \, (u + \mathrm{weight\_decay} \, w) $$

    u is the direction of `scale_by_muon`. The learning rate multiplies the decay, as in
    `adamw_lr`; the method itself has none. `mask(params)` is True at the matrices that
    decay; without it, all of them do. Without `matrices` each array of two axes is one,
    as in optax: so are the gains of stacked layers, and their matrices are not.
    `matrix_axes` tells them by name. `rest`, one of our optimisers or optax's, moves
    the other arrays; without it, `adam(lr)`.

    Jordan et al. (2024); with decay, Liu et al. (2025).
    """
    direction = scale_by_muon(
        momentum=momentum,
        nesterov=nesterov,
        corrected=corrected,
        steps=steps,
        coefficients=coefficients,
        eps=eps,
        consistent_rms=consistent_rms,
        matrices=matrices,
    )
    find, second = matrices or two_axes, adam(lr) if rest is None else rest
    on = mask or (lambda params: jax.tree.map(lambda _: True, params))

    def first(params=None, axes=None):
        # A mask is asked about all parameters, for it may not know a part of them.
        decay = add_decay(weight_decay, mask=lambda _: split(on(params), axes)[0])
        return chain(direction, decay, scale_by_rate(lr))

    def init(params):
        ours, others = split(params, find(params))
        return first().init(ours), second.init(others)

    def update(updates, state, params=None):
        axes = find(updates)
        of = zip(split(updates, axes), state, split(params, axes), strict=True)
        ours, one = first(params, axes).update(*next(of))
        others, two = second.update(*next(of))
        return jax.tree.map(
            lambda _, a, u, v: v if a is None else u, updates, axes, ours, others
        ), (one, two)

    return Transform(init, update)
