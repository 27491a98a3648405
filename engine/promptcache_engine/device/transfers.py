"""Values on their way from the host to the device, without the host waiting for it.

A copy from ordinary memory to a GPU stops the host until the GPU has done all before it; one from page-locked
memory does not. Torch keeps that memory and uses it again once the copy has been made.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_ALIGNED = 4
"""Numbers of 32 bits in 16 bytes: Triton compiles a kernel again for tensors that begin elsewhere."""


def to_device(values: NDArray[Any], device: torch.device) -> Tensor:
    """Copy ``values``, which nobody writes to any more, to ``device``; on a CPU they are not copied."""
    held = torch.from_numpy(values)
    if device.type == "cpu":
        return held
    return held.pin_memory().to(device, non_blocking=True)


def indices(values: Sequence[int], device: torch.device) -> Tensor:
    """``values`` as int64 on ``device``."""
    return to_device(np.array(values, dtype=np.int64), device)


def packed(parts: Sequence[NDArray[np.int32]], device: torch.device) -> list[Tensor]:
    """Each part as int32 on ``device``, all in one copy; each begins on 16 bytes."""
    begins, end = list[int](), 0
    for part in parts:
        begins.append(end)
        end += len(part) + -len(part) % _ALIGNED
    values = np.zeros(end, dtype=np.int32)
    for begin, part in zip(begins, parts, strict=True):
        values[begin : begin + len(part)] = part
    moved = to_device(values, device)
    return [moved[begin : begin + len(part)] for begin, part in zip(begins, parts, strict=True)]


def current(device: torch.device) -> AbstractContextManager[object]:
    """While it is open ``device`` is the thread's current one: that is where Triton launches."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()
