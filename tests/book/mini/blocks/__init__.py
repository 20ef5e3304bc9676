"""A package of one function, for a book of three pages."""

__all__ = ["half"]


def half(x: float) -> float:
    """x divided by two."""
    return x / 2
