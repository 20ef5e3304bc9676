"""The handwritten digits of scikit-learn, some of them with wrong labels.

Axes: `n` images to train on, `m` to test on, `a` of all.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

WRONG = 0.4  # the share of the labels in training that are wrong
TESTED = 1000


class Data(NamedTuple):
    """What one seed trains on, wrong labels among the right ones, and is tested on."""

    images: Float[Array, "n 64"]
    labels: Int[Array, "n"]
    test_images: Float[Array, "m 64"]
    test_labels: Int[Array, "m"]


def load_digits() -> tuple[Float[Array, "a 64"], Int[Array, "a"]]:
    """The 1,797 handwritten digits that scikit-learn ships, and what they show.

    Each pixel less its mean over the images, all divided by one standard deviation.
    Uncentred, they drive a normalised network to silence at large learning rates.
    """
    from sklearn import datasets

    pixels, digits = datasets.load_digits(return_X_y=True)
    centred = pixels - pixels.mean(axis=0)
    images = jnp.asarray(centred / centred.std(), jnp.float32)
    return images, jnp.asarray(digits, jnp.int32)


def mislabel(key: PRNGKeyArray, labels: Int[Array, "n"]) -> Int[Array, "n"]:
    """Exactly 40 % of the labels exchanged, each for any of the other nine."""
    chosen, other = jax.random.split(key)
    wrong = jax.random.permutation(chosen, labels.size)[: round(WRONG * labels.size)]
    further = jax.random.randint(other, wrong.shape, 1, 10)
    return labels.at[wrong].set((labels[wrong] + further) % 10)


def draw(
    key: PRNGKeyArray, images: Float[Array, "a 64"], labels: Int[Array, "a"], n: int
) -> Data:
    """`n` images to train on, some with wrong labels, and 1,000 others to test on."""
    if n + TESTED > len(labels):
        raise ValueError(f"{n} + {TESTED} images are needed; there are {len(labels)}")
    order, noise = jax.random.split(key)
    chosen = jax.random.permutation(order, len(labels))
    train, test = chosen[:n], chosen[n : n + TESTED]
    return Data(
        images[train], mislabel(noise, labels[train]), images[test], labels[test]
    )
