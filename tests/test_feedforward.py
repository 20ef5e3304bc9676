import dataclasses
import inspect
import itertools

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from jax.test_util import check_grads

from blocks import (
    MLP,
    FeedForward,
    GLUFeedForward,
    cast,
    feed_forward,
    gated_hidden_size,
    glu,
)

CURVES = {
    "relu": lambda z: np.maximum(z, 0),
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "silu": lambda z: z / (1 + np.exp(-z)),
    "identity": lambda z: z,
}
each_curve = pytest.mark.parametrize("activation", CURVES)
each_layer = pytest.mark.parametrize("cls", [FeedForward, GLUFeedForward])
SMOOTH = {
    "FeedForward": lambda key: FeedForward.init(key, 4, 6, activation="gelu"),
    "GLUFeedForward": lambda key: GLUFeedForward.init(key, 4, 6, biases=True),
    "MLP": lambda key: MLP.init(key, (4, 6, 4), activation="gelu"),
}
each_init = pytest.mark.parametrize("init", SMOOTH.values(), ids=SMOOTH)


def drawn(*shape, dtype=jnp.float32):
    """By NumPy, for JAX compiles a generator of its own for each shape."""
    return jnp.asarray(np.random.default_rng(1).normal(size=shape), dtype)


def with_biases(layer):
    """The layer with biases all different, since zeros would hide a lost one."""
    count = itertools.count()

    def shift(b):
        return b + next(count) + jnp.linspace(-1, 1, b.size)

    biases = {name: b for name, b in vars(layer).items() if name.startswith("b")}
    return dataclasses.replace(layer, **jax.tree.map(shift, biases))


def wide(module):
    return {
        name: np.asarray(value, np.float64)
        for name, value in vars(module).items()
        if isinstance(value, jax.Array)
    }


@each_curve
@pytest.mark.parametrize("biases", [True, False])
def test_two_matrices_are_the_formula_of_2017(key, activation, biases):
    layer = FeedForward.init(key, 4, 6, activation=activation, biases=biases)
    layer = with_biases(layer)
    x = drawn(2, 3, 4)
    w, curve = wide(layer), CURVES[activation]
    hidden = curve(np.asarray(x, np.float64) @ w["w_in"] + w.get("b_in", 0))
    expected = hidden @ w["w_out"] + w.get("b_out", 0)
    np.testing.assert_allclose(layer(x), expected, rtol=1e-5, atol=1e-5)


@each_curve
@pytest.mark.parametrize("biases", [True, False])
def test_a_gated_layer_is_the_formula_of_2020(key, activation, biases):
    layer = GLUFeedForward.init(key, 4, 6, activation=activation, biases=biases)
    layer = with_biases(layer)
    x = drawn(2, 3, 4)
    w, wide_x = wide(layer), np.asarray(x, np.float64)
    gate = CURVES[activation](wide_x @ w["w_gate"] + w.get("b_gate", 0))
    up = wide_x @ w["w_up"] + w.get("b_up", 0)
    expected = (gate * up) @ w["w_down"] + w.get("b_down", 0)
    np.testing.assert_allclose(layer(x), expected, rtol=1e-5, atol=1e-5)


def test_the_printed_gated_layers(key):
    layer = GLUFeedForward.init(key, 4, 6)
    assert layer(jnp.ones((3, 4))).shape == (3, 4)
    assert len(jax.tree.leaves(layer)) == 3 and layer.activation == "silu"
    x, one = jnp.array([1.0, 2.0]), jnp.eye(2)
    silu = x * jax.nn.sigmoid(x)
    np.testing.assert_allclose(silu, [0.7311, 1.7616], atol=5e-5)
    np.testing.assert_allclose(glu(x, one, one / 2, one), [0.3655, 1.7616], atol=5e-5)


def test_the_functions_have_the_defaults_of_the_classes(key):
    plain, gated = FeedForward.init(key, 4, 6), GLUFeedForward.init(key, 4, 6)
    assert len(jax.tree.leaves(plain)) == 4
    x = jnp.ones((2, 4))
    by_function = feed_forward(x, plain.w_in, plain.w_out)
    np.testing.assert_allclose(plain(x), by_function, rtol=1e-5, atol=1e-6)
    by_function = glu(x, gated.w_gate, gated.w_up, gated.w_down)
    np.testing.assert_allclose(gated(x), by_function, rtol=1e-5, atol=1e-6)


@each_layer
def test_a_token_is_worked_on_by_itself(key, cls):
    layer = cls.init(key, 4, 6)
    x = drawn(2, 3, 4)
    expected = jnp.stack([jnp.stack([layer(token) for token in row]) for row in x])
    np.testing.assert_allclose(layer(x), expected, rtol=1e-5, atol=1e-6)


def test_with_the_identity_the_two_sides_of_a_gate_may_change_places(key):
    layer = GLUFeedForward.init(key, 4, 6, activation="identity")
    x = drawn(3, 4)
    swapped = dataclasses.replace(layer, w_gate=layer.w_up, w_up=layer.w_gate)
    np.testing.assert_allclose(swapped(x), layer(x), rtol=1e-5, atol=1e-6)
    silu = [dataclasses.replace(m, activation="silu") for m in (layer, swapped)]
    assert jnp.abs(silu[0](x) - silu[1](x)).max() > 1e-3


