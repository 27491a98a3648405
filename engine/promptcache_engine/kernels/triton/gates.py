"""The gated product of a feed-forward block: ``activation(gate) * up``.

Specification: ``reference.silu_mul`` and ``reference.gelu_mul``.
"""

import torch
import triton.language as tl
from torch import Tensor

from promptcache_engine.kernels.triton.launch import Launch, Options, jit

_TILE = 1024


def silu_mul(gate_up: Tensor) -> Tensor:
    """As ``reference.silu_mul``."""
    return _gated(gate_up, gelu=False)


def gelu_mul(gate_up: Tensor) -> Tensor:
    """As ``reference.gelu_mul``."""
    return _gated(gate_up, gelu=True)


def plan(gate_up: Tensor, out: Tensor, *, gelu: bool) -> Launch:
    """The launch for rows [T, 2I]."""
    width = out.shape[1]
    return Launch(
        _gate_row,
        (out.shape[0], -(-width // _TILE)),
        (gate_up, out, width, gate_up.stride(0), out.stride(0)),
        {"tile": _TILE, "gelu": gelu},
        Options(4),
    )


def _gated(gate_up: Tensor, *, gelu: bool) -> Tensor:
    out = torch.empty(gate_up.shape[0], gate_up.shape[1] // 2, dtype=gate_up.dtype, device=gate_up.device)
    plan(gate_up, out, gelu=gelu).run()
    return out


@jit()
def _gate_row(
    gate_up: tl.tensor,
    out: tl.tensor,
    width: tl.tensor,
    stride: tl.tensor,
    out_stride: tl.tensor,
    tile: tl.constexpr,
    gelu: tl.constexpr,
) -> None:
    """One run of values of one row."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * tile + tl.arange(0, tile)
    real = at < width
    gate = tl.load(gate_up + row * stride + at, mask=real, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * stride + width + at, mask=real, other=0.0).to(tl.float32)
    slope = gate
    if gelu:
        slope = gate * (gate * gate * 0.044715 + 1.0) * 1.5957691216057308
    gated = gate * up / (1.0 + tl.exp(-slope))
    tl.store(out + row * out_stride + at, gated.to(out.dtype.element_ty), mask=real)
