"""Attention of one row a sequence over its pages: flash-decoding.

A context is cut into splits of a fixed length, each read by programs of its own; their sums are then merged
in order. Neither the length of the context nor the batch moves a cut, so a row's bits depend on its sequence
alone. Specification: ``reference_pages.decode_attention``.
"""

import torch
import triton.language as tl
from torch import Tensor

from promptcache_engine.kernels.tables import PageTable
from promptcache_engine.kernels.triton import tiles
from promptcache_engine.kernels.triton.attention_tile import attend, finish, shares
from promptcache_engine.kernels.triton.launch import Launch, Options, Target, jit, target_of
from promptcache_engine.kernels.triton.layer import Layer, layer_of


def decode_attention(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    table: PageTable,
    *,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    deterministic: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """As ``reference_pages.decode_attention``."""
    if out is None:
        out = query.new_empty(query.shape[0], query.shape[1] * query.shape[2])
    layer = layer_of(query, key_pool, value_pool, scale, window, softcap)
    for launch in plan(target_of(query), query, layer, table, out, deterministic=deterministic):
        launch.run()
    return out


def plan(
    target: Target,
    query: Tensor,
    layer: Layer,
    table: PageTable,
    out: Tensor,
    *,
    deterministic: bool,
    chosen: tiles.AttentionTiles | None = None,
) -> list[Launch]:
    """The two launches: sums of every split, then their merger into ``out``.

    ``chosen`` takes the place of the table's tiles.
    """
    count, heads, dim = query.shape
    choose = tiles.deterministic_tiles if deterministic else tiles.decode_tiles
    chosen = chosen or choose(target, layer.padded, query.element_size(), layer.parts.coded)
    splits = -(-table.longest // tiles.SPLIT)
    parts = -(-layer.group // chosen.rows)
    sums = torch.empty(count, heads, splits, dim, dtype=torch.float32, device=query.device)
    peaks = torch.empty(count, heads, splits, 2, dtype=torch.float32, device=query.device)
    shape = {"dim": dim, "padded": layer.padded, "group": layer.group, "split": tiles.SPLIT}
    attending = Launch(
        _attend_split,
        (splits, layer.parts.kv_heads * parts, count),
        (
            query, *layer.parts.tensors, table.pages, table.contexts, sums, peaks, splits,
            query.stride(0), query.stride(1), layer.parts.slot_stride, layer.parts.scale_stride,
            table.pages.stride(0), layer.scale, layer.window,
        ),
        {
            **shape, **layer.form(target), "page_size": table.page_size,
            "rows": chosen.rows, "keys_tile": chosen.keys,
        },
        chosen.options,
    )  # fmt: skip
    merging = Launch(
        _merge_splits,
        (heads, count),
        (sums, peaks, table.contexts, out, splits, out.stride(0), layer.scale, layer.window),
        {
            "dim": dim, "padded": layer.padded, "split": tiles.SPLIT, "gathered": tiles.GATHERED,
            "windowed": layer.window > 0, "capped": layer.softcap > 0,
        },
        Options(warps=1),
    )  # fmt: skip
    return [attending, merging]


@jit(varying=("splits", "pages_stride", "window"))
def _attend_split(
    query: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    key_scales: tl.tensor,
    value_scales: tl.tensor,
    pages: tl.tensor,
    contexts: tl.tensor,
    sums: tl.tensor,
    peaks: tl.tensor,
    splits: tl.tensor,
    query_stride: tl.tensor,
    head_stride: tl.tensor,
    slot_stride: tl.tensor,
    scale_stride: tl.tensor,
    pages_stride: tl.tensor,
    scale: tl.tensor,
    window: tl.tensor,
    dim: tl.constexpr,
    padded: tl.constexpr,
    group: tl.constexpr,
    split: tl.constexpr,
    windowed: tl.constexpr,
    softcap: tl.constexpr,
    coded: tl.constexpr,
    wide: tl.constexpr,
    page_size: tl.constexpr,
    rows: tl.constexpr,
    keys_tile: tl.constexpr,
) -> None:
    """The state of the rows of one group of heads over one split."""
    piece = tl.program_id(0)
    sequence = tl.program_id(2).to(tl.int64)
    parts: tl.constexpr = (group + rows - 1) // rows
    head = tl.program_id(1) // parts
    member = tl.program_id(1) % parts * rows + tl.arange(0, rows)
    context = tl.load(contexts + sequence)
    low = tl.maximum(context - window, 0) if windowed else 0
    first = piece * split
    last = tl.minimum(first + split, context)
    if (first < context) & (last > low):
        dims = tl.arange(0, padded)
        real = member < group
        whole = real[:, None] & (dims < dim)[None, :]
        heads = head * group + member
        asked = tl.load(
            query + sequence * query_stride + heads[:, None] * head_stride + dims[None, :],
            mask=whole,
            other=0,
        )
        if wide:
            asked = asked.to(tl.float32)
        own = tl.where(real, context - 1, -1)
        best, total, mixed = attend(
            asked,
            tl.maximum(first, low // keys_tile * keys_tile),
            last,
            own,
            (low, low, context - 1),
            (
                keys,
                values,
                key_scales,
                value_scales,
                pages + sequence * pages_stride,
                head,
                slot_stride,
                scale_stride,
            ),
            scale,
            window,
            (dim, padded, keys_tile, page_size),
            (windowed, softcap, coded, wide),
        )
        cell = (sequence * tl.num_programs(1) // parts * group + heads) * splits + piece
        tl.store(peaks + cell * 2, best, mask=real)
        tl.store(peaks + cell * 2 + 1, total, mask=real)
        tl.store(sums + cell[:, None] * dim + dims[None, :], mixed, mask=whole)


@jit(varying=("splits", "window"))
def _merge_splits(
    sums: tl.tensor,
    peaks: tl.tensor,
    contexts: tl.tensor,
    out: tl.tensor,
    splits: tl.tensor,
    out_stride: tl.tensor,
    scale: tl.tensor,
    window: tl.tensor,
    dim: tl.constexpr,
    padded: tl.constexpr,
    split: tl.constexpr,
    gathered: tl.constexpr,
    windowed: tl.constexpr,
    capped: tl.constexpr,
) -> None:
    """Merge the states of one row's splits, in order."""
    head = tl.program_id(0)
    sequence = tl.program_id(1).to(tl.int64)
    context = tl.load(contexts + sequence)
    low = tl.maximum(context - window, 0) if windowed else 0
    factor = 1.4426950408889634 if capped else scale * 1.4426950408889634
    dims = tl.arange(0, padded)
    best = float("-inf")
    total = 0.0
    mixed = tl.zeros([padded], tl.float32)
    begin = low // split
    end = tl.cdiv(context, split)
    cell = (sequence * tl.num_programs(0) + head) * splits
    for base in tl.range(begin, end, gathered):
        for offset in tl.static_range(gathered):
            piece = base + offset
            there = piece < end
            more_best = tl.load(peaks + (cell + piece) * 2, mask=there, other=float("-inf"))
            more_total = tl.load(peaks + (cell + piece) * 2 + 1, mask=there, other=0.0)
            kept = dims < tl.where(there, dim, 0)
            more_mixed = tl.load(sums + (cell + piece) * dim + dims, mask=kept, other=0.0)
            best, keep, take = shares(best, more_best, factor)
            total = total * keep + more_total * take
            mixed = mixed * keep + more_mixed * take
    row = finish(total, mixed).to(out.dtype.element_ty)
    tl.store(out + sequence * out_stride + head * dim + dims, row, mask=dims < dim)
