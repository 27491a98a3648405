"""Attention of one row a sequence over its pages: flash-decoding.

A context is cut into splits of a fixed length, each read by programs of its own; their sums are then merged
in order. Neither the length of the context nor the batch moves a cut, so a row's bits depend on its sequence
alone. Specification: ``reference_pages.decode_attention``.
"""

import triton.language as tl
from torch import Tensor

from promptcache_engine.kernels.tables import PageTable
from promptcache_engine.kernels.triton import tiles
from promptcache_engine.kernels.triton.attention_tile import attend
from promptcache_engine.kernels.triton.launch import Launch, Target, jit, target_of
from promptcache_engine.kernels.triton.layer import Layer, layer_of
from promptcache_engine.kernels.triton.merging import merge_rows, states_for


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
    count, _, dim = query.shape
    choose = tiles.deterministic_tiles if deterministic else tiles.decode_tiles
    chosen = chosen or choose(target, layer.padded, query.element_size(), layer.parts.coded)
    states = states_for(query, table.longest, tiles.SPLIT)
    parts = -(-layer.group // chosen.rows)
    shape = {"dim": dim, "padded": layer.padded, "group": layer.group, "split": tiles.SPLIT}
    attending = Launch(
        _attend_split,
        (states.splits, layer.parts.kv_heads * parts, count),
        (
            query, *layer.parts.tensors, table.pages, table.contexts, states.sums, states.peaks,
            states.splits, query.stride(0), query.stride(1), layer.parts.slot_stride,
            layer.parts.scale_stride, table.pages.stride(0), layer.scale, layer.window,
        ),
        {
            **shape, **layer.form(target), "page_size": table.page_size,
            "rows": chosen.rows, "keys_tile": chosen.keys,
        },
        chosen.options,
    )  # fmt: skip
    merging = merge_rows(layer, states, table.contexts, out)
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
