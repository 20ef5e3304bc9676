"""What `make bench` compares: the blocks, and their rivals with the same numbers.

A table of cases, chapter by chapter, and therefore long.
"""

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from bench_pairs import Case, Layer, Side, both_ways, first, forward, size_alone
from flax import linen

import blocks

KEY = jax.random.key(0)


def normal(seed: int, *shape: int) -> jax.Array:
    return jax.random.normal(jax.random.key(seed), shape)


def of_blocks(module: Any) -> Layer:
    return (lambda m, x: m(x)), module


def of_flax(module: linen.Module, **params: Any) -> Layer:
    return (lambda p, x: module.apply({"params": p}, x)), params


def of_equinox(like: Any, arrays: tuple, apply: Callable | None = None) -> Layer:
    """A module as `like`, with other arrays, run token by token or by `apply`."""
    places, rest = eqx.partition(like, eqx.is_array)

    def f(held, x):
        module = eqx.combine(held, rest)
        return apply(module, x) if apply else jax.vmap(jax.vmap(module))(x)

    return f, jax.tree.unflatten(jax.tree.structure(places), arrays)


def norms() -> Iterator[Case]:
    d = 512
    x, scale, bias = normal(1, 8, 512, d), 1 + normal(2, d) / 8, normal(3, d)
    rms = of_blocks(blocks.RMSNorm(scale=scale))
    layer = of_blocks(blocks.LayerNorm(scale=scale, bias=bias))
    rivals = {
        "flax": of_flax(linen.RMSNorm(epsilon=1e-5), scale=scale),
        "equinox": of_equinox(eqx.nn.RMSNorm(d, use_bias=False), (scale,)),
    }
    yield from both_ways("norms", "rms_norm", x, rms, rivals)
    rivals = {
        "flax": of_flax(linen.LayerNorm(epsilon=1e-5), scale=scale, bias=bias),
        "equinox": of_equinox(eqx.nn.LayerNorm(d), (scale, bias)),
    }
    yield from both_ways("norms", "layer_norm", x, layer, rivals)
    rivals = {"our layer_norm": layer}
    yield from both_ways("norms", "rms_norm", x, rms, rivals, size_alone)


def feedforward() -> Iterator[Case]:
    d, f = 256, 1536
    x = normal(1, 4, 128, d)
    two = blocks.FeedForward.init(KEY, d, f)
    glu = blocks.GLUFeedForward.init(KEY, d, blocks.gated_hidden_size(f))

    def dense(x, w, b=None):
        params = {"kernel": w} if b is None else {"kernel": w, "bias": b}
        layer = linen.Dense(w.shape[1], use_bias=b is not None)
        return layer.apply({"params": params}, x)

    def flax_two(m, x):
        return dense(linen.relu(dense(x, m.w_in, m.b_in)), m.w_out, m.b_out)

    def flax_gated(m, x):
        gate = linen.silu(dense(x, m.w_gate))
        return dense(gate * dense(x, m.w_up), m.w_down)

    def equinox_gated(m, x):
        gate, up, down = m
        return jax.vmap(jax.vmap(lambda v: down(jax.nn.silu(gate(v)) * up(v))))(x)

    mlp = eqx.nn.MLP(d, d, f, depth=1, key=KEY)
    arrays = two.w_in.T, two.b_in, two.w_out.T, two.b_out
    rivals = {"flax": (flax_two, two), "equinox": of_equinox(mlp, arrays)}
    plain = f"two matrices, f = {f}"
    yield from both_ways("feedforward", plain, x, of_blocks(two), rivals)
    arrays = glu.w_gate.T, glu.w_up.T, glu.w_down.T
    linears = tuple(eqx.nn.Linear(*w.T.shape, False, key=KEY) for w in arrays)
    equinox = of_equinox(linears, arrays, equinox_gated)
    rivals = {"flax": (flax_gated, glu), "equinox": equinox}
    gated = f"SwiGLU, f = {glu.w_up.shape[1]}"
    yield from both_ways("feedforward", gated, x, of_blocks(glu), rivals)
    rivals = {f"our {plain}": of_blocks(two)}
    yield from both_ways("feedforward", gated, x, of_blocks(glu), rivals, size_alone)


def rotary() -> Iterator[Case]:
    t, h = 512, 64
    x = normal(1, 2, t, 8, h)

    def angles() -> jax.Array:
        return blocks.rotary_angles(jnp.arange(t), h)[:, None]

    # Equinox's table, too, is a constant of the compiled program.
    constant = angles()

    def turn(pairs: str) -> Layer:
        return (lambda _, x: blocks.apply_rotary(x, constant, pairs=pairs)), ()

    def turn_anew(_, x):
        return blocks.apply_rotary(x, angles(), pairs="halves")

    heads = jax.vmap(eqx.nn.RotaryPositionalEmbedding(h), in_axes=1, out_axes=1)
    rivals = {
        "equinox": ((lambda _, x: jax.vmap(heads)(x)), ()),
        "the same, angles built inside jit": (turn_anew, ()),
    }
    name = "apply_rotary, {}, angles built before jit"
    yield from both_ways("rotary", name.format("halves"), x, turn("halves"), rivals)
    adjacent, rivals = turn("adjacent"), {"our halves": turn("halves")}
    name = name.format("adjacent")
    yield from both_ways("rotary", name, x, adjacent, rivals, size_alone)


