"""Reads from a Hugging Face configuration how positions become rotary angles.

Newer configurations have ``rope_parameters``, one mapping or one for each type of layer; older ones
``rope_theta``, ``rope_scaling`` and, for layers with a window, ``rope_local_base_freq``.
"""

from collections.abc import Mapping
from typing import Any

from promptcache_engine.gguf import Metadata
from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.models.rope_settings import (
    DivisorScaling,
    LinearScaling,
    Llama3Scaling,
    RopeScaling,
    RopeSettings,
    YarnScaling,
    longrope_magnitude,
    yarn_magnitude,
)

_REMEDIES = {
    "dynamic": "Remove rope_scaling from config.json: within the context it was trained for, the model "
    "computes the same without it"
}


def read_ropes(
    path: str, numbers: Metadata, head_dim: int, context: int, window_theta: float | None
) -> tuple[RopeSettings, RopeSettings | None]:
    """Return the settings of full layers, and those of layers with a window where they differ.

    Raises:
        ModelFileError: a key is missing or has a value of the wrong kind.
        UnsupportedModelError: a kind of scaling that is not computed, such as dynamic NTK.
    """
    given = numbers.get("rope_parameters")
    theta = numbers.number("rope_local_base_freq", window_theta or 0.0)
    if isinstance(given, Mapping) and "full_attention" in given:
        whole = _settings(path, given["full_attention"], numbers, head_dim, context)
        own = numbers if window_theta is None else Metadata(path, {**numbers, "rope_theta": theta})
        sliding = _settings(path, given.get("sliding_attention"), own, head_dim, context)
        return whole, None if whole == sliding else sliding
    settings = _settings(path, given or numbers.get("rope_scaling"), numbers, head_dim, context)
    return settings, RopeSettings(theta) if theta else None


def _settings(path: str, given: Any, numbers: Metadata, head_dim: int, context: int) -> RopeSettings:
    if not isinstance(given, Mapping | None):
        raise ModelFileError(path, "expected a mapping", where="key rope_scaling")
    own = Metadata(path, {key: value for key, value in (given or {}).items() if value is not None})
    theta = own.number("rope_theta", numbers.number("rope_theta", 10_000.0))
    if own.number("partial_rotary_factor", 1.0) != 1.0:
        problem = "heads of which a part is turned are not supported"
        raise UnsupportedModelError(path, problem, where="key partial_rotary_factor")
    original = own.integer(
        "original_max_position_embeddings", numbers.integer("original_max_position_embeddings", context)
    )
    return RopeSettings(theta, _scaling(path, own, head_dim, context, original))


def _scaling(path: str, own: Metadata, head_dim: int, context: int, original: int) -> RopeScaling | None:
    kind = own.text("rope_type", own.text("type", "default"))
    match kind:
        case "default":
            return None
        case "linear":
            return LinearScaling(own.number("factor"))
        case "llama3":
            low, high = own.number("low_freq_factor"), own.number("high_freq_factor")
            return Llama3Scaling(own.number("factor"), low, high, original)
        case "yarn":
            return _yarn(own, context, original)
        case "longrope" | "su":
            return _longrope(path, own, head_dim, context, original)
    problem = f"rotary scaling {kind!r} is not supported; linear, llama3, yarn and longrope are"
    raise UnsupportedModelError(path, problem, where="key rope_type", remedy=_REMEDIES.get(kind, ""))


def _yarn(own: Metadata, context: int, original: int) -> YarnScaling:
    factor = own.number("factor", context / original if original else None)
    mscale, over_all = own.number("mscale", 0.0), own.number("mscale_all_dim", 0.0)
    magnitude = yarn_magnitude(factor)
    if mscale and over_all:
        magnitude = yarn_magnitude(factor, mscale) / yarn_magnitude(factor, over_all)
    return YarnScaling(
        factor=factor,
        original_context=original,
        magnitude=own.number("attention_factor", magnitude),
        beta_fast=own.number("beta_fast", 32.0),
        beta_slow=own.number("beta_slow", 1.0),
        truncate=own.flag("truncate", default=True),
    )


def _longrope(path: str, own: Metadata, head_dim: int, context: int, original: int) -> DivisorScaling:
    """Take the long divisors where the model's context is longer than the one it was trained for first.

    transformers takes the short ones for as long as a sequence is short; what is cached could not be used
    once it is longer.
    """
    key = "long_factor" if context > original else "short_factor"
    divisors = own.get(key)
    if (
        not isinstance(divisors, list)
        or len(divisors) != head_dim // 2
        or not all(isinstance(value, int | float) for value in divisors)
    ):
        raise ModelFileError(path, f"expected {head_dim // 2} numbers", where=f"key {key}")
    magnitude = longrope_magnitude(own.number("factor", context / max(original, 1)), original)
    return DivisorScaling(
        tuple(float(value) for value in divisors), own.number("attention_factor", magnitude)
    )
