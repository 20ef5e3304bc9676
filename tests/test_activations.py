import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from blocks import activate, glu

FORMULAS = {
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: (
        x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
    ),
    "identity": lambda x: x,
    "relu": lambda x: max(x, 0.0),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "silu": lambda x: x / (1 + math.exp(-x)),
}
# softplus and mish stand in the golden file too, and belong to no block.
IN_TORCH = {
    "gelu": "gelu_erf",
    "gelu_tanh": "gelu_tanh",
    "relu": "relu",
    "sigmoid": "sigmoid",
    "silu": "silu",
}
each_name = pytest.mark.parametrize("name", FORMULAS)


@each_name
@pytest.mark.parametrize("shape", [(48,), (4, 12), ()])
def test_each_name_is_its_formula(name, shape):
    x = jnp.linspace(-6.0, 6.0, math.prod(shape)).reshape(shape)
    expected = np.vectorize(FORMULAS[name])(np.asarray(x, np.float64))
    np.testing.assert_allclose(activate(x, name), expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", IN_TORCH)
def test_a_gate_agrees_with_torch(golden, name):
    saved = golden("activations")
    one = jnp.ones((1, 1))
    gate = glu(
        jnp.array(saved["x"])[:, None],
        one,
        jnp.zeros((1, 1)),
        one,
        b_up=jnp.ones(1),
        activation=name,
    )
    np.testing.assert_allclose(gate[:, 0], saved[IN_TORCH[name]], atol=5e-6)


def test_gelu_is_the_form_with_erf_unless_tanh_is_asked_for():
    one = jnp.float32(1)
    np.testing.assert_allclose(activate(one, "gelu"), 0.84134475, atol=1e-7)
    np.testing.assert_allclose(activate(one, "gelu_tanh"), 0.841192, atol=1e-6)
    x = jnp.linspace(-6.0, 6.0, 12001)
    gap = jnp.abs(activate(x, "gelu") - activate(x, "gelu_tanh"))
    np.testing.assert_allclose(gap.max(), 4.732e-4, atol=1e-6)
    np.testing.assert_allclose(jnp.abs(x[gap.argmax()]), 2.6989, atol=0.05)


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "relu", "silu"])
def test_what_a_gate_holds_back_of_x_it_lets_through_of_minus_x(name):
    x = jnp.linspace(-4.0, 4.0, 17)
    difference = activate(x, name) - activate(-x, name)
    np.testing.assert_allclose(difference, x, rtol=1e-6, atol=1e-6)


@each_name
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_a_narrow_dtype_is_kept(name, dtype):
    x = jnp.linspace(-6.0, 6.0, 49).astype(dtype)
    y = activate(x, name)
    exact = activate(x.astype(jnp.float32), name)
    assert y.dtype == dtype
    step = 8 * float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(y.astype(jnp.float32), exact, rtol=step, atol=step)


@each_name
def test_far_out_results_and_gradients_are_finite(name):
    x = jnp.array([-1e4, -100.0, 0.0, 100.0, 1e4])
    value, slope = jax.vmap(jax.value_and_grad(lambda x: activate(x, name)))(x)
    assert jnp.isfinite(value).all() and jnp.isfinite(slope).all()
    if name not in ("identity", "sigmoid"):
        np.testing.assert_allclose(value, jnp.maximum(x, 0))
        np.testing.assert_allclose(slope[jnp.array([0, 4])], [0, 1], atol=1e-6)


def test_the_slope_of_relu_at_its_corner_is_zero():
    assert jax.grad(activate)(0.0, "relu") == 0  # that of jnp.maximum would be a half


@each_name
@pytest.mark.usefixtures("float64")
def test_gradients(name):
    x = jnp.array([-2.5, -0.4, 0.3, 1.7])  # away from the corner of relu
    check_grads(jax.jit(lambda x: activate(x, name)), (x,), order=1)


def test_an_unknown_name_is_refused():
    names = "gelu, gelu_tanh, identity, relu, sigmoid, silu"
    with pytest.raises(ValueError) as error:
        activate(jnp.ones(2), "swish")
    assert str(error.value) == f"activation must be one of {names}; got 'swish'"
