"""Causal attention of chunks, of any lengths in one launch, over cached pages and their own.

Rows of a tile are the query heads of one group for consecutive tokens, so that a tile reads each key once for
all of them. Tiles with the most keys start first. Where these are few, as for a short chunk behind a long
prefix, ``extend_split`` also divides the keys. Specification: ``reference_pages.extend_attention``.
"""

import triton.language as tl
from torch import Tensor

from promptcache_engine.kernels.tables import Chunks, PageTable
from promptcache_engine.kernels.triton import extend_split, tiles
from promptcache_engine.kernels.triton.attention_tile import attend, finish, shares, tile_rows
from promptcache_engine.kernels.triton.launch import Launch, Target, jit, target_of
from promptcache_engine.kernels.triton.layer import Layer, layer_of


def extend_attention(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    table: PageTable,
    chunks: Chunks,
    *,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    deterministic: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """As ``reference_pages.extend_attention``."""
    if out is None:
        out = query.new_empty(query.shape[0], query.shape[1] * query.shape[2])
    layer = layer_of(query, key_pool, value_pool, scale, window, softcap)
    target = target_of(query)
    if extend_split.pays(target, query, layer, table, chunks, deterministic=deterministic):
        for launch in extend_split.plan(
            target, query, layer, table, chunks, out, deterministic=deterministic
        ):
            launch.run()
    else:
        plan(target, query, layer, table, chunks, out, deterministic=deterministic).run()
    return out


def plan(
    target: Target,
    query: Tensor,
    layer: Layer,
    table: PageTable,
    chunks: Chunks,
    out: Tensor,
    *,
    deterministic: bool,
    chosen: tiles.AttentionTiles | None = None,
) -> Launch:
    """The launch; with ``deterministic`` sums are formed split by split, as decode attention forms them.

    ``chosen`` takes the place of the table's tiles.
    """
    dim = query.shape[2]
    choose = tiles.deterministic_tiles if deterministic else tiles.extend_tiles
    chosen = chosen or choose(target, layer.padded, query.element_size(), layer.parts.coded)
    row_tiles = -(-chunks.longest * layer.group // chosen.rows)
    return Launch(
        _attend_chunk,
        (row_tiles, layer.parts.kv_heads, table.contexts.shape[0]),
        (
            query, *layer.parts.tensors, table.pages, table.contexts, chunks.starts, out,
            query.stride(0), query.stride(1), layer.parts.slot_stride, layer.parts.scale_stride,
            table.pages.stride(0), out.stride(0), layer.scale, layer.window,
        ),
        {
            "dim": dim, "padded": layer.padded, "group": layer.group,
            "split": tiles.SPLIT if deterministic else 0,
            **layer.form(target), "page_size": table.page_size, "rows": chosen.rows, "keys_tile": chosen.keys,
        },
        chosen.options,
    )  # fmt: skip


@jit(varying=("pages_stride", "window"))
def _attend_chunk(
    query: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    key_scales: tl.tensor,
    value_scales: tl.tensor,
    pages: tl.tensor,
    contexts: tl.tensor,
    starts: tl.tensor,
    out: tl.tensor,
    query_stride: tl.tensor,
    head_stride: tl.tensor,
    slot_stride: tl.tensor,
    scale_stride: tl.tensor,
    pages_stride: tl.tensor,
    out_stride: tl.tensor,
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
    """One tile of rows over all the keys it sees."""
    row_tile = tl.num_programs(0) - 1 - tl.program_id(0)
    head = tl.program_id(1)
    sequence = tl.program_id(2).to(tl.int64)
    start = tl.load(starts + sequence).to(tl.int64)
    count = (tl.load(starts + sequence + 1) - start).to(tl.int32)
    context = tl.load(contexts + sequence)
    if row_tile * rows < count * group:
        token, member, own, low, common, earliest, latest = tile_rows(
            row_tile, count, context, window, group, windowed, rows
        )
        dims = tl.arange(0, padded)
        whole = (own >= 0)[:, None] & (dims < dim)[None, :]
        heads = head * group + member
        asked = tl.load(
            query + (start + token)[:, None] * query_stride + heads[:, None] * head_stride + dims[None, :],
            mask=whole,
            other=0,
        )
        if wide:
            asked = asked.to(tl.float32)
        cache = (
            keys, values, key_scales, value_scales, pages + sequence * pages_stride, head, slot_stride,
        scale_stride, )  # fmt: skip
        shape: tl.constexpr = (dim, padded, keys_tile, page_size)
        form: tl.constexpr = (windowed, softcap, coded, wide)
        first = low // keys_tile * keys_tile
        if split == 0:
            best, total, mixed = attend(
                asked, first, latest + 1, own, (low, common, earliest), cache, scale, window, shape, form
            )
        else:
            factor = 1.4426950408889634 if softcap > 0.0 else scale * 1.4426950408889634
            best = tl.full([rows], float("-inf"), tl.float32)
            total = tl.zeros([rows], tl.float32)
            mixed = tl.zeros([rows, padded], tl.float32)
            for piece in tl.range(first // split, tl.cdiv(latest + 1, split)):
                more_best, more_total, more_mixed = attend(
                    asked,
                    tl.maximum(first, piece * split),
                    tl.minimum(latest + 1, piece * split + split),
                    own,
                    (low, common, earliest),
                    cache,
                    scale,
                    window,
                    shape,
                    form,
                )
                best, keep, take = shares(best, more_best, factor)
                total = total * keep + more_total * take
                mixed = mixed * keep[:, None] + more_mixed * take[:, None]
        row = finish(total[:, None], mixed).to(out.dtype.element_ty)
        tl.store(
            out + (start + token)[:, None] * out_stride + heads[:, None] * dim + dims[None, :],
            row,
            mask=whole,
        )
