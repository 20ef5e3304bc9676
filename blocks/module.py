"""What a module is here: a frozen dataclass that JAX can look inside."""

import dataclasses
from typing import Any, TypeVar, dataclass_transform

import jax

T = TypeVar("T")


def static(**options: Any) -> Any:
    """A field that belongs to the structure of a module; its value must be hashable.

    JAX compiles anew for each value of it and takes no gradient by it. `options` are
    those of `dataclasses.field`, such as `default`.
    """
    return dataclasses.field(metadata={"static": True}, **options)


# The mark by which jaxtyping leaves the fields of a dataclass alone.
_UNCHECKED_FIELDS = "__no_type_check__"


@dataclass_transform(
    frozen_default=True,
    eq_default=False,
    kw_only_default=True,
    field_specifiers=(static,),
)
def module(cls: type[T]) -> type[T]:
    """Make `cls` a frozen dataclass and a pytree whose leaves are its arrays.

    Fields are given by keyword. Two modules are equal only if they are the same
    object, since arrays compared one by one have no single truth value. JAX rebuilds
    a module through `__init__` with leaves of any kind (shapes, axes, `None`), so the
    annotations of fields say what belongs there and are not checked; those of
    functions and methods are.
    """
    cls = dataclasses.dataclass(frozen=True, eq=False, kw_only=True)(cls)
    setattr(cls, _UNCHECKED_FIELDS, True)
    return jax.tree_util.register_dataclass(cls)
