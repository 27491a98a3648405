"""Products of rows with a weight matrix: the place where other weight formats plug in.

Which matrix belongs where is ``loading``'s business.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from promptcache_engine.kernels.native import PackedMatrix
from promptcache_engine.models.weights import Linear


@dataclass(frozen=True, eq=False)
class Dense:
    """The product of rows with ``weight`` [out, in], plus ``bias`` [out].

    ``packed`` holds the same matrix in the bits of the model's file, for the native decode step.
    """

    weight: Tensor
    bias: Tensor | None = None
    packed: PackedMatrix | None = None

    def __call__(self, rows: Tensor) -> Tensor:
        """Rows [T, in] to rows [T, out]."""
        return functional.linear(rows, self.weight, self.bias)


@dataclass(frozen=True, eq=False)
class WideHead:
    """The product that gives logits on a CPU: ``weight`` [vocabulary, in] is float32, whatever rows are."""

    weight: Tensor
    packed: PackedMatrix | None = None

    def __call__(self, rows: Tensor) -> Tensor:
        """Rows [T, in] to float32 logits [T, vocabulary]."""
        return functional.linear(rows.float(), self.weight)


def dense(weight: Tensor, bias: Tensor | None = None, packed: PackedMatrix | None = None) -> Dense:
    """Return the product of rows with ``weight`` [out, in], plus ``bias`` [out], as a function."""
    return Dense(weight, bias, packed)


def logits_head(
    weight: Tensor, dtype: torch.dtype, device: torch.device, packed: PackedMatrix | None = None
) -> Linear:
    """Return the product that gives logits, in float32 whatever the rows' ``dtype``.

    Rounded to bfloat16, logits of about 20 would lie on steps of 0.125: that decides more often between two
    tokens than all other rounding. A GPU sums up and returns float32; on a CPU the matrix itself is kept in
    float32.
    """
    if dtype != torch.float32 and device.type == "cuda":
        narrow = weight.to(device=device, dtype=dtype).t()
        return lambda rows: torch.mm(rows, narrow, out_dtype=torch.float32)
    return WideHead(weight.to(device=device, dtype=torch.float32), packed)
