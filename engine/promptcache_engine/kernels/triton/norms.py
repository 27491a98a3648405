"""Root-mean-square norms of rows, alone or with the addition before them; one program a row.

Specification: ``reference.rms_norm`` and ``reference_fused.add_rms_norm``.
"""

import torch
import triton.language as tl
from torch import Tensor

from promptcache_engine.kernels.triton.launch import Launch, Options, jit, next_power_of_two


def rms_norm(x: Tensor, weight: Tensor, eps: float, dtype: torch.dtype | None = None) -> Tensor:
    """As ``reference.rms_norm``; the last dimension of ``x`` must be contiguous."""
    rows = x.reshape(-1, x.shape[-1])
    out = torch.empty(x.shape, dtype=dtype or weight.dtype, device=x.device)
    plan(rows, weight, eps, out.view(rows.shape)).run()
    return out


def add_rms_norm(
    hidden: Tensor,
    update: Tensor,
    weight: Tensor,
    eps: float,
    *,
    dtype: torch.dtype,
    update_weight: Tensor | None = None,
) -> Tensor:
    """As ``reference_fused.add_rms_norm``."""
    out = torch.empty(hidden.shape, dtype=dtype, device=hidden.device)
    plan_add(hidden, update, weight, eps, out, update_weight).run()
    return out


def plan(rows: Tensor, weight: Tensor, eps: float, out: Tensor) -> Launch:
    """The launch for rows [T, E]."""
    arguments = (rows, rows, weight, weight, out, rows.stride(0), rows.stride(0), out.stride(0), eps)
    return _launch(rows, arguments, adds=False, norms_update=False)


def plan_add(
    hidden: Tensor, update: Tensor, weight: Tensor, eps: float, out: Tensor, update_weight: Tensor | None
) -> Launch:
    """The launch that first adds ``update``, normed by ``update_weight`` if there is one."""
    inner = weight if update_weight is None else update_weight
    strides = (hidden.stride(0), update.stride(0), out.stride(0))
    arguments = (hidden, update, weight, inner, out, *strides, eps)
    return _launch(hidden, arguments, adds=True, norms_update=update_weight is not None)


def _launch(
    rows: Tensor, arguments: tuple[Tensor | int | float, ...], *, adds: bool, norms_update: bool
) -> Launch:
    width = rows.shape[1]
    padded = next_power_of_two(width)
    warps = min(16, max(1, padded // 512))
    constants = {"width": width, "padded": padded, "adds": adds, "norms_update": norms_update}
    return Launch(_norm_row, (rows.shape[0],), arguments, constants, Options(warps))


@jit()
def _norm_row(
    rows: tl.tensor,
    updates: tl.tensor,
    weight: tl.tensor,
    update_weight: tl.tensor,
    out: tl.tensor,
    row_stride: tl.tensor,
    update_stride: tl.tensor,
    out_stride: tl.tensor,
    eps: tl.tensor,
    width: tl.constexpr,
    padded: tl.constexpr,
    adds: tl.constexpr,
    norms_update: tl.constexpr,
) -> None:
    """Norm one row; with ``adds`` the row is first increased, in place."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, padded)
    real = at < width
    x = tl.load(rows + row * row_stride + at, mask=real, other=0.0).to(tl.float32)
    if adds:
        update = tl.load(updates + row * update_stride + at, mask=real, other=0.0).to(tl.float32)
        if norms_update:
            update = _normed(update, update_weight, at, real, eps, width)
            update = update.to(update_weight.dtype.element_ty).to(tl.float32)
        x += update
        tl.store(rows + row * row_stride + at, x, mask=real)
    normed = _normed(x, weight, at, real, eps, width)
    tl.store(out + row * out_stride + at, normed.to(out.dtype.element_ty), mask=real)


@jit()
def _normed(
    x: tl.tensor, weight: tl.tensor, at: tl.tensor, real: tl.tensor, eps: tl.tensor, width: tl.constexpr
) -> tl.tensor:
    """Values divided by their root mean square, times their weights, in float32."""
    size = tl.sqrt_rn(tl.sum(x * x, 0) / width + eps)
    return tl.load(weight + at, mask=real, other=0.0).to(tl.float32) * (x / size)
