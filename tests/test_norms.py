import dataclasses
import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from blocks import LayerNorm, RMSNorm, cast, layer_norm, rms_norm

TORCH_DEFAULT = float(np.finfo(np.float32).eps)


def rms_by_the_paper(x, g, eps):
    """Zhang and Sennrich (2019), eq. 4, one number at a time."""
    y = np.empty_like(x)
    for where in np.ndindex(x.shape):
        row = x[where[:-1]]
        mean_square = sum(value * value for value in row) / len(row)
        y[where] = x[where] / (mean_square + eps) ** 0.5 * g[where[-1]]
    return y


def layer_by_the_paper(x, g, b, eps):
    """Ba, Kiros and Hinton (2016), section 3, one number at a time."""
    y = np.empty_like(x)
    for where in np.ndindex(x.shape):
        row = x[where[:-1]]
        mean = sum(row) / len(row)
        variance = sum((value - mean) ** 2 for value in row) / len(row)
        y[where] = (x[where] - mean) / (variance + eps) ** 0.5 * g[where[-1]]
        y[where] += b[where[-1]]
    return y


GAIN, BIAS = jnp.linspace(0.5, 1.5, 5), jnp.linspace(-1.0, 1.0, 5)
SIMPLE = {
    "rms_norm": lambda x, eps=1e-5: rms_norm(x, jnp.ones(x.shape[-1]), eps=eps),
    "layer_norm": lambda x, eps=1e-5: layer_norm(
        x, jnp.ones(x.shape[-1]), jnp.zeros(x.shape[-1]), eps=eps
    ),
}
each_norm = pytest.mark.parametrize("norm", SIMPLE.values(), ids=SIMPLE)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5)])
@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_the_norms_are_the_formulas_of_the_papers(key, shape, eps):
    x = 2 + jax.random.normal(key, shape)
    wide, g, b = (np.asarray(a, np.float64) for a in (x, GAIN, BIAS))
    np.testing.assert_allclose(
        rms_norm(x, GAIN, eps=eps), rms_by_the_paper(wide, g, eps), rtol=2e-6
    )
    np.testing.assert_allclose(
        layer_norm(x, GAIN, BIAS, eps=eps),
        layer_by_the_paper(wide, g, b, eps),
        rtol=1e-5,
        atol=2e-6,
    )


@pytest.mark.parametrize(
    "x, gain, out, eps",
    [
        ("x", "rms_w", "rms_out_eps1e5", 1e-5),
        ("x", "rms_none_w", "rms_out_epsNone", TORCH_DEFAULT),
        ("tiny_x", "rms_w", "rms_tiny_eps1e5", 1e-5),
        ("tiny_x", "rms_none_w", "rms_tiny_epsNone", TORCH_DEFAULT),
    ],
)
def test_rms_norm_agrees_with_torch(golden, x, gain, out, eps):
    saved = golden("torch_norms")
    norm = RMSNorm(scale=jnp.array(saved[gain]), eps=eps)
    np.testing.assert_allclose(norm(jnp.array(saved[x])), saved[out], atol=5e-6)


@pytest.mark.parametrize(
    "x, out, eps",
    [
        ("x", "ln_out", 1e-5),
        ("tiny_x", "ln_tiny_out_eps1e5", 1e-5),
        ("tiny_x", "ln_tiny_out_eps1e12", 1e-12),
    ],
)
def test_layer_norm_agrees_with_torch(golden, x, out, eps):
    saved = golden("torch_norms")
    scale, bias = jnp.array(saved["ln_w"]), jnp.array(saved["ln_b"])
    norm = LayerNorm(scale=scale, bias=bias, eps=eps)
    np.testing.assert_allclose(norm(jnp.array(saved[x])), saved[out], atol=5e-6)


def test_the_printed_rows():
    y = RMSNorm.init(2, eps=1e-12)(jnp.array([[3.0, 4.0], [1.0, 1.0]]))
    # A device's rsqrt may err in the last bit.
    np.testing.assert_allclose(y, [[0.84852815, 1.1313709], [1, 1]], rtol=1e-7)


def test_eps_stands_inside_the_root():
    x = jnp.array([1e-3, -2e-3, 2e-3, 4e-3])
    expected = [0.37139068, -0.74278135, 0.74278135, 1.48556271]
    np.testing.assert_allclose(SIMPLE["rms_norm"](x, eps=1e-6), expected, rtol=1e-5)


def test_the_variance_divides_by_the_number_of_features():
    x = jnp.array([1.0, 2.0, 4.0, 9.0])
    expected = [-0.97332801, -0.64888534, 0, 1.62221336]
    np.testing.assert_allclose(SIMPLE["layer_norm"](x), expected, atol=1e-6)


@each_norm
def test_a_longer_vector_in_the_same_direction_gives_the_same_result(key, norm):
    x = jax.random.normal(key, (4, 8))
    np.testing.assert_allclose(norm(1e3 * x), norm(x), rtol=1e-3, atol=1e-4)


def test_layer_norm_alone_forgets_a_shift(key):
    x = jax.random.normal(key, (4, 8))
    layer, rms = SIMPLE["layer_norm"], SIMPLE["rms_norm"]
    np.testing.assert_allclose(layer(x + 3), layer(x), atol=1e-5)
    assert jnp.abs(rms(x + 3) - rms(x)).max() > 0.1


