"""What both attention kernels share: scores of a tile of rows over runs of keys, with a running softmax.

A tile is some rows of query heads that read the same key/value head. Keys are taken in tiles that begin at
multiples of their length, so that a row's sums are formed in one order whatever rows share its tile: keys
that a row may not see leave its sums as they are, bit for bit. The state of a row is its largest score so
far, the sum of its weights and the weighted sum of values.
"""

import triton.language as tl

from promptcache_engine.kernels.triton.coding import load_rows
from promptcache_engine.kernels.triton.launch import jit


@jit()
def attend(
    query: tl.tensor,
    first: tl.tensor,
    last: tl.tensor,
    own: tl.tensor,
    lows: tl.tensor,
    cache: tl.tensor,
    scale: tl.tensor,
    window: tl.tensor,
    shape: tl.constexpr,
    form: tl.constexpr,
) -> tl.tensor:
    """The state of a tile of rows over the keys ``first`` to ``last``.

    Args:
        query: [rows, padded dim].
        first: a multiple of the tile of keys.
        last: exclusive.
        own: the place of each row's token in its context; below 0 for rows that are none.
        lows: the first key that any row sees and the first that all rows see; then the last key that all see.
        cache: as in ``_attend_run``.
        scale: of the scores.
        window: keys a row sees, where there is a window.
        shape: (values a head, the power of two that holds them, keys a tile, page size).
        form: (whether there is a window, the soft cap or 0, how pages are coded, whether products are
            widened).
    """
    tile: tl.constexpr = shape[2]
    rows: tl.constexpr = query.shape[0]
    best = tl.full([rows], float("-inf"), tl.float32)
    total = tl.zeros([rows], tl.float32)
    mixed = tl.zeros([rows, shape[1]], tl.float32)
    low, common, least = lows
    open_from = tl.minimum(tl.cdiv(tl.maximum(common, first), tile) * tile, tl.cdiv(last, tile) * tile)
    open_to = tl.maximum(tl.minimum(least + 1, last) // tile * tile, open_from)
    if form[0]:
        best, total, mixed = _attend_run(
            (best, total, mixed),
            query,
            first,
            open_from,
            own,
            low,
            last,
            cache,
            scale,
            window,
            True,
            shape,
            form,
        )
    best, total, mixed = _attend_run(
        (best, total, mixed),
        query,
        open_from,
        open_to,
        own,
        low,
        last,
        cache,
        scale,
        window,
        False,
        shape,
        form,
    )
    return _attend_run(
        (best, total, mixed), query, open_to, last, own, low, last, cache, scale, window, True, shape, form
    )


@jit()
def _attend_run(
    state: tl.tensor,
    query: tl.tensor,
    first: tl.tensor,
    last: tl.tensor,
    own: tl.tensor,
    low: tl.tensor,
    high: tl.tensor,
    cache: tl.tensor,
    scale: tl.tensor,
    window: tl.tensor,
    masked: tl.constexpr,
    shape: tl.constexpr,
    form: tl.constexpr,
) -> tl.tensor:
    """Add keys to a state, a tile at a time; without ``masked`` every row sees them all.

    ``cache`` is (keys, values, key scales, value scales, pages, head, strides of a slot in values and
    scales); keys before ``low`` or from ``high`` on are not read.
    """
    keys, values, key_scales, value_scales, pages, head, slot_stride, scale_stride = cache
    dim: tl.constexpr = shape[0]
    tile: tl.constexpr = shape[2]
    softcap: tl.constexpr = form[1]
    coded: tl.constexpr = form[2]
    best, total, mixed = state
    log2_e = 1.4426950408889634
    factor = log2_e if softcap > 0.0 else scale * log2_e
    for start in tl.range(first, last, tile):
        place = start + tl.arange(0, tile)
        read = (place >= low) & (place < high)
        page = (
            tl.load(pages + place // shape[3], mask=read, other=0)
            if masked
            else tl.load(pages + place // shape[3])
        )
        slot = page.to(tl.int64) * shape[3] + place % shape[3]
        spot = slot * slot_stride + head * dim
        below = load_rows(keys, spot, read, masked, shape, coded, form[3], query.dtype)
        scores = tl.dot(query, tl.trans(below), input_precision="ieee")
        if coded:
            scores *= tl.load(key_scales + slot * scale_stride + head, mask=read, other=0.0)[None, :]
        if softcap > 0.0:
            scores = _press(scores * (scale / softcap)) * softcap
        if masked:
            seen = place[None, :] <= own[:, None]
            if form[0]:
                seen = seen & (place[None, :] > own[:, None] - window)
            scores = tl.where(seen, scores, float("-inf"))
        peak = tl.maximum(best, tl.max(scores, 1))
        safe = tl.where(peak == float("-inf"), 0.0, peak)
        weights = tl.exp2(tl.fma(scores, factor, -(safe * factor)[:, None]))
        fade = tl.exp2((best - safe) * factor)  # not fused: an unchanged peak leaves the sums as they are
        best = peak
        total = total * fade + tl.sum(weights, 1)
        below = load_rows(values, spot, read, masked, shape, coded, form[3], query.dtype)
        if coded:
            shrunk = tl.load(value_scales + slot * scale_stride + head, mask=read, other=0.0)
            if below.dtype == tl.float16:  # weights times scales may lie below what a half can hold
                below = (below.to(tl.float32) * shrunk[:, None]).to(tl.float16)
            else:
                weights *= shrunk[None, :]
        mixed = tl.dot(weights.to(below.dtype), below, mixed * fade[:, None], input_precision="ieee")
    return best, total, mixed


@jit()
def tile_rows(
    row_tile: tl.tensor,
    count: tl.tensor,
    context: tl.tensor,
    window: tl.tensor,
    group: tl.constexpr,
    windowed: tl.constexpr,
    rows: tl.constexpr,
) -> tl.tensor:
    """Which rows a tile of a chunk has: the query heads of one group for consecutive tokens.

    Of each row: its token's place in the chunk of ``count``, its head's in the group, its token's place in
    the context or -1 where the chunk has no such token. Of all: ``lows`` as in ``attend``, and the last key
    that any sees.
    """
    folded = row_tile * rows + tl.arange(0, rows)
    token = folded // group
    own = tl.where(token < count, context - count + token, -1)
    earliest = context - count + row_tile * rows // group
    latest = context - count + tl.minimum((row_tile * rows + rows - 1) // group, count - 1)
    low = tl.maximum(earliest - window + 1, 0) if windowed else 0
    common = tl.maximum(latest - window + 1, 0) if windowed else 0
    return token, folded % group, own, low, common, earliest, latest


@jit()
def shares(best: tl.tensor, other: tl.tensor, factor: tl.tensor) -> tl.tensor:
    """The larger of two states' largest scores, and by how much the sums of each shrink when they are
    merged."""
    peak = tl.maximum(best, other)
    safe = tl.where(peak == float("-inf"), 0.0, peak)
    return peak, tl.exp2((best - safe) * factor), tl.exp2((other - safe) * factor)


@jit()
def finish(total: tl.tensor, mixed: tl.tensor) -> tl.tensor:
    """Divide by the sums of weights; what saw no key becomes zeros."""
    return mixed / tl.where(total == 0.0, 1.0, total)


@jit()
def _press(x: tl.tensor) -> tl.tensor:
    """The hyperbolic tangent, by an exponential that cannot overflow."""
    small = tl.exp2(tl.abs(x) * -2.8853900817779268)
    return tl.where(x < 0, small - 1.0, 1.0 - small) / (1.0 + small)
