import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from programs import compare

inf, nan = np.inf, np.nan
FLOATS = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        -2.5,
        3.25,
        1e-7,
        -40.0,
        1e9,
        inf,
        -inf,
        nan,
    ],
    np.float32,
)
INTS = np.array([0, 1, -1, 7, -7, 31, 32, 40, 2**31 - 1, -(2**31)], np.int32)
UINTS = np.array([0, 1, 7, 31, 32, 2**31, 2**32 - 1], np.uint32)
BOOLS = np.array([True, False])


def pairs(values):
    """Every value beside every other."""
    return np.repeat(values, len(values)), np.tile(values, len(values))


UNARY = (
    "abs cbrt ceil cos exp exp2 expm1 floor is_finite log log1p logistic neg rsqrt "
    "sign sin sqrt square tan tanh erf erfc sinh cosh asinh atan"
).split()


@pytest.mark.parametrize("name", UNARY)
def test_a_float_goes_through_one_primitive(name):
    x = FLOATS[np.abs(FLOATS) < 1e5] if name in ("sin", "cos", "tan") else FLOATS
    compare(getattr(lax, name), x, rtol=3e-6)


@pytest.mark.parametrize("name", ["asin", "acos", "atanh"])
def test_a_primitive_is_nan_outside_its_domain(name):
    compare(getattr(lax, name), np.float32([-2.0, -0.5, 0.25, 0.5, 3.0]), rtol=3e-6)


def test_acosh():
    compare(lax.acosh, np.float32([0.5, 1.0, 1.5, 30.0]), rtol=3e-6)


def test_gradual_functions_keep_their_digits_near_zero():
    small = np.float32([1e-6, -1e-6, 1e-4, 3e-3])
    for function in (lax.erf, lax.expm1, lax.log1p, lax.tanh, lax.sin):
        compare(function, small, rtol=1e-6)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "max", "min", "rem"])
def test_two_floats(name):
    compare(getattr(lax, name), *pairs(FLOATS))


def test_powers():
    bases, exponents = pairs(
        np.float32([0.5, 1.0, -1.0, 2.0, 0.0, 3.0, inf, nan, -inf])
    )
    compare(lax.pow, bases, exponents, rtol=3e-6)
    x = np.float32([0.5, -2.0, 3.0, 0.0, inf])
    for y in (-3, -1, 0, 1, 2, 3, 8):
        compare(lambda x, y=y: lax.integer_pow(x, y), x)
    for y in (0, 1, 2, 3, 8):
        compare(lambda x, y=y: lax.integer_pow(x, y), INTS)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "rem", "max", "min"])
@pytest.mark.parametrize("values", [INTS, UINTS], ids=["int32", "uint32"])
def test_two_integers_wrap_around(name, values):
    compare(getattr(lax, name), *pairs(values))


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
@pytest.mark.parametrize("values", [INTS, UINTS, BOOLS], ids=["int", "uint", "bool"])
def test_bits(name, values):
    compare(getattr(lax, name), *pairs(values))
    compare(lax.bitwise_not, values)


@pytest.mark.parametrize(
    "name", ["shift_left", "shift_right_logical", "shift_right_arithmetic"]
)
@pytest.mark.parametrize("values", [INTS, UINTS], ids=["int32", "uint32"])
def test_shifts(name, values):
    by = np.array([0, 1, 5, 31, 32, 40], values.dtype)
    compare(getattr(lax, name), np.repeat(values, len(by)), np.tile(by, len(values)))


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize(
    "values", [FLOATS, INTS, UINTS, BOOLS], ids=["float", "int", "uint", "bool"]
)
def test_comparisons(name, values):
    compare(getattr(lax, name), *pairs(values))


def test_whole_and_signed_numbers_of_integers():
    compare(lambda x: (jnp.abs(x), jnp.sign(x), -x), INTS)


@pytest.mark.parametrize("method", list(lax.RoundingMethod))
def test_rounding_of_halves(method):
    x = np.float32(
        [0.5, 1.5, 2.5, -0.5, -1.5, -0.2, 0.2, 7.0, 0.0, -0.0, inf, -inf, nan]
    )
    compare(lambda x: lax.round(x, method), x)


def test_conversion_between_dtypes():
    x = np.float32([0.0, -0.5, 2.7, -2.7, 1e10, -1e10, inf, -inf, nan])
    compare(lambda x: (x.astype(jnp.int32), x.astype(jnp.uint32), x.astype(bool)), x)
    compare(lambda x: (x.astype(jnp.float32), x.astype(jnp.uint32), x != 0), INTS)
    compare(lambda x: (x.astype(jnp.float32), x.astype(jnp.int32)), UINTS)
    compare(lambda x: (x.astype(jnp.float32), x.astype(jnp.int32), x ^ True), BOOLS)


def test_a_choice_by_boolean_and_by_number():
    a, b = FLOATS, FLOATS[::-1]
    compare(lambda p, a, b: jnp.where(p, a, b), a > 0, a, b)
    which = np.arange(15, dtype=np.int32) % 3
    compare(lambda w, a, b: lax.select_n(w, a, b, a + b), which, a, b)


def test_clamping():
    compare(lambda x: jnp.clip(x, -1.0, 2.0), FLOATS)
    compare(lambda x: lax.clamp(-1.0, x, jnp.float32(2.0)), FLOATS)
    compare(lambda x: jnp.clip(x, -5, 30), INTS)


def test_results_of_products_are_rounded_at_each_step():
    x = np.float32([0.1, 0.2, 0.7, 1 / 3])
    compare(lambda x: (x * x) * x - x * (x * x), x, atol=1e-12)


def test_no_axes_and_no_elements():
    compare(lambda x: jnp.exp(x) + 1, np.float32(0.5))
    compare(lambda x: jnp.exp(x) + 1, np.zeros((0, 3), np.float32))
    compare(lambda x: jnp.exp(x) + 1, np.zeros((1, 1), np.float32))


def test_what_only_matters_to_jax_leaves_no_trace():
    compare(lambda x: lax.stop_gradient(jax.checkpoint(jnp.sin)(x)), np.float32([1.0]))
