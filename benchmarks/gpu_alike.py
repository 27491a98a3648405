"""Matrix products of Triton's interpreter whose rows do not depend on their place, as a GPU's do.

NumPy's do: the last bits of a row differ by where in its tile it lies. What is compared to the bit is
therefore interpreted with these in their place. On a GPU nothing is replaced.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


@contextmanager
def rows_alike(device: torch.device) -> Iterator[None]:
    """Every row of a product summed in the same order, while this is open."""
    if device.type == "cuda":
        yield
        return
    from triton.runtime import interpreter  # noqa: PLC0415 - only where Triton interprets

    builder: Any = interpreter.InterpreterBuilder
    handle: Any = interpreter.TensorHandle
    plain = builder.create_dot

    def create_dot(_: Any, a: Any, b: Any, d: Any, *__: Any) -> Any:
        wide = a.data.astype(np.float32)[:, :, None] * b.data.astype(np.float32)[None]
        return handle(wide.sum(1, dtype=np.float32) + d.data, d.dtype.scalar)

    builder.create_dot = create_dot
    try:
        yield
    finally:
        builder.create_dot = plain
