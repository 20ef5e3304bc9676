import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from blocks import (
    MLP,
    FeedForward,
    GLUFeedForward,
    KVCache,
    LayerNorm,
    LearnedPositions,
    MultiHeadAttention,
    RMSNorm,
    adamw,
    adamw_lr,
    apply_updates,
    decay_matrices,
    decay_table,
    matrix_axes,
)


def two_layers(key):
    """Every kind of module, by name in a dict, with `layers` stacked for a scan."""

    def layer(key):
        return {
            "attention": MultiHeadAttention.init(key, 4, 2, biases=True),
            "norms": [RMSNorm.init(4), LayerNorm.init(4)],
            "hidden": (FeedForward.init(key, 4, 8), GLUFeedForward.init(key, 4, 8)),
        }

    return {
        "layers": jax.vmap(layer)(jax.random.split(key)),
        "mlp": MLP.init(key, [4, 8, 2]),
        "positions": LearnedPositions.init(key, 9, 4),
        "dense": {"kernel": jnp.ones((2, 2)), "bias": jnp.ones(2), "w": jnp.ones(2)},
        "embedding": jnp.ones((5, 4)),
    }


def test_matrices_alone_decay_also_in_stacked_layers(key):
    shapes = jax.eval_shape(two_layers, key)
    params = jax.tree.map(
        lambda array: jnp.asarray(np.full(array.shape, 2, np.float32)), shapes
    )
    assert params["layers"]["norms"][0].scale.shape == (2, 4)

    def one_step(params, optimizer):
        zeros = jax.tree.map(jnp.zeros_like, params)
        updates, _ = optimizer.update(zeros, optimizer.init(params), params)
        return apply_updates(params, updates)

    for make, decayed in (adamw_lr, 1.98), (adamw, 1.8):
        made = make(0.1, weight_decay=0.1, mask=decay_matrices)
        after = jax.jit(one_step, static_argnums=1)(params, made)
        layers, dense = after["layers"], after["dense"]
        attention, (ff, gated) = layers["attention"], layers["hidden"]
        shrunk = [attention.w_q, attention.w_k, attention.w_v, attention.w_o]
        shrunk += [ff.w_in, ff.w_out, gated.w_gate, gated.w_up, gated.w_down]
        shrunk += [*after["mlp"].weights, dense["kernel"], dense["w"]]
        kept = [attention.b_q, attention.b_k, attention.b_v, attention.b_o]
        kept += [*jax.tree.leaves(layers["norms"]), ff.b_in, ff.b_out]
        kept += [*after["mlp"].biases, dense["bias"]]
        kept += [after["positions"].table, after["embedding"]]
        assert len(shrunk) + len(kept) == len(jax.tree.leaves(after))
        for array in shrunk:
            np.testing.assert_allclose(array, decayed, rtol=1e-6)
        for array in kept:
            np.testing.assert_array_equal(array, 2.0)


def test_the_table_of_a_model_says_what_decays(key):
    model = {"norm": RMSNorm.init(4), "mlp": MLP.init(key, [4, 8, 2])}
    assert decay_table(model) == [
        ("mlp.weights.0", (4, 8), True),
        ("mlp.weights.1", (8, 2), True),
        ("mlp.biases.0", (8,), False),
        ("mlp.biases.1", (2,), False),
        ("norm.scale", (4,), False),
    ]


def test_a_row_for_each_array_of_stacked_layers_from_shapes_alone(key):
    shapes = jax.eval_shape(two_layers, key)
    rows = decay_table(shapes)
    assert len(rows) == len(jax.tree.leaves(shapes))
    assert len({path for path, _, _ in rows}) == len(rows)
    for row in (
        ("layers.norms.0.scale", (2, 4), False),
        ("layers.norms.1.bias", (2, 4), False),
        ("layers.attention.b_q", (2, 2, 2), False),
        ("layers.attention.w_q", (2, 4, 2, 2), True),
        ("layers.hidden.1.w_gate", (2, 4, 8), True),
        ("positions.table", (9, 4), False),
        ("embedding", (5, 4), False),
    ):
        assert row in rows


def test_a_table_is_of_the_mask_that_is_given():
    params = {"a": jnp.ones((2, 3)), "b": {"c": jnp.ones(4)}}
    rows = decay_table(params, lambda params: {"a": np.bool_(False), "b": {"c": True}})
    assert rows == [("a", (2, 3), False), ("b.c", (4,), True)]
    assert all(type(decays) is bool for _, _, decays in rows)


def test_the_axes_of_a_matrix_are_told_by_name_also_in_stacked_layers(key):
    def axes(model):
        found = matrix_axes(model)
        attention, (ff, gated) = found["attention"], found["hidden"]
        assert attention.w_q == attention.w_k == attention.w_v == (1, 2)
        assert attention.w_o == (2, 1)
        assert ff.w_in == ff.w_out == gated.w_gate == gated.w_down == (1, 1)
        assert attention.b_q is ff.b_in is found["norms"][0].scale is None

    model = jax.eval_shape(two_layers, key)["layers"]
    axes(model)
    axes(jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), model))


@pytest.mark.parametrize(
    "params, text",
    [
        (
            {"deep": [{"w": jnp.ones(3)}]},
            "['deep'][0]['w'] is named as a matrix of 2 axes or more; got shape (3,)",
        ),
        (
            {"w_q": jnp.ones((3, 4))},
            "['w_q'] is named as a matrix of 3 axes or more; got shape (3, 4)",
        ),
    ],
)
def test_a_matrix_by_name_has_the_axes_of_one(params, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        matrix_axes(params)


@pytest.mark.parametrize(
    "params, name",
    [
        ({"layer": {"q_proj": jnp.ones(2)}}, r"\['layer'\]\['q_proj'\]"),
        ([{"weighted": jnp.ones(2)}], r"\[0\]\['weighted'\]"),
        (KVCache.init(1, 2, 1, 2), r"\.k"),
    ],
)
def test_a_name_that_says_nothing_is_refused(params, name):
    text = (
        f"^decay_matrices cannot tell whether {name} decays: name it w_… or b_…, or "
        "one of w, weight, weights, kernel, b, bias, biases, scale, table, embedding$"
    )
    with pytest.raises(ValueError, match=text):
        decay_matrices(params)
