"""Plain-torch versions of the operations over page tables: what their kernels are tested against.

They put the sums of ``reference`` behind the metadata that a device holds; each synchronises with the device
once a sequence, which is why a GPU has its own. Shapes as in ``reference``; B sequences, P pages each.
"""

from itertools import pairwise
from typing import Any

from torch import Tensor

from promptcache_engine.kernels import reference
from promptcache_engine.kernels.tables import Chunks, PageTable


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
    """Attention of one row a sequence, the last token of its context, over that context.

    ``query`` is [B, H, D], the pools are [S, width], of the query's dtype or coded (``coded``). With
    ``window`` a row attends to the last ``window`` tokens only; ``softcap`` presses the scores into its
    bounds before the softmax. Returns [B, H * D] in the dtype of ``query``, in ``out`` if given; rows of
    empty sequences are zeros.

    A row's result never depends on what else is in the step. ``deterministic`` makes it equal, bit for bit,
    to the same row's in ``extend_attention`` with ``deterministic``.
    """
    sequences = [(row, 1, table.slots(row)) for row in range(query.shape[0])]
    return _attend(
        query, key_pool, value_pool, sequences, out,
        scale=scale, window=window, softcap=softcap, deterministic=deterministic,
    )  # fmt: skip


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
    """Causal attention of each sequence's rows, the last of its context, over what was cached and themselves.

    ``query`` is [T, H, D]; rows that belong to no sequence come out as they were in ``out``, or undefined.
    The rest is as in ``decode_attention``. ``deterministic`` makes a row's result independent of how the
    context was cut into chunks.
    """
    starts = chunks.starts.tolist()
    sequences = [
        (start, end - start, table.slots(index))
        for index, (start, end) in enumerate(pairwise(starts))
        if end > start
    ]
    return _attend(
        query, key_pool, value_pool, sequences, out,
        scale=scale, window=window, softcap=softcap, deterministic=deterministic,
    )  # fmt: skip


def _attend(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    sequences: list[tuple[int, int, Tensor]],
    out: Tensor | None,
    **rules: Any,
) -> Tensor:
    if out is None:
        out = query.new_zeros(query.shape[0], query.shape[1] * query.shape[2])
    for start, length, slots in sequences:
        rows = slice(start, start + length)
        if not len(slots):
            out[rows] = 0
            continue
        out[rows] = reference.paged_attention(
            query[rows], key_pool, value_pool, [(0, length, slots)], **rules
        )
    return out
