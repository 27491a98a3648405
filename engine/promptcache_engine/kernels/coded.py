"""Slots in eight bits: how a slot's values and scales lie, and the plain-torch coding that kernels must
equal.

A coded pool has dtype int8 or float8_e4m3fn. Its slots hold the values of all heads, one byte each, then one
float32 scale for each head, so that whatever moves a slot, or a page, moves its scales. A scale belongs to
one
token: coding a token never touches another, and its bytes depend neither on chunks nor on what the page holds
besides.
"""

from typing import NamedTuple

import torch
from torch import Tensor

LARGEST = {torch.float8_e4m3fn: 448.0, torch.int8: 127.0}
"""The largest magnitude that each coding holds; a scale maps the largest value of a head to it."""

LEAST_SCALE = 2.0**-126
"""The least scale, float32's least normal number: heads for which it would be smaller are coded as zeros."""

_SCALE_BYTES = 4
_ALIGNMENT = 16
# Below, padding could be taken for another head.
_SMALLEST_DIM = _ALIGNMENT - _SCALE_BYTES


class Slots(NamedTuple):
    """A pool taken apart: values [S, Hk * D] and, where it is coded, float32 scales [S, Hk]; views, no
    copies."""

    values: Tensor
    scales: Tensor | None


def slot_width(kv_heads: int, dim: int, dtype: torch.dtype) -> int:
    """Values of ``dtype`` that one slot of a pool takes: its heads', and where it is coded its scales'."""
    width = kv_heads * dim
    if dtype not in LARGEST:
        return width
    return -(-(width + kv_heads * _SCALE_BYTES) // _ALIGNMENT) * _ALIGNMENT


def hindrance(kv_heads: int, dim: int) -> str | None:
    """Why slots of these heads cannot be coded, if so."""
    if dim < _SMALLEST_DIM:
        return f"heads of {dim} values are not coded: {_SMALLEST_DIM} are the least"
    if kv_heads * dim % _SCALE_BYTES:
        return f"the scales behind {kv_heads} heads of {dim} values are not aligned"
    return None


def heads_in(pool: Tensor, dim: int) -> int:
    """How many heads of ``dim`` values a slot of a pool [S, width] holds.

    Raises:
        ValueError: the width is not that of a whole number of heads, or heads are too small to be coded.
    """
    width = pool.shape[-1]
    heads = width // (dim + _SCALE_BYTES) if pool.dtype in LARGEST else width // dim
    if heads < 1 or slot_width(heads, dim, pool.dtype) != width:
        raise ValueError(f"slots of {width} values of {pool.dtype} do not hold heads of {dim}")
    if pool.dtype in LARGEST and (reason := hindrance(heads, dim)):
        raise ValueError(reason)
    return heads


def take_apart(pool: Tensor, dim: int) -> Slots:
    """Values and scales of a pool [S, width] whose rows are contiguous."""
    heads = heads_in(pool, dim)
    values = pool[:, : heads * dim]
    if pool.dtype not in LARGEST:
        return Slots(values, None)
    begin = heads * dim // _SCALE_BYTES
    return Slots(values, pool.view(torch.float32)[:, begin : begin + heads])


def raw(pool: Tensor) -> Tensor:
    """The bytes of a coded pool, which torch can index; of any other the pool itself."""
    return pool.view(torch.uint8) if pool.dtype in LARGEST else pool


def encode(rows: Tensor, dtype: torch.dtype, dim: int) -> Tensor:
    """Slots [T, width] of ``dtype`` for rows [T, Hk * D]; the scale of zeros, and of heads next to
    them (``LEAST_SCALE``), is 1, padding is 0."""
    if dtype not in LARGEST:
        return rows.to(dtype)
    count, heads = rows.shape[0], rows.shape[1] // dim
    wide = rows.float().view(count, heads, dim)
    scales = wide.abs().amax(-1) / LARGEST[dtype]
    scales = torch.where(scales < LEAST_SCALE, 1.0, scales)
    coded = wide / scales.unsqueeze(-1)
    if dtype == torch.int8:
        coded = coded.round_()
    slots = torch.zeros(count, slot_width(heads, dim, dtype), dtype=torch.uint8, device=rows.device).view(
        dtype
    )
    parts = take_apart(slots, dim)
    parts.values.copy_(coded.view(count, heads * dim).to(dtype))
    assert parts.scales is not None
    parts.scales.copy_(scales)
    return slots


def decode(slots: Tensor, dtype: torch.dtype, dim: int) -> Tensor:
    """Rows [T, Hk * D] of ``dtype`` that slots [T, width] hold."""
    values, scales = take_apart(slots, dim)
    if scales is None:
        return values.to(dtype)
    count, heads = scales.shape
    wide = values.float().reshape(count, heads, dim) * scales.unsqueeze(-1)
    return wide.view(count, heads * dim).to(dtype)
