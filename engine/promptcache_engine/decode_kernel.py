"""Which kernel computes the tokens of answers: the native step where it was asked for or can be, else torch.

Where it cannot be, that is said once, in the log, and torch does the work; unless it was asked for by name.
"""

import logging

import torch

from promptcache_engine.config import CODED_DTYPES, EngineConfig
from promptcache_engine.errors import ConfigError
from promptcache_engine.kernels.native import Library, NativeUnavailableError, load_library
from promptcache_engine.models import DecoderModel
from promptcache_engine.models.half_products import Half, halve
from promptcache_engine.models.native_check import add_native_decode

_log = logging.getLogger(__name__)


def find(config: EngineConfig, device: torch.device) -> Library | None:
    """Return the compiled library, or None where torch is to do the work.

    Raises:
        ConfigError: ``native`` is configured and cannot be.
    """
    if config.decode_kernel == "torch" or config.deterministic or config.kv_dtype in CODED_DTYPES:
        return None
    if device.type != "cpu":
        _without(config, NativeUnavailableError(f"the device is {device.type}, not the CPU"))
        return None
    try:
        return load_library()
    except NativeUnavailableError as error:
        _without(config, error)
    return None


def add(config: EngineConfig, model: DecoderModel, library: Library | None) -> None:
    """Give ``model`` the native decode step if it agrees with torch; else its matrices in 16 bits, which is
    what torch alone is fastest with.

    Raises:
        ConfigError: ``native`` is configured and cannot be.
    """
    if library is not None:
        try:
            add_native_decode(model, library)
        except NativeUnavailableError as error:
            _without(config, error)
    if model.native is None and model.operations.name == "torch":
        halve(model)


def name(model: DecoderModel) -> str:
    """What computes a model's answers, in words."""
    if model.native is not None:
        return f"native, {model.native.isa_name}"
    return "torch, weights in float16" if isinstance(model.weights.head, Half) else "torch"


def _without(config: EngineConfig, error: NativeUnavailableError) -> None:
    if config.decode_kernel == "native":
        raise ConfigError("decode_kernel", "native", f"Use auto or torch: {error.reason}") from error
    _log.info("%s; torch computes the answers", error)
