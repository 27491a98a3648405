"""Reads a model's numbers from GGUF metadata, and refuses what the forward pass does not compute.

A key that changes the computation and is not handled must stop the load: a model run with a part missing
answers plausible nonsense.
"""

import numpy as np

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.config import MOST_LAYERS, ModelConfig
from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.models.families import BY_GGUF, Family, layer_windows
from promptcache_engine.models.gguf_rope import read_rope
from promptcache_engine.models.rope_settings import RopeSettings
from promptcache_engine.tokenizer.vocabulary import Vocabulary

_NEUTRAL: dict[str, tuple[object, ...]] = {
    "expert_count": (0,),
    "attention.clamp_kqv": (0.0,),
    "attention.max_alibi_bias": (0.0,),
    "attention.causal": (True,),
    "attention.temperature_scale": (0.0,),
    "attention.shared_kv_layers": (0,),
    "use_parallel_residual": (False,),
    "embedding_scale": (0.0, 1.0),
    "residual_scale": (0.0, 1.0),
    "logit_scale": (0.0, 1.0),
}
"""Keys of computations no decoder here has, with the values that mean they are absent."""


def read_config(file: GGUFFile, vocabulary: Vocabulary) -> tuple[ModelConfig, Family]:
    """Return the numbers of the model in ``file``, and its family.

    Raises:
        ModelFileError: a key is missing, ill-typed or contradicts another.
        UnsupportedModelError: another architecture, or an option the forward pass does not compute.
    """
    metadata = file.metadata
    family = _family(file)
    name = family.gguf
    _refuse_split_files(file)
    _refuse_foreign_options(file, name)
    layers = metadata.size(f"{name}.block_count", most=MOST_LAYERS)
    hidden_size = metadata.size(f"{name}.embedding_length")
    num_heads = metadata.size(f"{name}.attention.head_count")
    head_dim = _head_dim(file, name, hidden_size, num_heads)
    context = metadata.size(f"{name}.context_length")
    scale = metadata.number(f"{name}.attention.scale", 0.0) or None
    if family.heads_scale_layers == layers and scale is None:
        scale = (hidden_size / num_heads) ** -0.5
    softcaps = (f"{name}.attn_logit_softcapping", f"{name}.final_logit_softcapping")
    try:
        windows = _windows(file, family, layers)
        return ModelConfig(
            architecture=name,
            num_layers=layers,
            hidden_size=hidden_size,
            num_heads=num_heads,
            num_kv_heads=metadata.size(f"{name}.attention.head_count_kv", num_heads),
            head_dim=head_dim,
            intermediate_size=metadata.size(f"{name}.feed_forward_length"),
            vocab_size=len(vocabulary.tokens),
            context_length=context,
            rope=read_rope(file, name, head_dim, context),
            window_rope=_window_rope(file, family),
            rms_eps=metadata.number(f"{name}.attention.layer_norm_rms_epsilon"),
            eos_token_ids=vocabulary.eos_token_ids,
            bos_token_id=vocabulary.bos_token_id,
            tied_embeddings="output.weight" not in file.tensors,
            name=metadata.text("general.name", "model"),
            layer_windows=windows,
            activation=family.activation,
            attention_scale=scale,
            attention_softcap=metadata.number(softcaps[0], family.softcaps[0] or 0.0) or None,
            final_softcap=metadata.number(softcaps[1], family.softcaps[1] or 0.0) or None,
            embedding_scale=hidden_size**0.5 if family.scaled_embeddings else 1.0,
        ), family
    except ValueError as error:
        raise ModelFileError(file.path, f"the model's numbers contradict each other: {error}") from error


def _windows(file: GGUFFile, family: Family, layers: int) -> tuple[int | None, ...]:
    """Return each layer's window: by the file's own pattern, or by the family's where it has none."""
    prefix = f"{family.gguf}.attention.sliding_window"
    window = file.metadata.size(prefix, 0, least=0) or None
    pattern = file.metadata.get(f"{prefix}_pattern")
    if window is None or pattern is None:
        return layer_windows(family, layers, window)
    if isinstance(pattern, np.ndarray) and pattern.shape == (layers,):
        return tuple(window if slides else None for slides in pattern.tolist())
    period = file.metadata.size(f"{prefix}_pattern", least=0)
    return tuple(None if period and index % period == period - 1 else window for index in range(layers))


def _family(file: GGUFFile) -> Family:
    architecture = file.metadata.text("general.architecture")
    family = BY_GGUF.get(architecture)
    if family is None:
        problem = f"architecture {architecture!r} is not supported; {', '.join(BY_GGUF)} are"
        raise UnsupportedModelError(file.path, problem, where="key general.architecture")
    return family


def _head_dim(file: GGUFFile, name: str, hidden_size: int, num_heads: int) -> int:
    head_dim = file.metadata.size(f"{name}.attention.key_length", max(hidden_size // num_heads, 1))
    for key in (f"{name}.attention.value_length", f"{name}.rope.dimension_count"):
        if (other := file.metadata.integer(key, head_dim)) != head_dim:
            problem = f"{other} differs from the {head_dim} values of a head"
            raise UnsupportedModelError(file.path, problem, where=f"key {key}")
    return head_dim


def _window_rope(file: GGUFFile, family: Family) -> RopeSettings | None:
    theta = file.metadata.number(f"{family.gguf}.rope.freq_base_swa", family.window_theta or 0.0)
    return RopeSettings(theta) if theta else None


def _refuse_split_files(file: GGUFFile) -> None:
    count = file.metadata.integer("split.count", 1)
    if count > 1:
        raise UnsupportedModelError(
            file.path,
            f"the model is split over {count} files",
            where="key split.count",
            remedy="Join the parts with llama.cpp's gguf-split --merge",
        )


def _refuse_foreign_options(file: GGUFFile, name: str) -> None:
    for suffix, neutral in _NEUTRAL.items():
        key = f"{name}.{suffix}"
        value = file.metadata.get(key, neutral[0])
        if isinstance(value, np.ndarray | list) or value not in neutral:
            shown = "an array" if isinstance(value, np.ndarray | list) else f"the value {value!r}"
            raise UnsupportedModelError(file.path, f"{shown} is not supported", where=f"key {key}")
