"""Positions told to a model: added to its input, or to its attention scores.

Axes: `*shape` any axes of positions, `d` features, `t` queries, `s` keys, `n` heads.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray, ScalarLike

from blocks.module import module
from blocks.numerics import upcast


def sinusoidal(
    positions: Num[Array, "*shape"], d: int, *, base: ScalarLike = 10_000.0
) -> Float[Array, "*shape {d}"]:
    r"""A row of sines and cosines for each position, to be added to its embedding.

    $$ p_{t,2i} = \sin(t \, \mathrm{base}^{-2i/d}), \qquad
       p_{t,2i+1} = \cos(t \, \mathrm{base}^{-2i/d}) $$

    Float32 or wider. When `d` is odd the last sine has no cosine beside it.

    Vaswani et al. (2017), section 3.5.
    """
    frequencies = base ** (-jnp.arange(0, d, 2) / d)
    angles = positions[..., None] * frequencies
    pairs = jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1)
    return pairs.reshape(*angles.shape[:-1], -1)[..., :d]


@module
class LearnedPositions:
    """A trained row for each of the positions 0, 1, …, capacity - 1.

    Vaswani et al. (2017), section 3.5, which found them as good as `sinusoidal`.
    """

    table: Float[Array, "capacity d"]

    @classmethod
    def init(
        cls, key: PRNGKeyArray, capacity: int, d: int, *, deviation: float = 0.02
    ) -> "LearnedPositions":
        return cls(table=deviation * jax.random.normal(key, (capacity, d)))

    def __call__(self, positions: Int[Array, "*shape"]) -> Float[Array, "*shape d"]:
        """The rows of `positions`; NaN for a position that the table does not hold."""
        return self.table.at[positions].get(
            mode="fill", fill_value=jnp.nan, wrap_negative_indices=False
        )


def alibi_slopes(n: int) -> Float[Array, "{n}"]:
    r"""How fast each of `n` heads forgets: a geometric series.

    For a power of two, $m_k = 2^{-8k/n}$ with $k = 1, \dots, n$. Otherwise the slopes
    of the power of two below `n`, followed by every second slope of the power above.

    Press, Smith and Lewis (2022), section 3; the rule for other `n` is their code's.
    """
    if n < 1:
        raise ValueError(f"ALiBi needs at least one head; got n={n}")
    below = 2 ** (n.bit_length() - 1)
    first = 2.0 ** (-8 * jnp.arange(1, below + 1) / below)
    between = 2.0 ** (-4 * jnp.arange(1, 2 * below, 2) / below)
    return jnp.concatenate([first, between[: n - below]])


def alibi_bias(
    slopes: Float[Array, "n"],
    q_positions: Num[Array, "t"],
    k_positions: Num[Array, "s"],
) -> Float[Array, "n t s"]:
    r"""What ALiBi adds to the scores: the further back a key, the more it loses.

    $$ b_{n,t,s} = m_n \, (p_s - p_t) $$

    Zero at the query's own position and negative before it; it is positive for keys
    after the query, so a causal mask belongs with it. Give it to a batch as `[None]`.
    Float32 or wider.

    Press, Smith and Lewis (2022), section 3.
    """
    # Narrow and unsigned positions would wrap round where they are subtracted.
    q, k = (
        p.astype(jnp.int32) if jnp.issubdtype(p.dtype, jnp.integer) else upcast(p)
        for p in (q_positions, k_positions)
    )
    return upcast(slopes)[:, None, None] * (k[None, :] - q[:, None])
