"""Causal attention of chunks whose rows are too few to fill a GPU: their keys are divided, too.

A context is cut into splits of a fixed length, as for decoding, and the states of a row over each are merged
in order. With ``deterministic`` splits are those of which ``extend`` forms its sums one after the other: the
bits are the same, so that which of the two is launched is seen in nothing but time.
Specification: ``reference_pages.extend_attention``.
"""

import triton.language as tl
from torch import Tensor

from promptcache_engine.kernels.tables import Chunks, PageTable
from promptcache_engine.kernels.triton import tiles
from promptcache_engine.kernels.triton.attention_tile import attend, tile_rows
from promptcache_engine.kernels.triton.launch import Launch, Target, jit
from promptcache_engine.kernels.triton.layer import Layer
from promptcache_engine.kernels.triton.merging import merge_rows, state_bytes, states_for


def pays(
    target: Target, query: Tensor, layer: Layer, table: PageTable, chunks: Chunks, *, deterministic: bool
) -> bool:
    """Whether keys are divided; decided by sizes that the host knows."""
    rows = _tiles(target, query, layer, deterministic=deterministic).rows
    row_tiles = -(-chunks.longest * layer.group // rows)
    seen = min(table.longest, layer.window + chunks.longest) if layer.window else table.longest
    return (
        seen > tiles.LONG
        and row_tiles * layer.parts.kv_heads * table.contexts.shape[0] < tiles.FEW
        and state_bytes(query, table.longest, _length(deterministic=deterministic)) <= tiles.ROOM
    )


def plan(
    target: Target,
    query: Tensor,
    layer: Layer,
    table: PageTable,
    chunks: Chunks,
    out: Tensor,
    *,
    deterministic: bool,
) -> list[Launch]:
    """The two launches: states of every split, then their merger into ``out``."""
    chosen = _tiles(target, query, layer, deterministic=deterministic)
    states = states_for(query, table.longest, _length(deterministic=deterministic))
    row_tiles = -(-chunks.longest * layer.group // chosen.rows)
    attending = Launch(
        _attend_chunk_split,
        (row_tiles * states.splits, layer.parts.kv_heads, table.contexts.shape[0]),
        (
            query, *layer.parts.tensors, table.pages, table.contexts, chunks.starts, states.sums,
            states.peaks, states.splits, query.stride(0), query.stride(1), layer.parts.slot_stride,
            layer.parts.scale_stride, table.pages.stride(0), layer.scale, layer.window,
        ),
        {
            "dim": query.shape[2], "padded": layer.padded, "group": layer.group, "split": states.length,
            **layer.form(target), "page_size": table.page_size, "rows": chosen.rows, "keys_tile": chosen.keys,
        },
        chosen.options,
    )  # fmt: skip
    return [attending, merge_rows(layer, states, table.contexts, out, chunks)]


def _length(*, deterministic: bool) -> int:
    return tiles.SPLIT if deterministic else tiles.CHUNK_SPLIT


def _tiles(target: Target, query: Tensor, layer: Layer, *, deterministic: bool) -> tiles.AttentionTiles:
    shape = layer.padded, query.element_size(), layer.parts.coded
    return tiles.divided_tiles(target, *shape, deterministic=deterministic)


@jit(varying=("splits", "pages_stride", "window"))
def _attend_chunk_split(
    query: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    key_scales: tl.tensor,
    value_scales: tl.tensor,
    pages: tl.tensor,
    contexts: tl.tensor,
    starts: tl.tensor,
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
    """The states of one tile of rows over one split."""
    piece = tl.program_id(0) % splits
    row_tile = tl.program_id(0) // splits
    head = tl.program_id(1)
    sequence = tl.program_id(2).to(tl.int64)
    start = tl.load(starts + sequence).to(tl.int64)
    count = (tl.load(starts + sequence + 1) - start).to(tl.int32)
    context = tl.load(contexts + sequence)
    if row_tile * rows < count * group:
        token, member, own, low, common, earliest, latest = tile_rows(
            row_tile, count, context, window, group, windowed, rows
        )
        first = piece * split
        last = tl.minimum(first + split, latest + 1)
        if (first <= latest) & (last > low):
            dims = tl.arange(0, padded)
            real = own >= 0
            whole = real[:, None] & (dims < dim)[None, :]
            heads = head * group + member
            asked = tl.load(
                query
                + (start + token)[:, None] * query_stride
                + heads[:, None] * head_stride
                + dims[None, :],
                mask=whole,
                other=0,
            )
            if wide:
                asked = asked.to(tl.float32)
            best, total, mixed = attend(
                asked,
                tl.maximum(first, low // keys_tile * keys_tile),
                last,
                own,
                (low, common, earliest),
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
            cell = ((start + token) * tl.num_programs(1) * group + heads) * splits + piece
            tl.store(peaks + cell * 2, best, mask=real)
            tl.store(peaks + cell * 2 + 1, total, mask=real)
            tl.store(sums + cell[:, None] * dim + dims[None, :], mixed, mask=whole)
