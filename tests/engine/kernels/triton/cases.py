"""Page tables with everything in them that must not matter: pages in random order, poison where nothing is
read."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from promptcache_engine.kernels import coded
from promptcache_engine.kernels.tables import Chunks, PageTable

NOWHERE = 2**30
"""A page that no memory backs: reading it ends the process."""


@dataclass(frozen=True, eq=False)
class Case:
    """Pools and the table of some contexts in them."""

    keys: Tensor
    values: Tensor
    table: PageTable


def make_case(
    contexts: list[int],
    *,
    kv_heads: int,
    dim: int,
    page_size: int,
    dtype: torch.dtype = torch.float32,
    unseen: list[int] | None = None,
    seed: int = 0,
) -> Case:
    """Random keys and values for contexts; the first ``unseen`` tokens of each are poisoned, as is all
    else."""
    generator = torch.Generator().manual_seed(seed)
    needed = [-(-context // page_size) for context in contexts]
    most = max(1, *needed) + 1
    size = sum(needed) + 2
    order = torch.randperm(size, generator=generator).int()
    pages = torch.full((len(contexts), most), NOWHERE, dtype=torch.int32)
    rows = torch.full((2, size * page_size, kv_heads * dim), math.nan)
    used = 0
    for index, context in enumerate(contexts):
        own = order[used : used + needed[index]]
        used += needed[index]
        pages[index, : len(own)] = own
        slots = (own.long().unsqueeze(-1) * page_size + torch.arange(page_size)).flatten()[:context]
        passed = 0 if unseen is None else max(0, unseen[index])
        rows[:, slots[passed:]] = torch.randn(2, context - passed, kv_heads * dim, generator=generator)
        pages[index, : passed // page_size] = NOWHERE
    table = PageTable(pages, torch.tensor(contexts, dtype=torch.int32), page_size, max(contexts, default=0))
    return Case(coded.encode(rows[0], dtype, dim), coded.encode(rows[1], dtype, dim), table)


def readable(case: Case) -> PageTable:
    """The table with a page that exists wherever it names none: for the specification, which reads all."""
    pages = torch.where(case.table.pages == NOWHERE, 0, case.table.pages)
    return PageTable(pages, case.table.contexts, case.table.page_size, case.table.longest)


def chunks_of(lengths: list[int]) -> Chunks:
    """Chunks of these lengths, one after the other."""
    starts = torch.tensor([0, *lengths]).cumsum(0).int()
    return Chunks(starts, max(lengths, default=0))
