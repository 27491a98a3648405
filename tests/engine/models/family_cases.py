"""Tiny models of every family: their configurations, and weights that follow from names and shapes alone.

Used by the tests and by scripts/make_family_reference.py, which asks transformers for their logits; so it
imports nothing but numpy.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

VOCABULARY = 260
PROMPT = np.random.default_rng(7).integers(0, 256, 70).tolist()
PLACES = (0, 9, 17, 41, 69)
SCORED = 40
"""Of the logits after each of PLACES, this many are recorded."""

_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "bos_token_id": 256,
    "eos_token_id": 258,
    "pad_token_id": 259,
}


def _rope(kind: str, **more: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 10_000.0, **more}}


_GEMMA_3_ROPE = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 1_000.0},
    "full_attention": {"rope_type": "linear", "rope_theta": 100_000.0, "factor": 8.0},
}
_GEMMA_3 = {
    "sliding_window": 12,
    "query_pre_attn_scalar": 24,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "tie_word_embeddings": True,
}

CASES: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama"},
    "llama tied": {"model_type": "llama", "tie_word_embeddings": True, "num_key_value_heads": 4},
    "llama with biases": {"model_type": "llama", "attention_bias": True},
    "llama linear": {"model_type": "llama", **_rope("linear", factor=4.0)},
    "llama 3": {
        "model_type": "llama",
        **_rope(
            "llama3",
            factor=8.0,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=64,
        ),
    },
    "llama longrope": {
        "model_type": "llama",
        **_rope(
            "longrope",
            short_factor=[1.0, 1.1, 1.2, 1.3],
            long_factor=[1.0, 2.0, 4.0, 7.0],
            original_max_position_embeddings=32,
        ),
    },
    "mistral": {"model_type": "mistral", "sliding_window": None},
    "mistral with a window": {"model_type": "mistral", "sliding_window": 12},
    "qwen2": {"model_type": "qwen2", "tie_word_embeddings": True},
    "qwen2 yarn": {
        "model_type": "qwen2",
        **_rope("yarn", factor=4.0, original_max_position_embeddings=64),
    },
    "qwen2 with windows": {
        "model_type": "qwen2",
        "use_sliding_window": True,
        "sliding_window": 12,
        "max_window_layers": 1,
    },
    "qwen3": {"model_type": "qwen3", "head_dim": 16, "tie_word_embeddings": True},
    "gemma2": {
        "model_type": "gemma2",
        "sliding_window": 12,
        "query_pre_attn_scalar": 8,
        "tie_word_embeddings": True,
    },
    "gemma3": {"model_type": "gemma3_text", **_GEMMA_3, "query_pre_attn_scalar": 8},
    "gemma3 stretched": {"model_type": "gemma3_text", **_GEMMA_3, "rope_parameters": _GEMMA_3_ROPE},
}
"""Arguments of transformers' configurations."""


def config_of(name: str) -> dict[str, Any]:
    """The arguments of a case's configuration, ``model_type`` among them."""
    return {**_SIZES, "tie_word_embeddings": False, **CASES[name]}


def weights_of(shapes: Mapping[str, Sequence[int]], *, norms_offset_by_one: bool) -> dict[str, np.ndarray]:
    """Draw each tensor from its name: equal names and shapes give equal weights anywhere."""
    return {
        name: _draw(name, tuple(shape), norms_offset_by_one=norms_offset_by_one)
        for name, shape in shapes.items()
    }


def _draw(name: str, shape: tuple[int, ...], *, norms_offset_by_one: bool) -> np.ndarray:
    values = np.random.default_rng(zlib.crc32(name.encode())).normal(0, 1, shape)
    if name.endswith(".bias"):
        values *= 0.5
    elif "norm" in name:
        values = 0.2 * values + (0 if norms_offset_by_one else 1)
    elif "embed" in name:
        values *= shape[1] ** -0.5 if norms_offset_by_one else 1
    elif "q_proj" in name or "k_proj" in name:
        values *= 3 * shape[1] ** -0.5
    else:
        values *= 1.5 * shape[1] ** -0.5
    return values.astype(np.float32)
