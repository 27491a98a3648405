"""Reads a model's numbers from a Hugging Face ``config.json``, and refuses what is not computed.

Sizes and options are the configuration's; what a silent one means is in ``hf_defaults`` and ``families``. The
keys of old and new versions of transformers are both read.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptcache_engine.gguf import Metadata
from promptcache_engine.models.config import MOST_LAYERS, ModelConfig
from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.models.families import BY_MODEL_TYPE, Family, layer_windows
from promptcache_engine.models.hf_defaults import with_defaults
from promptcache_engine.models.hf_rope import read_ropes

_ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu_tanh"}
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "mlp_bias": (False,),
    "partial_rotary_factor": (1.0,),
    "use_bidirectional_attention": (False,),
    "quantization_config": (None,),
    "num_local_experts": (0,),
}
"""Keys of computations no decoder here has, with the values that mean they are absent."""


def read_hf_config(path: str, values: Mapping[str, Any], eos_token_ids: tuple[int, ...]) -> ModelConfig:
    """Return the numbers of the model that the configuration ``values``, read from ``path``, describes.

    Raises:
        ModelFileError: a key is missing, ill-typed or contradicts another.
        UnsupportedModelError: another family, or an option the forward pass does not compute.
    """
    family = family_of(path, values)
    numbers = _text_part(path, values)
    _refuse_foreign_options(path, numbers)
    try:
        return _config(path, family, numbers, eos_token_ids)
    except ValueError as error:
        raise ModelFileError(path, f"the model's numbers contradict each other: {error}") from error


def family_of(path: str, values: Mapping[str, Any]) -> Family:
    """Return the family that ``model_type`` names."""
    kind = Metadata(path, values).text("model_type")
    family = BY_MODEL_TYPE.get(kind)
    if family is None:
        problem = f"model type {kind!r} is not supported; {', '.join(BY_MODEL_TYPE)} are"
        raise UnsupportedModelError(path, problem, where="key model_type")
    return family


def _text_part(path: str, values: Mapping[str, Any]) -> Metadata:
    """The keys that are given; of a model that reads images too, those of its language model."""
    text = values.get("text_config")
    merged = {**values, **text} if isinstance(text, Mapping) else values
    return Metadata(path, with_defaults(values["model_type"], merged))


def _config(path: str, family: Family, numbers: Metadata, eos_token_ids: tuple[int, ...]) -> ModelConfig:
    layers, hidden = numbers.size("num_hidden_layers", most=MOST_LAYERS), numbers.size("hidden_size")
    heads, context = numbers.size("num_attention_heads"), numbers.size("max_position_embeddings")
    head_dim = numbers.size("head_dim", max(hidden // heads, 1))
    rope, window_rope = read_ropes(path, numbers, head_dim, context, family.window_theta)
    return ModelConfig(
        architecture=family.name,
        num_layers=layers,
        hidden_size=hidden,
        num_heads=heads,
        num_kv_heads=numbers.size("num_key_value_heads", heads),
        head_dim=head_dim,
        intermediate_size=numbers.size("intermediate_size"),
        vocab_size=numbers.size("vocab_size"),
        context_length=context,
        rope=rope,
        window_rope=window_rope,
        rms_eps=numbers.number("rms_norm_eps"),
        eos_token_ids=eos_token_ids,
        bos_token_id=numbers.get("bos_token_id"),
        tied_embeddings=numbers.flag("tie_word_embeddings", family.tied),
        name=_name(path),
        layer_windows=_windows(path, family, numbers, layers),
        activation=_activation(path, family, numbers),
        attention_scale=_scale(path, numbers),
        attention_softcap=numbers.number("attn_logit_softcapping", 0.0) or None,
        final_softcap=numbers.number("final_logit_softcapping", 0.0) or None,
        embedding_scale=hidden**0.5 if family.scaled_embeddings else 1.0,
    )


def _scale(path: str, numbers: Metadata) -> float | None:
    key = "query_pre_attn_scalar"
    if key not in numbers:
        return None
    if not 0 < (scalar := numbers.number(key)) < math.inf:
        raise ModelFileError(path, f"expected a positive number, found {scalar}", where=f"key {key}")
    return float(scalar**-0.5)


def _name(path: str) -> str:
    """The folder's name; in the hub's cache, ``models--owner--name/snapshots/…``, that of the model."""
    folder = Path(path).parent
    cached = folder.parent.name == "snapshots" and folder.parents[1].name.startswith("models--")
    return folder.parents[1].name.rpartition("--")[2] if cached else folder.name


def _windows(path: str, family: Family, numbers: Metadata, layers: int) -> tuple[int | None, ...]:
    slides = not family.name.startswith("qwen") or numbers.flag("use_sliding_window", default=False)
    window = (numbers.size("sliding_window", 0, least=0) or None) if slides else None
    if "layer_types" in numbers:
        known = {"full_attention": None, "sliding_attention": window}
        kinds = numbers.texts("layer_types")
        foreign = set(kinds) - known.keys()
        if foreign or (window is None and "sliding_attention" in kinds):
            problem = f"layers of type {min(foreign | {'sliding_attention'})!r} need more than is computed"
            raise UnsupportedModelError(path, problem, where="key layer_types")
        windows = tuple(known[kind] for kind in kinds)
        return windows if any(windows) else ()
    if numbers.get("model_type") == "llama":
        return ()  # Llama has no windows, whatever key was left in its configuration
    if family.name.startswith("qwen"):
        if window is None:
            return ()
        first = numbers.size("max_window_layers", layers, least=0)
        return tuple(window if index >= first else None for index in range(layers))
    if (period := numbers.size("sliding_window_pattern", family.window_period, least=0)) and window:
        return tuple(None if (index + 1) % period == 0 else window for index in range(layers))
    return layer_windows(family, layers, window)


def _activation(path: str, family: Family, numbers: Metadata) -> str:
    key = "hidden_activation" if "hidden_activation" in numbers else "hidden_act"
    name = numbers.text(key, family.activation)
    if family.norms_offset_by_one and name in ("gelu", "gelu_tanh"):
        return "gelu_tanh"  # Gemma's early configurations name it so and mean the tanh form
    if name not in _ACTIVATIONS:
        problem = f"activation {name!r} is not supported; {', '.join(_ACTIVATIONS)} are"
        raise UnsupportedModelError(path, problem, where=f"key {key}")
    return _ACTIVATIONS[name]


def _refuse_foreign_options(path: str, numbers: Metadata) -> None:
    for key, neutral in _NEUTRAL.items():
        if (value := numbers.get(key, neutral[0])) not in neutral:
            shown = f"the value {value!r}" if isinstance(value, int | float) else "what it says"
            raise UnsupportedModelError(path, f"{shown} is not supported", where=f"key {key}")
