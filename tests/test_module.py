import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from blocks import (
    MLP,
    FeedForward,
    GLUFeedForward,
    LayerNorm,
    RMSNorm,
    module,
    static,
)

LAYERS = {
    "RMSNorm": lambda key: RMSNorm.init(4),
    "LayerNorm": lambda key: LayerNorm.init(4),
    "FeedForward": lambda key: FeedForward.init(key, 4, 6),
    "GLUFeedForward": lambda key: GLUFeedForward.init(key, 4, 6),
    "MLP": lambda key: MLP.init(key, [4, 6, 4]),
}
each_layer = pytest.mark.parametrize("init", LAYERS.values(), ids=LAYERS)


@pytest.fixture
def x():
    return jax.random.normal(jax.random.key(9), (3, 4))


@each_layer
def test_a_layer_may_be_an_argument_of_a_compiled_function(key, x, init):
    layer = init(key)
    compiled = jax.jit(lambda layer, x: layer(x))(layer, x)
    np.testing.assert_allclose(compiled, layer(x), rtol=1e-5, atol=1e-6)


@each_layer
def test_stacked_layers_run_under_vmap_and_scan(key, x, init):
    keys = jax.random.split(key, 3)
    stacked = jax.vmap(init)(keys)
    layers = [init(k) for k in keys]
    side_by_side = jax.vmap(lambda layer: layer(x))(stacked)
    np.testing.assert_allclose(
        side_by_side, jnp.stack([layer(x) for layer in layers]), rtol=1e-5, atol=1e-5
    )
    through, _ = jax.lax.scan(lambda y, layer: (layer(y), None), x, stacked)
    expected = x
    for layer in layers:
        expected = layer(expected)
    np.testing.assert_allclose(through, expected, rtol=1e-4, atol=1e-4)


@each_layer
def test_shapes_of_a_layer_are_known_without_computing_it(key, init):
    shapes = jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), init(key))
    abstract = jax.eval_shape(init, key)
    found = jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), abstract)
    assert jax.tree.leaves(found) == jax.tree.leaves(shapes)
    assert jax.tree.structure(abstract) == jax.tree.structure(init(key))


@each_layer
def test_the_gradient_of_a_layer_is_a_layer(key, x, init):
    layer = init(key)
    grads = jax.grad(lambda layer: layer(x).sum())(layer)
    assert jax.tree.structure(grads) == jax.tree.structure(layer)
    assert any(jnp.abs(g).max() > 0 for g in jax.tree.leaves(grads))
    assert all(jnp.isfinite(g).all() for g in jax.tree.leaves(grads))


def test_leaves_are_the_arrays_and_settings_belong_to_the_structure():
    norm = RMSNorm.init(4, eps=1e-3)
    assert [leaf.shape for leaf in jax.tree.leaves(norm)] == [(4,)]
    assert jax.tree.structure(norm) != jax.tree.structure(RMSNorm.init(4, eps=1e-2))
    assert jax.tree.map(lambda leaf: leaf + 1, norm).eps == 1e-3


def test_leaves_carry_the_names_of_their_fields(key):
    paths, _ = zip(
        *jax.tree_util.tree_leaves_with_path(FeedForward.init(key, 2, 3)), strict=True
    )
    names = [jax.tree_util.keystr(path) for path in paths]
    assert names == [".w_in", ".w_out", ".b_in", ".b_out"]


def test_jax_compiles_anew_for_each_value_of_a_setting(x):
    traced = []

    @jax.jit
    def apply(norm, x):
        traced.append(norm.eps)
        return norm(x)

    for eps in (1e-5, 1.0, 1e-5):
        apply(RMSNorm.init(4, eps=eps), x)
    assert traced == [1e-5, 1.0]


def test_fields_are_given_by_keyword():
    with pytest.raises(TypeError, match="positional"):
        RMSNorm(2)


def test_a_module_does_not_change():
    norm = RMSNorm.init(2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        norm.eps = 1.0
    assert dataclasses.replace(norm, eps=1.0).eps == 1.0 and norm.eps == 1e-5


def test_modules_are_equal_only_to_themselves():
    norm = RMSNorm.init(2)
    assert norm == norm and norm != RMSNorm.init(2)
    assert len({norm, norm, RMSNorm.init(2)}) == 2


def test_a_module_may_hold_what_jax_puts_in_place_of_arrays(x):
    norm = RMSNorm.init(4)
    assert jax.tree.map(lambda _: None, norm).scale is None
    axes = RMSNorm(scale=0)
    scales = RMSNorm(scale=jnp.stack([jnp.ones(4), 2 * jnp.ones(4)]))
    y = jax.vmap(lambda norm, x: norm(x), in_axes=(axes, None))(scales, x)
    np.testing.assert_allclose(y[1], 2 * norm(x), rtol=1e-6)


def test_annotations_of_methods_are_checked():
    with pytest.raises(Exception, match="Type-check error"):
        RMSNorm.init(4)(jnp.ones((2, 4), jnp.int32))
    with pytest.raises(Exception, match="Type-check error"):
        RMSNorm.init(4)(jnp.ones((2, 5)))


def test_static_fields_take_the_options_of_dataclass_fields():
    @module
    class Named:
        name: str = static()
        unit: str = static(default="steps", repr=False)

    with pytest.raises(TypeError, match="name"):
        Named()
    assert repr(Named(name="a")).endswith("Named(name='a')")
    assert Named(name="a").unit == "steps" and jax.tree.leaves(Named(name="a")) == []
