"""The first difference between two results, as a clause of a sentence."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path


def difference(value: Any, expected: Any) -> str:
    """Say how `value` differs from `expected`, or "" if it does not.

    Both are trees of arrays and numbers. Looked at in this order: structure, then type,
    shape and dtype of every leaf, then NaN and the numbers. NaN agrees with NaN.
    """
    leaves, structure = tree_flatten_with_path(value)
    wanted, wanted_structure = tree_flatten_with_path(expected)
    if structure != wanted_structure:
        ours, theirs = _kind(value), _kind(expected)
        if ours == theirs:
            ours, theirs = (_outline(tree) for tree in (structure, wanted_structure))
        return f"you return {ours} where the block returns {theirs}"
    for differ in (_form_difference, _number_difference):
        for (path, leaf), (_, wanted_leaf) in zip(leaves, wanted, strict=True):
            if found := differ(leaf, wanted_leaf):
                place = keystr(path)
                return (
                    f"in the part {place} of your result, {found}" if place else found
                )
    return ""


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray | np.generic)


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex) and not _is_array(value)


def _kind(value: Any) -> str:
    if _is_array(value):
        return f"an array of shape {value.shape}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, dict):
        return f"a dict with the keys {', '.join(map(str, value)) or '(none)'}"
    return f"a value of type {type(value).__name__}"


def _outline(structure: Any) -> str:
    return str(structure).removeprefix("PyTreeDef(").removesuffix(")")


def _form_difference(leaf: Any, wanted: Any) -> str:
    alike = type(leaf) is type(wanted) or (_is_array(leaf) and _is_array(wanted))
    if _is_number(wanted) and _is_array(leaf):
        # The block computes in Python here; a 0-d array of the same kind will do.
        alike = _rank(leaf) == _rank(np.asarray(wanted))
    if not alike:
        return f"you return {_kind(leaf)} where the block returns {_kind(wanted)}"
    if np.shape(leaf) != np.shape(wanted):
        return f"your shape is {np.shape(leaf)} and the block's is {np.shape(wanted)}"
    if _is_array(wanted) and leaf.dtype != wanted.dtype:
        return f"your dtype is {leaf.dtype} and the block's is {wanted.dtype}"
    return ""


def _rank(array: Any) -> int:
    """0 for booleans, 1 for integers, 2 for floats, 3 for complex numbers, -1 else."""
    kinds = jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating
    return next((i for i, k in enumerate(kinds) if jnp.issubdtype(array.dtype, k)), -1)


def _number_difference(leaf: Any, wanted: Any) -> str:
    ours, theirs = np.asarray(leaf), np.asarray(wanted)
    rank = _rank(theirs)
    agree = np.asarray(ours == theirs)
    if rank >= 2:
        info = jnp.finfo(theirs.dtype)
        # In double precision half precision, too, has its differences exact.
        wide = np.complex128 if rank == 3 else np.float64
        ours, theirs = ours.astype(wide), theirs.astype(wide)
        nan = np.isnan(ours) & ~np.isnan(theirs)
        if nan.any():
            return f"you have NaN{_place(nan)[1]} where the block has a number"
        scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0) or 1.0
        tolerance = (4 if info.bits <= 16 else 100) * float(info.eps) * scale
        with np.errstate(invalid="ignore"):  # inf - inf; equal ones agree already
            close = np.abs(ours - theirs) <= tolerance
        agree = agree | close | (np.isnan(ours) & np.isnan(theirs))
    if agree.all():
        return ""
    index, words = _place(~agree)
    mine, block = ours.item(index), theirs.item(index)
    if rank >= 2:
        digits = ".9g" if f"{mine:.6g}" == f"{block:.6g}" else ".6g"
        mine, block = f"{mine:{digits}}", f"{block:{digits}}"
    if rank < 0:
        return f"your value is {mine!r}{words}; the block has {block!r}"
    first = "the first wrong number is" if words else "your number is"
    return f"{first} {mine}{words}; the block has {block}"


def _place(wrong: Any) -> tuple[tuple[int, ...], str]:
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    return index, f" at {list(index)}" if index else ""
