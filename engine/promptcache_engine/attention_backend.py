"""Which backend computes a model's operations: Triton's kernels on a GPU where they can be, else torch.

Where ``auto`` finds that they cannot be, one line in the log says why; asked for by name that is an error.
Under ``TRITON_INTERPRET=1`` Triton interprets its kernels on a CPU, which is for tests: it must be asked for.
"""

import importlib.util
import logging
import os

import torch

from promptcache_engine.config import CODED_DTYPES, EngineConfig
from promptcache_engine.errors import ConfigError
from promptcache_engine.kernels import coded
from promptcache_engine.models import DecoderModel
from promptcache_engine.models.operations import Operations
from promptcache_engine.models.torch_operations import TorchOperations

_log = logging.getLogger(__name__)


def find(config: EngineConfig, device: torch.device) -> Operations:
    """Return the operations to compute with on ``device``.

    Raises:
        ConfigError: ``triton`` is configured and cannot be; says why and what to do.
    """
    if config.attention_backend == "torch" or (config.attention_backend == "auto" and device.type != "cuda"):
        return TorchOperations()
    reason = _hindrance(config, device)
    if reason is None:
        try:
            from promptcache_engine.models.triton_operations import TritonOperations  # noqa: PLC0415

            return TritonOperations()
        except Exception as error:  # noqa: BLE001 - whatever a broken installation raises is the reason
            reason = f"Triton cannot be imported ({type(error).__name__}: {error})".partition("\n")[0]
    if config.attention_backend == "triton":
        raise ConfigError("attention_backend", "triton", f"Use auto or torch: {reason}")
    _log.info("%s; torch computes on %s", reason, device)
    return TorchOperations()


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


_LEAST_CAPABILITY = (8, 0)
"""Before it there are no matrix products of bfloat16 and less memory to share than tiles take."""

_OWN_DTYPE = "Triton's kernels read keys and values of the weights' dtype or of eight bits"


def _hindrance(config: EngineConfig, device: torch.device) -> str | None:
    """Why Triton's kernels cannot be used, if so."""
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed; it comes with torch for CUDA and ROCm"
    if reason := _hindrance_of(device):
        return reason
    if config.kv_dtype not in ("auto", config.dtype, *CODED_DTYPES):
        return f"{_OWN_DTYPE}: leave kv_dtype at auto or give it the value of dtype, fp8 or int8"
    return None


def _hindrance_of(device: torch.device) -> str | None:
    """Why Triton's kernels do not run on a device, if so."""
    if device.type == "cpu" and os.environ.get("TRITON_INTERPRET") == "1":
        return None
    if device.type != "cuda":
        return f"Triton's kernels run on a GPU and the device is {device.type}"
    if torch.version.hip is not None or not torch.cuda.is_available():
        return None
    major, minor = torch.cuda.get_device_capability(device)
    if (major, minor) >= _LEAST_CAPABILITY:
        return None
    return f"Triton's kernels are for compute capability 8.0 and later, this GPU has {major}.{minor}"
