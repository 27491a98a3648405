"""Which backend computes a model's operations: Triton's kernels on a GPU where they can be, else torch.

Where ``auto`` finds that they cannot be, one line in the log and ``EngineInfo`` say why; asked for by name
that is an error. It is found out three times: by a small launch before the model is loaded
(``device.trial``), by the model's shape once that is known, and by the first steps (``device.setup``).
Under ``TRITON_INTERPRET=1`` Triton interprets its kernels on a CPU, which is for tests: it must be asked for.
"""

import logging

import torch

from promptcache_engine.config import CODED_DTYPES, EngineConfig
from promptcache_engine.device import trial
from promptcache_engine.errors import ConfigError
from promptcache_engine.kernels import coded
from promptcache_engine.kernels.tables import LARGEST_HEAD
from promptcache_engine.models import DecoderModel
from promptcache_engine.models.operations import Operations
from promptcache_engine.models.torch_operations import TorchOperations

_log = logging.getLogger(__name__)


def find(
    config: EngineConfig, device: torch.device, *, hindrance: trial.Trial = trial.hindrance
) -> Operations:
    """Return the operations to compute with on ``device``; ``hindrance`` tries whether Triton's can be.

    Raises:
        ConfigError: ``triton`` is configured and cannot be; says why and what to do.
    """
    if config.attention_backend == "torch" or (config.attention_backend == "auto" and device.type != "cuda"):
        return TorchOperations()
    reason = _unread(config) or hindrance(device)
    if reason is not None:
        return instead(config, reason, device)
    from promptcache_engine.models.triton_operations import TritonOperations  # noqa: PLC0415

    return TritonOperations()


def settle(config: EngineConfig, model: DecoderModel) -> None:
    """Let torch compute a model that Triton's kernels are not made for.

    Raises:
        ConfigError: ``triton`` is configured.
    """
    if model.operations.name != "triton" or not (reason := _unfit(model.config.head_dim)):
        return
    model.use(instead(config, reason, model.device))


def instead(config: EngineConfig, reason: str, device: torch.device) -> Operations:
    """Torch's operations in place of Triton's, with the reason; it is logged.

    Raises:
        ConfigError: ``triton`` is configured.
    """
    if config.attention_backend == "triton":
        raise ConfigError("attention_backend", "triton", f"Use auto or torch: {reason}")
    _log.warning("%s; torch computes on %s", reason, device)
    return TorchOperations(because=reason)


def kept_dtype(config: EngineConfig, model: DecoderModel) -> torch.dtype:
    """The dtype of keys and values: the configuration's or, on Triton, the model's.

    Raises:
        ConfigError: a dtype is configured that the model's backend does not read, or that its heads do not
            fit.
    """
    kept: torch.dtype = getattr(torch, config.kept_dtype)
    if config.kv_dtype in CODED_DTYPES:
        dim, heads = model.config.head_dim, model.config.num_kv_heads
        if reason := coded.hindrance(heads, dim):
            raise ConfigError("kv_dtype", config.kv_dtype, f"Use auto: {reason}")
        return kept
    if model.operations.name != "triton":
        return kept
    own = str(model.dtype).removeprefix("torch.")
    if config.kv_dtype not in ("auto", own):
        raise ConfigError("kv_dtype", config.kv_dtype, f"Use auto, {own}, fp8 or int8: {_OWN_DTYPE}")
    return model.dtype


_OWN_DTYPE = "Triton's kernels read keys and values of the weights' dtype or of eight bits"


def _unread(config: EngineConfig) -> str | None:
    """Why the configured dtype of keys and values is not for Triton's kernels, if so."""
    if config.kv_dtype in ("auto", config.dtype, *CODED_DTYPES):
        return None
    return f"{_OWN_DTYPE}: leave kv_dtype at auto or give it the value of dtype, fp8 or int8"


def _unfit(head_dim: int) -> str | None:
    """Why heads of ``head_dim`` values are not for Triton's kernels, if so."""
    if head_dim <= LARGEST_HEAD:
        return None
    return f"Triton's kernels take heads of up to {LARGEST_HEAD} values, this model's have {head_dim}"
