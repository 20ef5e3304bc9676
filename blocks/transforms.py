"""The parts of an optimiser: pairs of pure functions, composed by `chain`.

The protocol is that of optax, so each part here may stand in an `optax.chain`, and each
of theirs in ours. A learning rate or decay may be a number or a schedule: a function
of the number of updates done (0, 1, …).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree, ScalarLike

from blocks.numerics import known, norm, upcast

Schedule = Callable[[Int[Array, ""]], ScalarLike]
Mask = Callable[[PyTree], PyTree]


class Transform(NamedTuple):
    """`init(params)` gives a state; `update(updates, state, params)` gives new updates
    and the next state. Gradients enter the first transform of a chain; what leaves the
    last is added to the parameters by `apply_updates`.
    """

    init: Callable[..., Any]
    update: Callable[..., tuple[PyTree, Any]]


class AdamState(NamedTuple):
    t: Int[Array, ""]  # updates done
    m: PyTree  # running mean of g
    v: PyTree  # running mean of g²


def chain(*transforms: Any) -> Transform:
    """Give the updates of each transform to the next; optax's serve as well as ours."""

    def init(params):
        return tuple(transform.init(params) for transform in transforms)

    def update(updates, state, params=None):
        states = []
        for transform, old in zip(transforms, state, strict=True):
            updates, new = transform.update(updates, old, params)
            states.append(new)
        return updates, tuple(states)

    return Transform(init, update)


def apply_updates(params: PyTree, updates: PyTree) -> PyTree:
    """`params + updates`, each array in the dtype of its parameter.

    An update of another shape than its parameter raises ValueError.
    """

    def add(p, u):
        if jnp.shape(u) != jnp.shape(p):
            raise ValueError(
                "an update has the shape of its parameter, "
                f"{jnp.shape(p)}; got {jnp.shape(u)}"
            )
        return (p + u).astype(p.dtype)

    return jax.tree.map(add, params, updates)


def require_settling(**factors: ScalarLike) -> None:
    """Raise ValueError where what is kept of a sum or mean is not in [0, 1)."""
    for name, factor in factors.items():
        if (b := known(factor)) is not None and not 0 <= b < 1:
            raise ValueError(f"{name} must lie in [0, 1); got {b}")


def bias_correction(b: ScalarLike, t: Int[Array, ""]) -> Float[Array, ""]:
    """1 - b^t, by way of expm1 since b is near 1.

    The logarithm has the precision of b itself: a Python number's error would
    otherwise differ from that of the 1 - b that it has to undo.
    """
    if isinstance(b, int | float):
        return -jnp.expm1(t * (math.log(b) if b else -math.inf))
    return -jnp.expm1(t * jnp.log(b))


def scale_by_adam(
    *, b1: ScalarLike = 0.9, b2: ScalarLike = 0.999, eps: ScalarLike = 1e-8
) -> Transform:
    r"""Divide a running mean of the gradient by the root of that of its square.

    $$ m \gets \beta_1 m + (1-\beta_1) g, \quad v \gets \beta_2 v + (1-\beta_2) g^2,
       \quad u = \frac{m / (1-\beta_1^t)}{\sqrt{v / (1-\beta_2^t)} + \epsilon} $$

    The means are kept in float32 or wider. A `b1` or `b2` outside [0, 1) raises
    ValueError.

    Kingma and Ba (2015), algorithm 1.
    """
    require_settling(b1=b1, b2=b2)

    def init(params):
        zeros = jax.tree.map(lambda p: jnp.zeros_like(upcast(p)), params)
        return AdamState(t=jnp.zeros((), jnp.int32), m=zeros, v=zeros)

    def update(updates, state, params=None):
        t = state.t + 1
        g = jax.tree.map(upcast, updates)
        m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.m, g)
        v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g**2, state.v, g)
        c1, c2 = bias_correction(b1, t), bias_correction(b2, t)
        u = jax.tree.map(lambda m, v: (m / c1) / (jnp.sqrt(v / c2) + eps), m, v)
        return u, AdamState(t, m, v)

    return Transform(init, update)


def add_momentum(momentum: ScalarLike) -> Transform:
    r"""Replace the gradient by $m \gets \mathrm{momentum} \cdot m + g$, kept in float32
    or wider. A `momentum` outside [0, 1) raises ValueError.

    Polyak (1964); here without the factor (1 - momentum).
    """
    require_settling(momentum=momentum)

    def init(params):
        return jax.tree.map(lambda p: jnp.zeros_like(upcast(p)), params)

    def update(updates, state, params=None):
        m = jax.tree.map(lambda m, g: momentum * m + g, state, updates)
        return m, m

    return Transform(init, update)


def _by_schedule(value: ScalarLike | Schedule, change: Callable) -> Transform:
    """Map updates and parameters through `change(value at this update, u, params)`."""

    def update(updates, t, params=None):
        now = value(t) if callable(value) else value
        return change(now, updates, params), t + 1

    return Transform(lambda params: jnp.zeros((), jnp.int32), update)


def scale_by_rate(lr: ScalarLike | Schedule) -> Transform:
    """Turn a direction of ascent into a step of descent: multiply it by -lr."""

    def change(rate, updates, params):
        return jax.tree.map(lambda u: -rate * u, updates)

    return _by_schedule(lr, change)


def add_decay(decay: ScalarLike | Schedule, *, mask: Mask | None = None) -> Transform:
    """Add `decay * p` to the update of each parameter where `mask(params)` is True.

    Before `scale_by_adam` this is L2 regularisation; after it, decoupled decay. Added
    in float32 or wider. An update without `params`, and a mask that is no function,
    raise ValueError.
    """
    if not (mask is None or callable(mask)):
        raise ValueError(
            "a mask is a function of the parameters, such as decay_matrices or "
            f"lambda params: tree; got {type(mask).__name__}"
        )

    def change(now, updates, params):
        if params is None:
            raise ValueError("weight decay needs params: update(grads, state, params)")
        chosen = jax.tree.map(lambda _: True, params) if mask is None else mask(params)
        return jax.tree.map(
            lambda u, p, on: upcast(u) + now * upcast(p) if on else u,
            updates,
            params,
            chosen,
        )

    return _by_schedule(decay, change)


def clip_by_global_norm(limit: ScalarLike) -> Transform:
    """Scale all updates together so that their joint norm is at most `limit`.

    An infinite limit changes nothing; one that is not positive raises ValueError.

    Pascanu, Mikolov and Bengio (2013), algorithm 1.
    """

    if (number := known(limit)) is not None and not number > 0:
        raise ValueError(f"a limit of the norm is positive; got {limit}")

    def update(updates, state, params=None):
        norms = [norm(upcast(u)) for u in jax.tree.leaves(updates)]
        joint = norm(jnp.array(norms)) if norms else 0.0
        factor = jnp.where(jnp.greater(joint, limit), limit / joint, 1.0)
        return jax.tree.map(lambda u: (u * factor).astype(u.dtype), updates), state

    return Transform(lambda params: (), update)
