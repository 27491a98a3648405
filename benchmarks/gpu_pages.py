"""Random pools and page tables for the GPU benchmark: pages in random order, unused slots full of NaN."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from promptcache_engine.kernels import coded
from promptcache_engine.kernels.tables import Chunks, PageTable


@dataclass(frozen=True, eq=False)
class Paged:
    """Keys and values of some contexts: pools of ``dtype`` and the table that finds them.

    ``order`` are the slots of all contexts, one after the other.
    """

    keys: Tensor
    values: Tensor
    table: PageTable
    order: list[Tensor]


def paged(
    contexts: list[int],
    kv_heads: int,
    dim: int,
    page_size: int,
    dtype: torch.dtype,
    device: torch.device,
) -> Paged:
    """Standard normal keys and values in fresh pools."""
    needed = [-(-context // page_size) for context in contexts]
    shuffled = torch.randperm(sum(needed) + 1, device=device).int()
    pages = torch.zeros(len(contexts), max(1, *needed), dtype=torch.int32, device=device)
    filled = torch.zeros((sum(needed) + 1) * page_size, dtype=torch.bool, device=device)
    order, used = [], 0
    for row, (context, count) in enumerate(zip(contexts, needed, strict=True)):
        own = shuffled[used : used + count]
        pages[row, :count] = own
        within = torch.arange(page_size, device=device)
        order.append((own.long()[:, None] * page_size + within).flatten()[:context])
        filled[order[-1]] = True
        used += count
    pools = []
    for _ in range(2):
        rows = torch.randn(filled.shape[0], kv_heads * dim, device=device)
        rows[~filled] = math.nan
        pools.append(coded.encode(rows, dtype, dim))
    lengths = torch.tensor(contexts, dtype=torch.int32, device=device)
    return Paged(pools[0], pools[1], PageTable(pages, lengths, page_size, max(contexts)), order)


def chunks(lengths: list[int], device: torch.device) -> Chunks:
    """Sequences of these many rows, one behind the other."""
    starts = torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0).to(device, torch.int32)
    return Chunks(starts, max(lengths))
