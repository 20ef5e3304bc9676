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
from blocks.muon import muon, orthogonalize, scale_by_muon
from blocks.norms import LayerNorm, RMSNorm, layer_norm, rms_norm
from blocks.numerics import cast, upcast
from blocks.optim import adam, adam_l2, adamw, adamw_lr, sgd, sgd_l2, sgdw
from blocks.parameters import decay_matrices, decay_table, matrix_axes
from blocks.positions import LearnedPositions, alibi_bias, alibi_slopes, sinusoidal
from blocks.rotary import adjacent_to_halves, apply_rotary, rotary_angles
from blocks.schedules import (
    constant,
    cosine_restarts,
    inverse_sqrt,
    warmup_cosine,
    warmup_stable_decay,
)
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
    "constant",
    "cosine_restarts",
    "cross_entropy",
    "decay_matrices",
    "decay_table",
    "feed_forward",
    "fit",
    "from_torch_mask",
    "gated_hidden_size",
    "glu",
    "inverse_sqrt",
    "layer_norm",
    "matrix_axes",
    "module",
    "mse",
    "muon",
    "orthogonalize",
    "padding_mask",
    "positions_of",
    "rms_norm",
    "rotary_angles",
    "scale_by_adam",
    "scale_by_muon",
    "scale_by_rate",
    "sgd",
    "sgd_l2",
    "sgdw",
    "sinusoidal",
    "static",
    "upcast",
    "warmup_cosine",
    "warmup_stable_decay",
    "window_mask",
]
