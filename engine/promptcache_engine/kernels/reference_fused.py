"""Plain-torch versions of the operations that a GPU fuses or runs over slots: their specification.

Each is built on those of ``reference``; shapes as there. What a step pads itself with, to have the size that
a captured graph was made for, has the slot -1 and is not written.
"""

import torch
from torch import Tensor

from promptcache_engine.kernels import coded, reference


def add_rms_norm(
    hidden: Tensor,
    update: Tensor,
    weight: Tensor,
    eps: float,
    *,
    dtype: torch.dtype,
    update_weight: Tensor | None = None,
) -> Tensor:
    """Add ``update`` [T, E] to the float32 rows ``hidden`` [T, E] in place and return them normed, in
    ``dtype``.

    With ``update_weight`` [E] the update is normed before it is added, in its weight's dtype.
    """
    if update_weight is not None:
        update = reference.rms_norm(update, update_weight, eps)
    hidden += update
    return reference.rms_norm(hidden, weight, eps, dtype)


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
    """From stacked projections to rotated queries, with rotated keys and values written into their slots.

    ``projected`` is [T, (H + 2 Hk) * D]: queries, keys, values; ``cos`` and ``sin`` are float32 [T, D / 2];
    the pools are [S, width], of the projections' dtype or coded (``coded``); ``slots`` int64 [T], negative
    for rows that are not written. With ``query_norm`` and ``key_norm`` [D] heads are normed before they are
    rotated. Returns queries [T, H, D].
    """
    rows = projected.shape[0]
    query = projected[:, : heads * dim].view(rows, heads, dim)
    key, value = projected[:, heads * dim :].chunk(2, dim=-1)
    key = key.reshape(rows, -1, dim)
    if query_norm is not None:
        query = reference.rms_norm(query, query_norm, eps, query.dtype)
    if key_norm is not None:
        key = reference.rms_norm(key, key_norm, eps, key.dtype)
    turned = reference.rotary(key, cos, sin).view(rows, -1)
    written = slots >= 0
    for pool, new in ((key_pool, turned), (value_pool, value)):
        bytes_of = torch.uint8 if pool.dtype in coded.LARGEST else pool.dtype  # fp8 has no index_copy
        new_slots = coded.encode(new[written], pool.dtype, dim)
        pool.view(bytes_of).index_copy_(0, slots[written], new_slots.view(bytes_of))
    return reference.rotary(query, cos, sin)


def gather_slots(pool: Tensor, slots: Tensor, out: Tensor | None = None) -> Tensor:
    """The slots ``slots`` int64 [N] of every layer of ``pool`` [layers, S, W], side by side: [layers, N, W].

    With ``scatter_slots`` and one copy between devices, this is how pages move to the host's memory and back.
    """
    found = _bytes(pool).index_select(1, slots)
    if out is None:
        return found.view(pool.dtype)
    _bytes(out).copy_(found)
    return out


def scatter_slots(pool: Tensor, slots: Tensor, rows: Tensor) -> None:
    """Write ``rows`` [layers, N, W] into the slots ``slots`` int64 [N] of ``pool`` [layers, S, W]."""
    _bytes(pool).index_copy_(1, slots, _bytes(rows))


def copy_slots(pool: Tensor, src: Tensor, dst: Tensor) -> None:
    """Copy slots ``src`` to ``dst`` int64 [N] in every layer of ``pool`` [layers, S, W].

    No slot may be named twice in ``dst``, nor in both: on a GPU all copies run at once.
    """
    reference.copy_slots(_bytes(pool), src, dst)


def _bytes(pool: Tensor) -> Tensor:
    return pool.view(torch.uint8) if pool.dtype in coded.LARGEST else pool
