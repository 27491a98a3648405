"""From stacked projections to rotated queries and written pages: norms, angles, coding and the write in one.

Specification: ``reference_fused.rotary_write``.
"""

import triton.language as tl
from torch import Tensor

from promptcache_engine.kernels.coded import LEAST_SCALE
from promptcache_engine.kernels.triton.coding import to_fp8, to_int8
from promptcache_engine.kernels.triton.launch import Launch, Options, jit, next_power_of_two
from promptcache_engine.kernels.triton.layer import PoolParts, pool_parts

_LEAST_SCALE = tl.constexpr(LEAST_SCALE)


def rotary_write(
    projected: Tensor,
    cos: Tensor,
    sin: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    *,
    slots: Tensor,
    heads: int,
    dim: int,
    query_norm: Tensor | None = None,
    key_norm: Tensor | None = None,
    eps: float = 1e-6,
) -> Tensor:
    """As ``reference_fused.rotary_write``."""
    query = projected.new_empty(projected.shape[0], heads, dim)
    parts = pool_parts(key_pool, value_pool, dim)
    plan(projected, cos, sin, parts, slots, query, query_norm, key_norm, eps).run()
    return query


def plan(
    projected: Tensor,
    cos: Tensor,
    sin: Tensor,
    parts: PoolParts,
    slots: Tensor,
    query: Tensor,
    query_norm: Tensor | None,
    key_norm: Tensor | None,
    eps: float,
) -> Launch:
    """The launch: a program for each row and head."""
    rows, heads, dim = query.shape
    if (
        projected.shape != (rows, (heads + 2 * parts.kv_heads) * dim)
        or projected.stride(1) != 1
        or (not parts.coded and parts.tensors[0].dtype != projected.dtype)
    ):
        found = f"{tuple(projected.shape)} {projected.dtype}, pages of {parts.tensors[0].dtype}"
        raise ValueError(f"projections do not fit {heads} and {parts.kv_heads} heads of {dim}: {found}")
    half = dim // 2
    return Launch(
        _turn_head,
        (rows, heads + 2 * parts.kv_heads),
        (
            projected, cos, sin, *parts.tensors, slots, query,
            cos if query_norm is None else query_norm, cos if key_norm is None else key_norm,
            projected.stride(0), cos.stride(0), parts.slot_stride, parts.scale_stride, query.stride(0), eps,
        ),
        {
            "heads": heads, "kv_heads": parts.kv_heads, "half": half, "padded": next_power_of_two(half),
            "norms_query": query_norm is not None, "norms_key": key_norm is not None, "coded": parts.coded,
        },
        Options(1),
    )  # fmt: skip


@jit()
def _turn_head(
    projected: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    key_scales: tl.tensor,
    value_scales: tl.tensor,
    slots: tl.tensor,
    query: tl.tensor,
    query_norm: tl.tensor,
    key_norm: tl.tensor,
    row_stride: tl.tensor,
    angle_stride: tl.tensor,
    slot_stride: tl.tensor,
    scale_stride: tl.tensor,
    query_stride: tl.tensor,
    eps: tl.tensor,
    heads: tl.constexpr,
    kv_heads: tl.constexpr,
    half: tl.constexpr,
    padded: tl.constexpr,
    norms_query: tl.constexpr,
    norms_key: tl.constexpr,
    coded: tl.constexpr,
) -> None:
    """One head of one row, in two halves: a query, a key or a value by its place."""
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    at = tl.arange(0, padded)
    real = at < half
    spot = projected + row * row_stride + head * (2 * half) + at
    first = tl.load(spot, mask=real, other=0.0)
    second = tl.load(spot + half, mask=real, other=0.0)
    if head < heads:
        if norms_query:
            first, second = _normed(first, second, query_norm, at, real, eps, half)
        first, second = _turned(first, second, cos, sin, row * angle_stride, at, real)
        place = query + row * query_stride + head * (2 * half) + at
        tl.store(place, first, mask=real)
        tl.store(place + half, second, mask=real)
    else:
        slot = tl.load(slots + row).to(tl.int64)
        if slot >= 0:
            if head < heads + kv_heads:
                if norms_key:
                    first, second = _normed(first, second, key_norm, at, real, eps, half)
                first, second = _turned(first, second, cos, sin, row * angle_stride, at, real)
                own = head - heads
                _write(
                    first, second, keys + slot * slot_stride + own * (2 * half) + at,
                    key_scales + slot * scale_stride + own, real, half, coded,
                )  # fmt: skip
            else:
                own = head - heads - kv_heads
                _write(
                    first, second, values + slot * slot_stride + own * (2 * half) + at,
                    value_scales + slot * scale_stride + own, real, half, coded,
                )  # fmt: skip


@jit()
def _normed(
    first: tl.tensor,
    second: tl.tensor,
    weight: tl.tensor,
    at: tl.tensor,
    real: tl.tensor,
    eps: tl.tensor,
    half: tl.constexpr,
) -> tl.tensor:
    """Both halves divided by the head's root mean square, times their weights, in their own dtype."""
    left = first.to(tl.float32)
    right = second.to(tl.float32)
    size = tl.sqrt_rn((tl.sum(left * left, 0) + tl.sum(right * right, 0)) / (2 * half) + eps)
    left = tl.load(weight + at, mask=real, other=0.0).to(tl.float32) * (left / size)
    right = tl.load(weight + half + at, mask=real, other=0.0).to(tl.float32) * (right / size)
    return left.to(first.dtype), right.to(first.dtype)


@jit()
def _turned(
    first: tl.tensor,
    second: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    begin: tl.tensor,
    at: tl.tensor,
    real: tl.tensor,
) -> tl.tensor:
    """Both halves rotated by the row's angles, in their own dtype."""
    left = first.to(tl.float32)
    right = second.to(tl.float32)
    cosine = tl.load(cos + begin + at, mask=real, other=0.0)
    sine = tl.load(sin + begin + at, mask=real, other=0.0)
    return (left * cosine - right * sine).to(first.dtype), (right * cosine + left * sine).to(first.dtype)


@jit()
def _write(
    first: tl.tensor,
    second: tl.tensor,
    place: tl.tensor,
    scale_place: tl.tensor,
    real: tl.tensor,
    half: tl.constexpr,
    coded: tl.constexpr,
) -> None:
    """Store both halves, as they are or coded with the head's scale."""
    if coded == 0:
        tl.store(place, first, mask=real)
        tl.store(place + half, second, mask=real)
    else:
        left = first.to(tl.float32)
        right = second.to(tl.float32)
        largest: tl.constexpr = 448.0 if coded == 1 else 127.0
        peak = tl.maximum(tl.max(tl.abs(left), 0), tl.max(tl.abs(right), 0))
        # A sum with what is not a number is none: the scale then spoils what is read, as it must.
        spoiled = (tl.sum(left, 0) + tl.sum(right, 0)) * 0.0
        scale = tl.div_rn(peak, largest)
        scale = tl.where(scale < _LEAST_SCALE, 1.0, scale) + spoiled
        tl.store(scale_place, scale)
        if coded == 1:
            tl.store(place, to_fp8(tl.div_rn(left, scale)), mask=real)
            tl.store(place + half, to_fp8(tl.div_rn(right, scale)), mask=real)
        else:
            tl.store(place, to_int8(tl.div_rn(left, scale)), mask=real)
            tl.store(place + half, to_int8(tl.div_rn(right, scale)), mask=real)
