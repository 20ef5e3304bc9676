"""Random compositions of small functions: the program must agree with JAX on each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from programs import compare

# Each keeps numbers of moderate size, so that rounding is not blown up on the way.
STEPS = [
    lambda x, r: jnp.tanh(x),
    lambda x, r: jnp.sin(x) + 0.5 * x,
    lambda x, r: jax.nn.sigmoid(x),
    lambda x, r: jax.nn.gelu(x),
    lambda x, r: jnp.where(x > 0.1, x, -0.5 * x),
    lambda x, r: jax.nn.softmax(x, axis=r.integers(x.ndim)),
    lambda x, r: x - x.mean(axis=r.integers(x.ndim), keepdims=True),
    lambda x, r: x + jnp.max(x, axis=r.integers(x.ndim), keepdims=True),
    lambda x, r: jnp.cumsum(x, axis=r.integers(x.ndim)) / 4,
    lambda x, r: jnp.sort(x, axis=r.integers(x.ndim)),
    lambda x, r: jnp.flip(x, axis=r.integers(x.ndim)),
    lambda x, r: jnp.roll(x, 1, axis=r.integers(x.ndim)),
    lambda x, r: x.T,
    lambda x, r: x.reshape(x.shape[::-1]),
    lambda x, r: jnp.concatenate([x[1:], x[:1] * 0.5]),
    lambda x, r: x @ jnp.asarray(r.normal(size=(x.shape[-1],) * 2) / 3, jnp.float32),
    lambda x, r: x[jnp.argsort(x[:, 0])],
    lambda x, r: x.at[r.integers(x.shape[0])].add(0.25),
    lambda x, r: jnp.pad(x, ((0, 0), (1, 0)))[:, :-1],
    lambda x, r: lax.scan(lambda c, row: (0.5 * c + row, c), x[0], x)[1],
    lambda x, r: lax.fori_loop(0, 3, lambda i, y: 0.7 * y + 0.1 * i, x),
    lambda x, r: lax.cond(x.sum() > 0, lambda y: y, lambda y: -y, x),
    lambda x, r: jnp.take_along_axis(x, jnp.argmax(x, axis=1)[:, None], axis=1) * x,
    lambda x, r: jnp.clip(x, -1.0, 1.5) / (1 + jnp.abs(x)),
    lambda x, r: jax.grad(lambda y: jnp.sum(jnp.cos(y) * y))(x),
    lambda x, r: jax.vmap(lambda row: row * row[0])(x),
    lambda x, r: jnp.round(x * 4) / 4,
]


@pytest.mark.parametrize("seed", range(40))
def test_a_random_composition(seed):
    chosen = np.random.default_rng(seed).integers(len(STEPS), size=6)

    def function(x):
        rng = np.random.default_rng(seed)
        for k in chosen:
            x = STEPS[k](x, rng)
        return x

    x = np.random.default_rng(1000 + seed).normal(size=(3, 4)).astype(np.float32)
    compare(function, x, rtol=2e-5, atol=5e-6)