def test_the_results_have_the_size_that_the_norms_promise(key):
    x = 3 + 5 * jax.random.normal(key, (4, 64))
    rms, layer = SIMPLE["rms_norm"](x), SIMPLE["layer_norm"](x)
    np.testing.assert_allclose(jnp.mean(rms**2, axis=-1), 1, rtol=1e-4)
    np.testing.assert_allclose(jnp.mean(layer, axis=-1), 0, atol=1e-5)
    np.testing.assert_allclose(jnp.var(layer, axis=-1), 1, rtol=1e-4)


@each_norm
def test_a_token_does_not_see_the_others(key, norm):
    x = jax.random.normal(key, (2, 3, 8))
    before, after = norm(x), norm(x.at[0, 1].set(100.0))
    np.testing.assert_allclose(after.at[0, 1].set(0), before.at[0, 1].set(0), rtol=1e-6)


@each_norm
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_constant_vectors_have_finite_results_and_gradients(norm, value):
    x = jnp.full((2, 4), value)
    centred = value == 0 or norm is SIMPLE["layer_norm"]
    np.testing.assert_allclose(norm(x), 0.0 if centred else 1.0, rtol=1e-6)
    assert jnp.isfinite(jax.grad(lambda x: (norm(x) * x).sum())(x)).all()


@each_norm
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_statistics_of_narrow_vectors_are_taken_in_float32(key, norm, dtype):
    x = (1 + jax.random.normal(key, (4, 4096))).astype(dtype)
    narrow, exact = norm(x), norm(x.astype(jnp.float32))
    assert narrow.dtype == dtype
    np.testing.assert_array_equal(narrow, exact.astype(dtype))


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_the_gains_of_narrow_vectors_act_in_float32_too(key, dtype):
    x = (1 + jax.random.normal(key, (64, 5))).astype(dtype)
    wide = x.astype(jnp.float32)
    for norm in lambda x: rms_norm(x, GAIN), lambda x: layer_norm(x, GAIN, BIAS):
        assert norm(x).dtype == dtype
        np.testing.assert_array_equal(norm(x), norm(wide).astype(dtype))


def test_float16_neither_overflows_nor_vanishes_in_the_squares():
    rms, layer = SIMPLE["rms_norm"], SIMPLE["layer_norm"]
    large, small = (jnp.full(4, value, jnp.float16) for value in (300, 1e-4))
    signs = jnp.array([1, -1, 1, -1], jnp.float16)
    np.testing.assert_allclose(rms(large, eps=1e-6), np.float16(1), atol=2e-3)
    np.testing.assert_allclose(rms(small, eps=1e-12), np.float16(1), atol=2e-2)
    np.testing.assert_allclose(layer(large * signs), signs, atol=2e-3)
    np.testing.assert_allclose(layer(small * signs, eps=1e-12), signs, atol=2e-2)


@pytest.mark.usefixtures("float64")
def test_gradients(key):
    x = jax.random.normal(key, (3, 5), jnp.float64)
    g, b = GAIN.astype(jnp.float64), BIAS.astype(jnp.float64)
    check_grads(jax.jit(rms_norm), (x, g), order=2)
    check_grads(jax.jit(layer_norm), (x, g, b), order=2)
    assert rms_norm(x, g).dtype == layer_norm(x, g, b).dtype == jnp.float64


@each_norm
def test_eps_may_be_traced(key, norm):
    x = jax.random.normal(key, (2, 4))
    traced = jax.jit(norm)(x, 0.5)
    np.testing.assert_allclose(traced, norm(x, eps=0.5), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("cls", [RMSNorm, LayerNorm])
def test_the_classes_pass_their_parameters_and_eps_on(key, cls):
    x = 2 + jax.random.normal(key, (3, 5))
    norm = cls.init(5, eps=0.5)
    kind = "rms_norm" if cls is RMSNorm else "layer_norm"
    np.testing.assert_allclose(norm(x), SIMPLE[kind](x, 0.5), rtol=1e-6)
    assert jnp.abs(norm(x) - cls.init(5)(x)).max() > 0.01
    trained = dataclasses.replace(norm, scale=GAIN)
    np.testing.assert_allclose(trained(x), norm(x) * GAIN, rtol=1e-6)
    assert cast(trained, jnp.bfloat16)(x).dtype == x.dtype


def test_layer_norm_adds_its_bias_last(key):
    x = jax.random.normal(key, (3, 5))
    norm = LayerNorm(scale=GAIN, bias=BIAS)
    without = LayerNorm(scale=GAIN, bias=jnp.zeros(5))
    np.testing.assert_allclose(norm(x), without(x) + BIAS, atol=1e-6)


def test_the_layers_begin_with_one_eps():
    scale = jnp.ones(2)
    assert RMSNorm(scale=scale).eps == RMSNorm.init(2).eps == 1e-5
    assert LayerNorm(scale=scale, bias=scale).eps == LayerNorm.init(2).eps == 1e-5


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (3, 5)])
def test_gains_have_the_shape_of_one_vector(shape):
    # The shape checks of these tests would refuse before the functions can.
    rms, layer = inspect.unwrap(rms_norm), inspect.unwrap(layer_norm)
    x, wrong = jnp.ones((3, 5)), jnp.ones(shape)
    for name, call in [
        ("scale", lambda: rms(x, wrong)),
        ("scale", lambda: layer(x, wrong, BIAS)),
        ("bias", lambda: layer(x, GAIN, wrong)),
    ]:
        text = f"{name} must have the shape (d,) = (5,) of one vector; got {shape}"
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            call()
