"""The launches an engine makes, by head size and coding, on tensors without memory: to compile ahead of time.

They go through the same plans as real ones, so tile sizes, options and facts about strides are those shipped.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from promptcache_engine.kernels.coded import LARGEST, slot_width
from promptcache_engine.kernels.tables import Chunks, PageTable
from promptcache_engine.kernels.triton import (
    decode,
    extend,
    extend_split,
    gates,
    norms,
    rotary,
    sampling,
    slots,
)
from promptcache_engine.kernels.triton.launch import Launch, Target
from promptcache_engine.kernels.triton.layer import Layer, layer_of, pool_parts

TARGETS = (Target("cuda", 80), Target("cuda", 90), Target("cuda", 100), Target("hip", 942))
DIMS = (64, 80, 96, 128, 256)
CODINGS = (torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn, torch.int8)
"""Of pages; queries are bfloat16 over coded ones, else as the pages are."""

_GROUP, _KV_HEADS = 4, 8
_HEADS = _GROUP * _KV_HEADS
_SEQUENCES, _PAGES, _PAGE_SIZE, _ROWS, _SLOTS = 16, 256, 16, 512, 65536
_FEW_ROWS = 64
_HIDDEN, _INNER, _VOCAB, _LAYERS = 4096, 14336, 128256, 80
"""With so many layers all pools take more than 2 GiB, as on most devices."""


class Shipped(NamedTuple):
    """A launch and what it is: the operation, and what sets it apart from others of the same."""

    operation: str
    variant: str
    launch: Launch


def attention_launches(
    target: Target,
    dim: int,
    coding: torch.dtype,
    *,
    asked: torch.dtype | None = None,
    gemma: bool = False,
    deterministic: bool = False,
    group: int = _GROUP,
    page_size: int = _PAGE_SIZE,
    small: bool = False,
) -> Iterator[Shipped]:
    """Decode and extend attention, the latter in both forms.

    Args:
        target: where they run.
        dim: values a head.
        coding: dtype of pages.
        asked: dtype of queries, where it is not the usual one (``CODINGS``).
        gemma: with a window and a soft cap.
        deterministic: with sums formed split by split.
        group: query heads to a head of keys.
        page_size: tokens a page.
        small: with pools of less than 2 GiB, which makes other programs for AMD devices only.
    """
    heads = group * _KV_HEADS
    asked = asked or (torch.bfloat16 if coding in LARGEST else coding)
    query = _meta(_ROWS, heads, dim, dtype=asked)
    layer, table = _layer(query, coding, gemma=gemma, small=small), _table(page_size)
    out = _meta(_ROWS, heads * dim, dtype=query.dtype)
    chunks = Chunks(_meta(_SEQUENCES + 1, dtype=torch.int32), _ROWS)
    variant = _variant(dim, coding, asked, gemma=gemma, deterministic=deterministic)
    if (group, page_size) != (_GROUP, _PAGE_SIZE):
        variant += f", groups of {group}, pages of {page_size}"
    variant += ", small pools" * small
    one_each = query[:_SEQUENCES], layer, table, out[:_SEQUENCES]
    attend, merge = decode.plan(target, *one_each, deterministic=deterministic)
    yield Shipped("decode_attention", variant, attend)
    whole = extend.plan(target, query, layer, table, chunks, out, deterministic=deterministic)
    yield Shipped("extend_attention", variant, whole)
    few = query[:_FEW_ROWS], layer, table, chunks, out[:_FEW_ROWS]
    attend, merge_chunks = extend_split.plan(target, *few, deterministic=deterministic)
    yield Shipped("extend_attention, keys divided", variant, attend)
    if small:  # what merges knows nothing of pages
        return
    merged = f"{_name(asked)}, heads of {dim}" + ", window and soft cap" * gemma
    yield Shipped("decode_attention, merging", merged, merge)  # of splits that are always of one length
    yield Shipped("extend_attention, merging", merged + ", deterministic" * deterministic, merge_chunks)


def row_launches(
    dim: int, coding: torch.dtype, *, asked: torch.dtype | None = None, small: bool = False
) -> Iterator[Shipped]:
    """The rotation of heads with the write into pages, without and with norms of heads (whose weights are
    float32); the arguments are as for attention."""
    dtype = asked or (torch.bfloat16 if coding in LARGEST else coding)
    projected = _meta(_ROWS, (_HEADS + 2 * _KV_HEADS) * dim, dtype=dtype)
    angles, pool = _meta(_ROWS, dim // 2), _pool(dim, coding, small=small)
    query, places = _meta(_ROWS, _HEADS, dim, dtype=dtype), _meta(_ROWS, dtype=torch.int64)
    parts = pool_parts(pool, pool, dim)
    for norm in (None, _meta(dim)):
        launch = rotary.plan(projected, angles, angles, parts, places, query, norm, norm, 1e-6)
        variant = _variant(dim, coding, dtype) + ", normed" * (norm is not None) + ", small pools" * small
        yield Shipped("rotary_write", variant, launch)


def other_launches(dtype: torch.dtype) -> Iterator[Shipped]:
    """What does not know heads: norms (weights and sums are float32), gates, moving slots, sampling."""
    variant = _name(dtype)
    rows, hidden, weight = _meta(_ROWS, _HIDDEN, dtype=dtype), _meta(_ROWS, _HIDDEN), _meta(_HIDDEN)
    yield Shipped("rms_norm", variant, norms.plan(hidden, weight, 1e-6, rows))
    yield Shipped("rms_norm", f"{variant} to float32", norms.plan(rows, weight, 1e-6, hidden))
    for inner in (None, weight):
        added = norms.plan_add(hidden, rows, weight, 1e-6, rows, inner)
        yield Shipped("add_rms_norm", variant + ", normed update" * (inner is not None), added)
    gate_up, gated = _meta(_ROWS, 2 * _INNER, dtype=dtype), _meta(_ROWS, _INNER, dtype=dtype)
    yield Shipped("silu_mul", variant, gates.plan(gate_up, gated, gelu=False))
    yield Shipped("gelu_mul", variant, gates.plan(gate_up, gated, gelu=True))
    if dtype != torch.bfloat16:
        return
    yield from slot_launches()
    each, found = _meta(_SEQUENCES), _meta(_SEQUENCES, dtype=torch.int64)
    counts, keys = _meta(_SEQUENCES, dtype=torch.int32), _meta(_SEQUENCES, 2, dtype=torch.int32)
    yield Shipped(
        "sample_tokens",
        "any",
        sampling.plan(_meta(_SEQUENCES, _VOCAB), each, counts, each, each, keys, found),
    )


def slot_launches(*, small: bool = False) -> Iterator[Shipped]:
    """Moving slots, of any dtype; what is gathered lies in memory of its own, of less than 2 GiB."""
    shape = _LAYERS, _SLOTS // 64 if small else _SLOTS, _KV_HEADS * 128
    pool = _meta(*shape, dtype=torch.bfloat16)
    gathered = _meta(_LAYERS, _ROWS, _KV_HEADS * 128, dtype=torch.bfloat16)
    places = _meta(_ROWS, dtype=torch.int64)
    variant = "any" + ", small pools" * small
    yield Shipped("copy_slots", variant, slots.plan(pool, pool, places, places))
    yield Shipped("gather_slots", variant, slots.plan(pool, gathered, places, None))
    yield Shipped("scatter_slots", variant, slots.plan(gathered, pool, None, places))


def _layer(query: Tensor, coding: torch.dtype, *, gemma: bool, small: bool) -> Layer:
    pool = _pool(query.shape[2], coding, small=small)
    return layer_of(query, pool, pool, 0.1, 512 if gemma else None, 50.0 if gemma else None)


def _pool(dim: int, coding: torch.dtype, *, small: bool) -> Tensor:
    """One layer of a pool: all of them lie in one memory."""
    return _meta(1 if small else _LAYERS, _SLOTS, slot_width(_KV_HEADS, dim, coding), dtype=coding)[0]


def _table(page_size: int) -> PageTable:
    pages = _meta(_SEQUENCES, _PAGES, dtype=torch.int32)
    return PageTable(pages, _meta(_SEQUENCES, dtype=torch.int32), page_size, _PAGES * page_size)


def _variant(
    dim: int,
    coding: torch.dtype,
    asked: torch.dtype,
    *,
    gemma: bool = False,
    deterministic: bool = False,
) -> str:
    usual = asked in {coding, torch.bfloat16}
    kept = _name(coding) if usual else f"{_name(coding)} under {_name(asked)}"
    extra = ", window and soft cap" * gemma + ", deterministic" * deterministic
    return f"{kept}, heads of {dim}{extra}"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _meta(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")