def attention() -> Iterator[Case]:
    b, t, n, h, d = 2, 256, 8, 64, 512
    q, k, v = (normal(i, b, t, n, h) for i in range(3))
    causal = blocks.causal_mask(jnp.arange(t), jnp.arange(t))

    def ours(mask: jax.Array | None, kv: tuple = (k, v)) -> Layer:
        return (lambda kv, q: blocks.attend(q, *kv, mask=mask)), kv

    def theirs(mask: jax.Array | None) -> Layer:
        f = jax.nn.dot_product_attention
        return (lambda kv, q: f(q, *kv, mask=mask)), (k, v)

    for name, mask in ("attend", None), ("attend, causal", causal[None, None]):
        rivals = {"jax.nn": theirs(mask)}
        yield from both_ways("attention", name, q, ours(mask), rivals)
    few = k[:, :, :2], v[:, :, :2]
    eight = tuple(jnp.repeat(array, n // 2, axis=2) for array in few)
    rivals = {"8 key heads": ours(None, eight)}
    name = "attend, 2 key heads"
    yield from both_ways("attention", name, q, ours(None, few), rivals, first)

    x = normal(4, b, t // 2, d)
    mha = blocks.MultiHeadAttention.init(KEY, d, n)
    w = [mha.w_q, mha.w_k, mha.w_v]
    names = "query", "key", "value", "out"
    params = {k: {"kernel": w} for k, w in zip(names, [*w, mha.w_o], strict=True)}
    flax = linen.MultiHeadDotProductAttention(n, qkv_features=d, use_bias=False)
    arrays = tuple(a.reshape(d, d).T for a in (*w, mha.w_o))
    equinox = of_equinox(
        eqx.nn.MultiheadAttention(n, d, key=KEY),
        arrays,
        lambda m, x: jax.vmap(lambda row: m(row, row, row))(x),
    )
    rivals = {"flax": of_flax(flax, **params), "equinox": equinox}
    name = "MultiHeadAttention"
    yield from both_ways("attention", name, x, of_blocks(mha), rivals)
    yield decoding()


def decoding() -> Case:
    """Each token is made from the one before it by attention to all before it."""
    d, n, t = 256, 8, 64
    mha = blocks.MultiHeadAttention.init(KEY, d, n, rotary=True)
    x, steps = normal(1, 1, 1, d), jnp.arange(t)
    mask = blocks.causal_mask(steps, steps)

    def after(x, y):
        return blocks.rms_norm(x + y, jnp.ones(d))

    def cached(mha, x):
        def step(carry, i):
            x, cache = carry
            y, cache = mha.extend(x, cache, i)
            return (after(x, y), cache), y

        cache = blocks.KVCache.init(1, t, n, d // n)
        return jax.lax.scan(step, (x, cache), steps)[1]

    def anew(mha, x):
        def step(tokens, i):
            y = mha(tokens, mask=mask)[:, i][:, None]
            new = after(tokens[:, i][:, None], y)
            return tokens.at[:, i + 1].set(new[:, 0], mode="drop"), y

        tokens = jnp.zeros((1, t, d)).at[:, :1].set(x)
        return jax.lax.scan(step, tokens, steps)[1]

    sides = forward((cached, mha), x), forward((anew, mha), x)
    what = f"decoding {t} tokens with KVCache, (1, 1, {d})"
    return Case("attention", what, "the whole prefix at each token", *sides)


def updated(optimiser: Any, params: Any, grads: Any) -> Side:
    """One update, after some with other gradients: the first is little but a sign."""

    @jax.jit
    def step(params, state, grads):
        updates, state = optimiser.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    state = optimiser.init(params)
    for other in params, grads, params:
        _, state = step(params, state, other)
    return step, (params, state, grads)


def optim() -> Iterator[Case]:
    shapes = [(256, 512), (512,)] * 8
    params, grads = (
        {str(i): normal(i + seed, *shape) for i, shape in enumerate(shapes)}
        for seed in (0, 100)
    )
    size = sum(array.size for array in params.values())

    decay = {"weight_decay": 0.1}
    pairs = {
        "adam": (blocks.adam(1e-2), optax.adam(1e-2)),
        "adamw_lr": (blocks.adamw_lr(1e-2, **decay), optax.adamw(1e-2, **decay)),
    }
    for name, (ours, theirs) in pairs.items():
        what = f"{name}, one update of {size} parameters in {len(shapes)} arrays"
        sides = (updated(side, params, grads) for side in (ours, theirs))
        yield Case("optim", what, "optax", *sides, first)


def decay() -> Iterator[Case]:
    params, grads = (
        {f"w_{i}": normal(i + seed, 256, 512) for i in range(4)} for seed in (0, 100)
    )
    ours, theirs = blocks.muon(1e-2), optax.contrib.muon(1e-2)
    what = "muon, one update of 4 matrices of (256, 512)"
    sides = (updated(side, params, grads) for side in (ours, theirs))
    yield Case("decay", what, "optax", *sides, first)


def cases() -> list[Case]:
    chapters = norms, feedforward, rotary, attention, optim, decay
    return [case for chapter in chapters for case in chapter()]
