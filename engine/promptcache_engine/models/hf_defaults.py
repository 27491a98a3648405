"""What a Hugging Face configuration means where it is silent: the defaults of transformers' classes.

``save_pretrained`` leaves out of a nested ``text_config`` whatever equals its class's default, so Gemma 3's
published configurations name a handful of keys. The values are those of transformers 5.24's ``*Config``
classes; scripts/make_config_reference.py records what these make of sparse configurations. The sizes that
every Llama, Mistral and Qwen states have no default here: a file without them is damaged.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_QWEN = {
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 32_768,
    "sliding_window": 4_096,
    "max_window_layers": 28,
}
_GEMMA = {
    "hidden_size": 2_304,
    "intermediate_size": 9_216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "rms_norm_eps": 1e-6,
    "sliding_window": 4_096,
    "query_pre_attn_scalar": 256,
}
_GEMMA_2 = {
    **_GEMMA,
    "vocab_size": 256_000,
    "max_position_embeddings": 8_192,
    "attn_logit_softcapping": 50.0,
    "final_logit_softcapping": 30.0,
}
_GEMMA_3 = {**_GEMMA, "vocab_size": 262_208, "max_position_embeddings": 131_072, "rope_theta": 1e6}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "llama": {"rms_norm_eps": 1e-6, "max_position_embeddings": 2_048},
        "mistral": {
            "rms_norm_eps": 1e-6,
            "max_position_embeddings": 131_072,
            "num_key_value_heads": 8,
            "sliding_window": 4_096,
        },
        "qwen2": _QWEN,
        "qwen3": {**_QWEN, "head_dim": 128},
        "gemma2": _GEMMA_2,
        "gemma3": _GEMMA_3,
        "gemma3_text": _GEMMA_3,
    }
)


def with_defaults(model_type: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of ``given`` and, for those it lacks, the defaults of ``model_type``.

    A key whose value is null is given: it says that there is no such thing, a window for instance, and is
    left out of what is returned.
    """
    merged = {**_DEFAULTS.get(model_type, {}), **given}
    return {key: value for key, value in merged.items() if value is not None}
