"""The engine's operations as Triton kernels, with the signatures of their plain-torch versions.

Importing this package imports Triton; the engine does so only when it computes on a GPU.
"""

from promptcache_engine.kernels.triton.decode import decode_attention
from promptcache_engine.kernels.triton.extend import extend_attention
from promptcache_engine.kernels.triton.gates import gelu_mul, silu_mul
from promptcache_engine.kernels.triton.norms import add_rms_norm, rms_norm
from promptcache_engine.kernels.triton.rotary import rotary_write
from promptcache_engine.kernels.triton.sampling import sample_tokens
from promptcache_engine.kernels.triton.slots import copy_slots, gather_slots, scatter_slots

__all__ = [
    "add_rms_norm",
    "copy_slots",
    "decode_attention",
    "extend_attention",
    "gather_slots",
    "gelu_mul",
    "rms_norm",
    "rotary_write",
    "sample_tokens",
    "scatter_slots",
    "silu_mul",
]
