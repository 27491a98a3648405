"""The operations of ``reference`` on a CPU in fewer calls, equal to the bit: small steps are mostly calls.

What is prepared once for all layers of a step is a value here: the angles laid out for whole heads, and where
a context's slots lie side by side. Which step they belong to is the caller's business.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from promptcache_engine.kernels import coded, reference

MOST_RUNS = 32
"""Runs that are copied one by one; slots in more pieces are gathered."""


class Turns(NamedTuple):
    """Angles laid out for whole heads, float32 [T, 1, D]: both halves' cosines, and the sines that a head's
    swapped halves are multiplied by."""

    cosines: Tensor
    sines: Tensor


def turns(cos: Tensor, sin: Tensor) -> Turns:
    """Lay out angles [T, D / 2] for ``rotary``."""
    return Turns(torch.cat((cos, cos), dim=-1).unsqueeze(1), torch.cat((-sin, sin), dim=-1).unsqueeze(1))


def rotary(x: Tensor, turned: Turns) -> Tensor:
    """As ``reference.rotary``."""
    wide = x.float()
    swapped = wide.roll(x.shape[-1] // 2, -1)
    return (wide * turned.cosines).add_(swapped.mul_(turned.sines)).to(x.dtype)


def rms_norm(x: Tensor, weight: Tensor, eps: float, dtype: torch.dtype | None = None) -> Tensor:
    """As ``reference.rms_norm``."""
    if x.device.type != "cpu":
        return reference.rms_norm(x, weight, eps, dtype)
    normed = functional.rms_norm(x.float(), weight.shape, weight.float(), eps)
    return normed.to(dtype or weight.dtype)


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
    if update_weight is not None:
        update = rms_norm(update, update_weight, eps)
    hidden += update
    return rms_norm(hidden, weight, eps, dtype)


class Runs:
    """Slots int64 [L] of a pool, and in which runs they lie side by side."""

    def __init__(self, slots: Tensor) -> None:
        self._slots = slots
        breaks = (slots.diff() != 1).nonzero().flatten().add_(1)
        self._runs: list[tuple[int, int, int]] = []
        if len(breaks) < MOST_RUNS:
            starts = [0, *breaks.tolist()]
            ends = [*starts[1:], len(slots)]
            firsts = slots[starts].tolist()
            self._runs = [
                (first, start, end - start) for first, start, end in zip(firsts, starts, ends, strict=True)
            ]

    def __len__(self) -> int:
        return self._slots.shape[0]

    def read(self, pool: Tensor, out: Tensor, dim: int) -> Tensor:
        """What lies in the slots as float32 heads [Hk, L, dim], by way of ``out`` [at least L, Hk * dim]."""
        rows = out[: len(self)]
        if pool.dtype in coded.LARGEST:
            found = coded.raw(pool).index_select(0, self._slots).view(pool.dtype)
            rows = coded.decode(found, torch.float32, dim)
        elif not self._runs:
            rows.copy_(pool.index_select(0, self._slots))
        elif len(self._runs) == 1 and pool.dtype == torch.float32:
            rows = pool.narrow(0, self._runs[0][0], len(self))
        else:
            for first, start, length in self._runs:
                rows.narrow(0, start, length).copy_(pool.narrow(0, first, length))
        return rows.view(len(self), -1, dim).transpose(0, 1)

    def write(self, rows: Tensor, pool: Tensor, dim: int) -> None:
        """Store ``rows`` [L, Hk * dim] in the slots, as ``reference.write_kv`` does."""
        if pool.dtype in coded.LARGEST or not self._runs:
            encoded = coded.encode(rows, pool.dtype, dim)
            coded.raw(pool).index_copy_(0, self._slots, coded.raw(encoded))
            return
        for first, start, length in self._runs:
            pool.narrow(0, first, length).copy_(rows.narrow(0, start, length))
