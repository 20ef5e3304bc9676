"""What each array of a model is to an optimiser, told by its name."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from blocks.transforms import Mask

_DECAYED = "w", "weight", "weights", "kernel"
_KEPT = "b", "bias", "biases", "scale", "table", "embedding"
# The weights of attention have an axis of heads beside that of their features.
_AXES = {"w_q": (1, 2), "w_k": (1, 2), "w_v": (1, 2), "w_o": (2, 1)}


def _name(path: Any) -> str:
    """The last name on the way to an array; places in a list are no names."""
    named = [k for k in path if not isinstance(k, jax.tree_util.SequenceKey)]
    return jax.tree_util.keystr(tuple(named[-1:]), simple=True)


def decay_matrices(params: PyTree) -> PyTree:
    """A mask for decay: True at the matrices, False at gains, biases and tables.

    Goes by the last name on the way to each array, since a gain that is stacked over
    layers has two axes like a matrix. `w_…`, `w`, `weight`, `weights` and `kernel`
    decay; `b_…`, `b`, `bias`, `biases`, `scale`, `table` and `embedding` do not.
    Another name raises ValueError.
    """

    def decays(path, _):
        name = _name(path)
        if name.startswith("w_") or name in _DECAYED:
            return True
        if name.startswith("b_") or name in _KEPT:
            return False
        raise ValueError(
            f"decay_matrices cannot tell whether {jax.tree_util.keystr(path)} decays: "
            f"name it w_… or b_…, or one of {', '.join(_DECAYED + _KEPT)}"
        )

    return jax.tree.map_with_path(decays, params)


def decay_table(
    params: PyTree, mask: Mask = decay_matrices
) -> list[tuple[str, tuple[int, ...], bool]]:
    """A row for each array of a model: the way to it, its shape, whether it decays.

    `params` holds arrays or their shapes (`jax.eval_shape`); `mask` is the one given to
    the optimiser.
    """
    arrays = jax.tree.leaves_with_path(params)
    return [
        (jax.tree_util.keystr(path, simple=True, separator="."), array.shape, bool(on))
        for (path, array), on in zip(arrays, jax.tree.leaves(mask(params)), strict=True)
    ]


def matrix_axes(params: PyTree) -> PyTree:
    """How many of the last axes of each array a matrix reads, and how many it writes.

    (1, 1) for `w_in`, (1, 2) for the `w_q` of attention, which writes heads and their
    features, (2, 1) for `w_o`, and None where `decay_matrices` has False: that array is
    no matrix. Axes before those are of a stack, such as layers, each with a matrix of
    its own. A name that says nothing, and fewer axes than two, raise ValueError.
    """

    def axes(path, array, decays):
        if not decays:
            return None
        reads, writes = _AXES.get(_name(path), (1, 1))
        if array.ndim < reads + writes:
            raise ValueError(
                f"{jax.tree_util.keystr(path)} is named as a matrix of "
                f"{reads + writes} axes or more; got shape {array.shape}"
            )
        return reads, writes

    return jax.tree.map_with_path(axes, params, decay_matrices(params))


def two_axes(params: PyTree) -> PyTree:
    """What `matrix_axes` says, by the number of axes alone: two of them make a matrix.

    So are the gains of stacked layers, and their matrices are not.
    """
    return jax.tree.map(lambda p: (1, 1) if jnp.ndim(p) == 2 else None, params)


def split(tree: PyTree, axes: PyTree) -> tuple[Any, Any]:
    """The matrices of a tree and the rest of it, with nothing where the others were."""
    if tree is None:
        return None, None
    return (
        jax.tree.map(lambda x, a: () if a is None else x, tree, axes),
        jax.tree.map(lambda x, a: x if a is None else (), tree, axes),
    )
