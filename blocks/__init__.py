"""The blocks of a current Transformer in JAX, one idea a file.

A function (`rms_norm`) is the mathematics and takes its parameters as arguments; the
class of the same name (`RMSNorm`) holds those parameters and calls it.
"""

from blocks.activations import activate
from blocks.attention import MultiHeadAttention, attend, attention_weights
from blocks.cache import KVCache
from blocks.feedforward import (
    MLP,
    FeedForward,
    GLUFeedForward,
    feed_forward,
    gated_hidden_size,
    glu,
)
from blocks.losses import cross_entropy, mse
from blocks.masks import (
    causal_mask,
    from_torch_mask,
    padding_mask,
    positions_of,
    window_mask,
)
from blocks.module import module, static
from blocks.norms import LayerNorm, RMSNorm, layer_norm, rms_norm
from blocks.numerics import cast, upcast
from blocks.optim import adam, adam_l2, adamw, adamw_lr, decay_matrices, sgd
from blocks.positions import LearnedPositions, alibi_bias, alibi_slopes, sinusoidal
from blocks.rotary import adjacent_to_halves, apply_rotary, rotary_angles
from blocks.train import fit
from blocks.transforms import (
    Transform,
    add_decay,
    add_momentum,
    apply_updates,
    chain,
    clip_by_global_norm,
    scale_by_adam,
    scale_by_rate,
)

__all__ = [
    "FeedForward",
    "GLUFeedForward",
    "KVCache",
    "LayerNorm",
    "LearnedPositions",
    "MLP",
    "MultiHeadAttention",
    "RMSNorm",
    "Transform",
    "activate",
    "adam",
    "adam_l2",
    "adamw",
    "adamw_lr",
    "add_decay",
    "add_momentum",
    "adjacent_to_halves",
    "alibi_bias",
    "alibi_slopes",
    "apply_rotary",
    "apply_updates",
    "attend",
    "attention_weights",
    "cast",
    "causal_mask",
    "chain",
    "clip_by_global_norm",
    "cross_entropy",
    "decay_matrices",
    "feed_forward",
    "fit",
    "from_torch_mask",
    "gated_hidden_size",
    "glu",
    "layer_norm",
    "module",
    "mse",
    "padding_mask",
    "positions_of",
    "rms_norm",
    "rotary_angles",
    "scale_by_adam",
    "scale_by_rate",
    "sgd",
    "sinusoidal",
    "static",
    "upcast",
    "window_mask",
]
