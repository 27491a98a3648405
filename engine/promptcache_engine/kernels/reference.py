"""Plain-torch versions of the engine's operations: their specification, and the path taken on a CPU.

Each function knows tensors and slots only: no model, no sequence bookkeeping. Kernels for other devices
keep these signatures and are tested against these functions.

Shapes: T rows of a step, H query heads, Hk key/value heads, G = H / Hk, D values a head, S slots.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from promptcache_engine.kernels import coded

QUERY_TILE = 64
"""Query rows that attend together: bounds the score matrix and skips most of what causality masks."""

ROW_MULTIPLE = 8
"""Rows of a product in deterministic attention are padded to a multiple of this: BLAS treats 1 to 3 apart."""

KEY_TILE = 256
"""Keys per product in deterministic attention; a fixed size, so that the order of summation is fixed."""

_GELU_CUBE = 0.044715
_GELU_SLOPE = -2 * math.sqrt(2 / math.pi)


def rms_norm(x: Tensor, weight: Tensor, eps: float, dtype: torch.dtype | None = None) -> Tensor:
    """Divide each row of ``x`` [..., E] by its root mean square and scale it by ``weight`` [E].

    The arithmetic is float32, the result has ``dtype``: ``weight``'s unless given.
    """
    wide = x.float()
    normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (weight.float() * normed).to(dtype or weight.dtype)


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate heads ``x`` [T, H, D] by their rows' angles; value i pairs with value i + D/2 (half-split).

    ``cos`` and ``sin`` are float32 [T, D/2]. The arithmetic is float32, the result has ``x``'s dtype.
    """
    first, second = x.float().chunk(2, dim=-1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    rotated = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    return rotated.to(x.dtype)


def silu_mul(gate_up: Tensor) -> Tensor:
    """``silu(gate) * up`` for rows [T, 2I] that hold the gate's I values before the up projection's I.

    The arithmetic is float32, the result has ``gate_up``'s dtype.
    """
    gate, up = gate_up.chunk(2, dim=-1)
    wide = gate.float()
    # torch's silu rounds the last values of a piece of work differently; exp does not.
    return (wide * up.float()).div_(torch.exp(-wide).add_(1)).to(gate.dtype)


def gelu_mul(gate_up: Tensor) -> Tensor:
    """As ``silu_mul`` with GELU's tanh form, ``g / (1 + exp(-2 * sqrt(2 / pi) * (g + 0.044715 * g**3)))``.

    That is ``0.5 * g * (1 + tanh(...))`` written with exp, whose bits do not depend on a value's place.
    """
    gate, up = gate_up.chunk(2, dim=-1)
    wide = gate.float()
    inner = (wide * wide).mul_(_GELU_CUBE).add_(1).mul_(wide).mul_(_GELU_SLOPE)
    return (wide * up.float()).div_(torch.exp(inner).add_(1)).to(gate.dtype)


def softcap_(scores: Tensor, cap: float) -> Tensor:
    """Press ``scores`` in place into (-cap, cap): ``cap * tanh(scores / cap)``; returns them."""
    return scores.div_(cap).tanh_().mul_(cap)


def write_kv(
    keys: Tensor, values: Tensor, key_pool: Tensor, value_pool: Tensor, *, slots: Tensor, dim: int
) -> None:
    """Store rows ``keys`` and ``values`` [T, Hk * D] in the slots ``slots`` [T] of pools [S, width], rounded
    to the pools' dtype or coded (``coded``), heads of ``dim`` values each by itself."""
    for rows, pool in ((keys, key_pool), (values, value_pool)):
        coded.raw(pool).index_copy_(0, slots, coded.raw(coded.encode(rows, pool.dtype, dim)))


def copy_slots(pool: Tensor, src: Tensor, dst: Tensor) -> None:
    """Copy slots ``src`` to ``dst`` in every layer of ``pool`` [layers, S, W]; reads precede writes."""
    pool.index_copy_(1, dst, pool.index_select(1, src))


def paged_attention(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    sequences: Sequence[tuple[int, int, Tensor]],
    *,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    deterministic: bool = False,
) -> Tensor:
    """Causal attention of every sequence's rows over its own context in the pools.

    ``query`` is [T, H, D], the pools are [S, Hk * D] or coded (``coded``). Each of ``sequences`` is (first
    row, rows, context slots): row i of n attends to the first ``len(slots) - n + i + 1`` slots, with
    ``window`` to the last ``window`` of those; what lies in slots left of every row's window is never read.
    ``softcap`` presses the scores into its bounds before the softmax. Returns [T, H * D] in the dtype of
    ``query``. Scores and sums are float32.

    ``deterministic`` fixes the shape of every product, so that a row's result depends neither on how many
    rows are computed with it nor on how many keys follow its own.
    """
    out = torch.empty(query.shape[0], query.shape[1] * query.shape[2], dtype=query.dtype, device=query.device)
    for start, length, slots in sequences:
        rows = query[start : start + length]
        attend = _attend_tiled if deterministic else _attend
        out[start : start + length] = attend(
            rows, key_pool, value_pool, slots, scale=scale, window=window, softcap=softcap
        )
    return out


def _attend(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    slots: Tensor,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
) -> Tensor:
    count, _, dim = query.shape
    slots = slots[first_seen(slots.shape[0], count, window) :]
    keys, values = _gather(key_pool, slots, dim), _gather(value_pool, slots, dim)
    return attend(query, keys, values, scale=scale, window=window, softcap=softcap)


def attend(
    query: Tensor, keys: Tensor, values: Tensor, *, scale: float, window: int | None, softcap: float | None
) -> Tensor:
    """Causal attention of rows ``query`` [n, H, D] over float32 heads ``keys`` and ``values`` [Hk, L, D], of
    which the last n are the rows' own and the first is one that a row sees. Returns float32 [n, H * D]."""
    (count, _, dim), (kv_heads, context, _) = query.shape, keys.shape
    folded = _fold(query * scale, kv_heads)
    parts = []
    for low in range(0, count, QUERY_TILE):
        high = min(low + QUERY_TILE, count)
        seen = context - count + high
        first = first_seen(seen, high - low, window)
        rows = folded[:, :, low:high].reshape(kv_heads, -1, dim)
        used = rows.shape[1]
        if used > 1 and used % 2:  # BLAS takes twice as long for 3 rows as for 4
            rows = functional.pad(rows, (0, 0, 0, 1))
        scores = torch.bmm(rows, keys[:, first:seen].transpose(1, 2))
        if softcap is not None:
            softcap_(scores, softcap)
        _mask(scores[:, :used].view(kv_heads, -1, high - low, seen - first), window)
        mixed = torch.bmm(torch.softmax(scores, dim=-1), values[:, first:seen])
        parts.append(_unfold(mixed[:, :used], high - low))
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _attend_tiled(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    slots: Tensor,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
) -> Tensor:
    """As ``_attend``, with products over KEY_TILE keys and a multiple of ROW_MULTIPLE rows only.

    Tiles begin at multiples of KEY_TILE of the context, wherever the rows' windows begin. A visible slot is
    repeated to fill the first and the last, and masked. Keys that a row may not see add exact zeros to its
    sums, so their number does not matter.
    """
    count, _, dim = query.shape
    hidden = first_seen(slots.shape[0], count, window)
    begin = hidden - hidden % KEY_TILE
    context = slots.shape[0] - begin
    shown = slots[hidden:]
    padded = torch.cat((shown[:1].expand(hidden - begin), shown, shown[-1:].expand(-context % KEY_TILE)))
    keys, values = _gather(key_pool, padded, dim), _gather(value_pool, padded, dim)
    kv_heads = keys.shape[0]
    folded = _fold(query * scale, kv_heads)
    parts = []
    for low in range(0, count, QUERY_TILE):
        high = min(low + QUERY_TILE, count)
        seen = context - count + high
        first = first_seen(seen, high - low, window)
        first -= first % KEY_TILE
        rows = folded[:, :, low:high].reshape(kv_heads, -1, dim)
        used = rows.shape[1]
        rows = functional.pad(rows, (0, 0, 0, -used % ROW_MULTIPLE))
        tiles = [slice(at, at + KEY_TILE) for at in range(first, seen, KEY_TILE)]
        scores = torch.cat([torch.bmm(rows, keys[:, tile].transpose(1, 2)) for tile in tiles], dim=-1)
        if softcap is not None:
            softcap_(scores, softcap)
        scores[..., seen - first :] = float("-inf")
        _mask(scores[:, :used, : seen - first].view(kv_heads, -1, high - low, seen - first), window)
        weights = torch.softmax(scores, dim=-1)
        mixed = torch.zeros_like(rows)
        for index, tile in enumerate(tiles):
            mixed.baddbmm_(weights[..., index * KEY_TILE : (index + 1) * KEY_TILE], values[:, tile])
        parts.append(_unfold(mixed[:, :used], high - low))
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def first_seen(context: int, count: int, window: int | None) -> int:
    """The first key that any of the last ``count`` rows of a context attends to."""
    return 0 if window is None else max(0, context - count + 1 - window)


def _gather(pool: Tensor, slots: Tensor, dim: int) -> Tensor:
    """Rows ``slots`` of a pool as float32 heads [Hk, L, D]."""
    rows = coded.raw(pool).index_select(0, slots)
    if pool.dtype in coded.LARGEST:
        rows = coded.decode(rows.view(pool.dtype), torch.float32, dim)
    return rows.view(slots.shape[0], -1, dim).transpose(0, 1).float()


def _fold(query: Tensor, kv_heads: int) -> Tensor:
    """[n, H, D] as float32 [Hk, G, n, D]: the query heads of a group become rows of one product."""
    count, heads, dim = query.shape
    return query.float().view(count, kv_heads, heads // kv_heads, dim).permute(1, 2, 0, 3)


def _unfold(mixed: Tensor, count: int) -> Tensor:
    """[Hk, G * n, D] back to rows [n, H * D]."""
    kv_heads, rows, dim = mixed.shape
    return mixed.view(kv_heads, rows // count, count, dim).permute(2, 0, 1, 3).reshape(count, -1)


def _mask(scores: Tensor, window: int | None) -> None:
    """Exclude, in scores [Hk, G, n, L], the keys that a row may not see: those after its own, and those that
    its window has passed. The last n keys are the rows' own."""
    count, context = scores.shape[2:]
    device = scores.device
    if count > 1:
        future = torch.ones(count, count, dtype=torch.bool, device=device).triu(1)
        scores[..., -count:].masked_fill_(future, float("-inf"))
    if window is not None and context > window:
        own = torch.arange(context - count, context, device=device)[:, None]
        past = torch.arange(context, device=device) <= own - window
        scores.masked_fill_(past, float("-inf"))
