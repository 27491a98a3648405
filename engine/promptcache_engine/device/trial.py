"""Whether Triton's kernels can compute on a device: one small launch tells, before a model is loaded.

An installation that can be imported may still lack what a launch needs: a C compiler, the assembler, a driver
that fits, a folder to keep what was compiled in. What follows from it is ``attention_backend``'s business.
"""

import importlib.util
import os
from collections.abc import Callable
from typing import TypeAlias

import torch

from promptcache_engine.kernels import reference

Trial: TypeAlias = Callable[[torch.device], str | None]
"""Says why Triton's kernels cannot compute on a device; None: they can."""

_LEAST_CAPABILITY = (8, 0)
"""Before it there are no matrix products of bfloat16 and less memory to share than tiles take."""

_LONGEST = 240
"""Characters of an error that are told: compilers print whole commands."""


def hindrance(device: torch.device) -> str | None:
    """Why Triton's kernels cannot compute on ``device``, with what to do about it, in one line; None: one
    was compiled, launched and computed what it should."""
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed; it comes with torch for CUDA and ROCm"
    if reason := _unfit(device):
        return reason
    try:
        from promptcache_engine.kernels import triton as kernels  # noqa: PLC0415 - imports Triton
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises is the reason
        return f"Triton cannot be imported ({told(error)}); {remedy(error)}"
    gate_up = torch.linspace(-4, 4, 64).view(1, -1)
    try:
        found = kernels.silu_mul(gate_up.to(device)).cpu()
    except Exception as error:  # noqa: BLE001 - as above
        return f"Triton cannot compile and run a kernel on {device} ({told(error)}); {remedy(error)}"
    if not torch.allclose(found, reference.silu_mul(gate_up), rtol=1e-4, atol=1e-5):
        return f"Triton's first kernel computed something else on {device} than torch; {_REINSTALL}"
    return None


def told(error: BaseException) -> str:
    """What happened, in one line."""
    line = " ".join(str(error).split())
    text = f"{type(error).__name__}: {line}" if line else type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def remedy(error: BaseException) -> str:
    """What helps where a kernel could not be compiled or launched, by what the error says."""
    text = f"{type(error).__name__} {error}".lower()
    for words, helps in _REMEDIES:
        if any(word in text for word in words):
            return helps
    if isinstance(error, FileNotFoundError):
        return "CC names the C compiler, TRITON_CACHE_DIR the folder to write programs to: name what is there"
    if isinstance(error, OSError):
        return _FOLDER
    return _REINSTALL


_FOLDER = "name a folder to write programs to in TRITON_CACHE_DIR"
_REINSTALL = (
    "install the Triton that came with this torch again, and see that the driver is as new as its CUDA"
)
_PTXAS = (
    "install Triton again, or name a CUDA toolkit's ptxas in TRITON_PTXAS_PATH"
    " (TRITON_PTXAS_BLACKWELL_PATH from capability 10.0 on)"
)
_REMEDIES = (
    (("c compiler", "c++ compiler"), "install gcc or clang, or name one in CC"),
    (("ptxas",), _PTXAS),
    (("calledprocesserror",), "a C compiler needs Python's headers, too (python3-dev)"),
    (("failed to map segment", "read-only", "no space left", "permission denied"), _FOLDER),
    (("out of resource",), "this GPU's programs share less memory than the kernels take"),
)  # fmt: skip
"""Words of an error, and what helps; the first that fits."""


def _unfit(device: torch.device) -> str | None:
    """Why Triton's kernels are not for a device, if so."""
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
