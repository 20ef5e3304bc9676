"""Primitives that act on the bits of integers, and the logic of booleans."""

from blocks.live.rules.elementwise import elementwise
from blocks.live.values import rounded


@elementwise("and")
def _and(w, _, dtype, a, b):
    return f"({a} && {b})" if dtype == "bool" else rounded(f"{a} & {b}", dtype)


@elementwise("or")
def _or(w, _, dtype, a, b):
    return f"({a} || {b})" if dtype == "bool" else rounded(f"{a} | {b}", dtype)


@elementwise("xor")
def _xor(w, _, dtype, a, b):
    return f"({a} !== {b})" if dtype == "bool" else rounded(f"{a} ^ {b}", dtype)


@elementwise("not")
def _not(w, _, dtype, a):
    return f"!{a}" if dtype == "bool" else rounded(f"~{a}", dtype)


@elementwise("shift_left")
def _shift_left(w, _, dtype, a, b):
    return rounded(f"({b} >>> 0 > 31 ? 0 : {a} << {b})", dtype)


@elementwise("shift_right_logical")
def _shift_right_logical(w, _, dtype, a, b):
    return rounded(f"({b} >>> 0 > 31 ? 0 : {a} >>> {b})", dtype)


@elementwise("shift_right_arithmetic")
def _shift_right_arithmetic(w, _, dtype, a, b):
    return rounded(f"{w.helper('shiftRight')}({a} | 0, {b})", dtype)
