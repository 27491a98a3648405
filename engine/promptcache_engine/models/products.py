"""Products of rows with a weight matrix: the place where other weight formats plug in.

Which matrix belongs where is ``loading``'s business.
"""

import torch
from torch import Tensor
from torch.nn import functional

from promptcache_engine.models.weights import Linear


def dense(weight: Tensor, bias: Tensor | None = None) -> Linear:
    """Return the product of rows with ``weight`` [out, in], plus ``bias`` [out], as a function."""
    return lambda rows: functional.linear(rows, weight, bias)


def logits_head(weight: Tensor, dtype: torch.dtype, device: torch.device) -> Linear:
    """Return the product that gives logits, in float32 whatever the rows' ``dtype``.

    Rounded to bfloat16, logits of about 20 would lie on steps of 0.125: that decides more often between two
    tokens than all other rounding. A GPU sums up and returns float32; on a CPU the matrix itself is kept in
    float32.
    """
    if dtype != torch.float32 and device.type == "cuda":
        narrow = weight.to(device=device, dtype=dtype).t()
        return lambda rows: torch.mm(rows, narrow, out_dtype=torch.float32)
    wide = weight.to(device=device, dtype=torch.float32)
    return lambda rows: functional.linear(rows.float(), wide)
