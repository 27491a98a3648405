"""Reads from a GGUF file how positions become rotary angles.

llama.cpp multiplies its attention factor with YaRN's own magnitude; LongRoPE's divisors and Llama 3's are
tensors of the file.
"""

import numpy as np

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.models.rope_settings import (
    DivisorScaling,
    LinearScaling,
    RopeScaling,
    RopeSettings,
    YarnScaling,
    longrope_magnitude,
    yarn_magnitude,
)

_YARN_EXTRAS = {"yarn_ext_factor": (-1.0, 1.0), "yarn_attn_factor": (1.0,), "yarn_log_multiplier": (0.0,)}
"""Keys of further knobs of YaRN, with the values that leave it as it is in the paper."""


def read_rope(file: GGUFFile, architecture: str, head_dim: int, context: int) -> RopeSettings:
    """Return the settings of layers that attend to the whole context of ``context`` tokens.

    Raises:
        ModelFileError: a key or a tensor of divisors is missing or does not fit.
        UnsupportedModelError: a kind of scaling that is not computed.
    """
    return RopeSettings(
        theta=file.metadata.number(f"{architecture}.rope.freq_base", 10_000.0),
        scaling=_scaling(file, f"{architecture}.rope.", head_dim, context),
    )


def _scaling(file: GGUFFile, prefix: str, head_dim: int, context: int) -> RopeScaling | None:
    metadata = file.metadata
    kind = metadata.text(prefix + "scaling.type", "none")
    if kind == "none":
        factor = metadata.number(prefix + "scale_linear", 1.0)
        if "rope_freqs.weight" in file.tensors:
            divisors = _divisors(file, "rope_freqs.weight", head_dim)
            return DivisorScaling(tuple(value * factor for value in divisors))
        return None if factor == 1.0 else LinearScaling(factor)
    if kind == "linear":
        return LinearScaling(metadata.number(prefix + "scaling.factor"))
    if kind == "yarn":
        return _yarn(file, prefix)
    if kind == "longrope":
        original = metadata.integer(prefix + "scaling.original_context_length")
        which = "long" if context > original else "short"
        magnitude = longrope_magnitude(context / max(original, 1), original)
        return DivisorScaling(
            _divisors(file, f"rope_factors_{which}.weight", head_dim),
            metadata.number(prefix + "scaling.attn_factor", magnitude),
        )
    problem = f"rotary scaling {kind!r} is not supported; linear, yarn and longrope are"
    raise UnsupportedModelError(file.path, problem, where=f"key {prefix}scaling.type")


def _yarn(file: GGUFFile, prefix: str) -> YarnScaling:
    metadata = file.metadata
    for suffix, plain in _YARN_EXTRAS.items():
        key = f"{prefix}scaling.{suffix}"
        if (value := metadata.number(key, plain[-1])) not in plain:
            raise UnsupportedModelError(
                file.path, f"the value {value!r} is not supported", where=f"key {key}"
            )
    factor = metadata.number(prefix + "scaling.factor")
    return YarnScaling(
        factor=factor,
        original_context=metadata.integer(prefix + "scaling.original_context_length"),
        magnitude=metadata.number(prefix + "scaling.attn_factor", 1.0) * yarn_magnitude(factor),
        beta_fast=metadata.number(prefix + "scaling.yarn_beta_fast", 32.0),
        beta_slow=metadata.number(prefix + "scaling.yarn_beta_slow", 1.0),
    )


def _divisors(file: GGUFFile, name: str, head_dim: int) -> tuple[float, ...]:
    info = file.tensors.get(name)
    if info is not None and info.shape != (head_dim // 2,):
        problem = f"the shape is {info.shape}, but the model's numbers demand {(head_dim // 2,)}"
        raise ModelFileError(file.path, problem, where=f"tensor {name}")
    values = file.tensor(name)
    if not np.all((values > 0) & np.isfinite(values)):
        raise ModelFileError(file.path, "a divisor is not a positive number", where=f"tensor {name}")
    return tuple(values.tolist())