@each_layer
def test_biases_begin_at_zero_and_do_not_change_the_draw_of_the_weights(key, cls):
    bare, biased = (cls.init(key, 4, 6, biases=b) for b in (False, True))
    assert bare.activation == biased.activation
    for name, value in vars(biased).items():
        if name.startswith("w_"):
            np.testing.assert_array_equal(value, getattr(bare, name))
        elif name.startswith("b_"):
            assert getattr(bare, name) is None and not value.any()


@each_layer
def test_weights_begin_with_variance_one_over_the_features_in(key, cls):
    for name, value in vars(cls.init(key, 200, 800)).items():
        if name.startswith("w_"):
            np.testing.assert_allclose(value.std(), value.shape[0] ** -0.5, rtol=0.02)


@each_layer
def test_matrices_of_one_layer_are_drawn_apart(key, cls):
    *drawn, back = [v for n, v in vars(cls.init(key, 5, 5)).items() if n[:2] == "w_"]
    assert all(jnp.abs(w - back).max() > 0.1 for w in drawn)
    assert cls is FeedForward or jnp.abs(drawn[0] - drawn[1]).max() > 0.1


@each_init
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_narrow_layers_answer_in_the_dtype_of_x(key, init, dtype):
    layer = with_biases(init(key))
    x = drawn(3, 4)
    exact, tolerance = layer(x), 32 * float(jnp.finfo(dtype).eps)
    for weights in layer, cast(layer, dtype):
        y = weights(x.astype(dtype))
        assert y.dtype == dtype
        np.testing.assert_allclose(y.astype(jnp.float32), exact, atol=tolerance)
    assert cast(layer, dtype)(x).dtype == jnp.float32


@each_init
@pytest.mark.usefixtures("float64")
def test_gradients(key, init):
    layer = cast(with_biases(init(key)), jnp.float64)
    x = drawn(2, 4, dtype=jnp.float64)
    check_grads(jax.jit(lambda layer, x: layer(x)), (layer, x), order=1, modes="rev")


def test_two_thirds_of_the_hidden_size_rounded_up_to_a_multiple():
    assert [gated_hidden_size(f) for f in (3072, 100)] == [2048, 67]
    assert gated_hidden_size(16384, multiple=256) == 11008  # Llama of width 4096


def test_a_gated_layer_of_that_size_has_as_many_weights(key):
    def count(cls, f):
        shapes = jax.eval_shape(lambda: cls.init(key, 8, f, biases=False))
        return sum(leaf.size for leaf in jax.tree.leaves(shapes))

    assert count(GLUFeedForward, gated_hidden_size(96)) == count(FeedForward, 96)


@pytest.mark.parametrize("f, multiple", [(0, 1), (-3, 1), (10.5, 1), (9, 0), (9, 1.5)])
def test_a_hidden_size_is_a_whole_number(f, multiple):
    text = f"^sizes must be whole and at least 1; got f={f}, multiple={multiple}$"
    with pytest.raises(ValueError, match=text):
        inspect.unwrap(gated_hidden_size)(f, multiple=multiple)


@pytest.mark.parametrize("activation", ["relu", "sigmoid"])
@pytest.mark.parametrize("sizes", [(4, 6), [4, 6, 4, 6]])
def test_an_mlp_has_an_activation_between_its_layers_and_none_after(
    key, activation, sizes
):
    mlp = with_biases(MLP.init(key, sizes, activation=activation))
    x = drawn(3, 4)
    y = np.asarray(x, np.float64)
    for i, (w, b) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
        y = (y if i == 0 else CURVES[activation](y)) @ np.asarray(w) + np.asarray(b)
    np.testing.assert_allclose(mlp(x), y, rtol=1e-5, atol=1e-5)


def test_an_mlp_begins_with_relu_zero_biases_and_the_variance_of_he(key):
    mlp = MLP.init(key, [200, 800, 200])
    assert mlp.activation == "relu" and not any(b.any() for b in mlp.biases)
    for w in mlp.weights:
        np.testing.assert_allclose(w.std(), (2 / w.shape[0]) ** 0.5, rtol=0.02)
    assert jnp.abs(mlp.weights[0][:, :200] - mlp.weights[1][:200]).max() > 0.1


def mlp_of(key, *sizes, **settings):
    return MLP.init(key, sizes, **settings)


def test_an_mlp_needs_an_input_and_an_output(key):
    with pytest.raises(ValueError) as error:
        MLP.init(key, [4])
    assert str(error.value) == "sizes must name at least input and output; got [4]"


@pytest.mark.parametrize("make", [FeedForward.init, GLUFeedForward.init, mlp_of])
def test_an_unknown_activation_is_refused_before_the_first_call(key, make):
    with pytest.raises(ValueError, match="^activation must be one of .* got 'swish'$"):
        make(key, 4, 6, activation="swish")


@each_init
def test_features_that_are_not_floating_are_refused(key, init, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match="with floating numbers; got int32"):
        init(key)(jnp.ones((3, 4), int))
