"""A step over tables of pages that stay on the device: what Triton's kernels read, made there.

The host names for each row its token, position and sequence, and for each sequence its seat, the row of the
tables that holds its pages. Which pages those are is kept by ``device.tables``; slots and page tables in the
step's order are worked out on the device, so that a captured graph can hold that, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from promptcache_engine.device.transfers import packed
from promptcache_engine.kernels.tables import Chunks, PageTable
from promptcache_engine.models.operations import PagedStep
from promptcache_engine.models.triton_operations import GroupTables, TritonStep

TOKEN, POSITION, SEAT, CONTEXT = range(4)
"""The rows of a decode step's inputs."""


@dataclass(frozen=True, eq=False)
class Share:
    """One sequence's part in a step: ``tokens`` from position ``start`` on; whether the next is wanted."""

    seat: int
    tokens: Sequence[int]
    start: int
    samples: bool

    @property
    def end(self) -> int:
        """Tokens of its context, these included."""
        return self.start + len(self.tokens)


def decode_step(inputs: Tensor, tables: Tensor, page_size: int, longest: int) -> PagedStep:
    """A step of one row a sequence.

    Args:
        inputs: int32 [4, B]: tokens, positions, seats, contexts. A context of 0 pads: its row is computed
            from nothing and writes nothing.
        tables: int32 [groups, seats, pages], for the layers that see all, then for each window.
        page_size: tokens a page holds.
        longest: no context is longer.
    """
    positions, contexts = inputs[POSITION].long(), inputs[CONTEXT]
    pages = _pages(tables, inputs[SEAT], page_size, longest)
    places = (positions // page_size).unsqueeze(-1)
    groups: dict[int | None, GroupTables] = {}
    for group, own in enumerate(pages):
        slots = own.gather(1, places).squeeze(-1).long() * page_size + positions % page_size
        slots = slots.masked_fill(contexts == 0, -1)
        table = PageTable(own, contexts, page_size, longest)
        nothing = PageTable(own[:0], contexts[:0], page_size, 0)
        groups[group - 1 if group else None] = GroupTables(slots, table, nothing)
    empty = Chunks(contexts[:1], 0)
    return PagedStep(inputs[TOKEN].long(), positions, None, TritonStep(groups, empty), longest)


def mixed_step(shares: Sequence[Share], tables: Tensor, page_size: int) -> PagedStep:
    """A step of any rows; tables as in ``decode_step``.

    Sequences of one row that come first are decoded; all others, and those behind them, are chunks.
    """
    lengths = [len(share.tokens) for share in shares]
    first = next((at for at, length in enumerate(lengths) if length > 1), len(lengths))
    ends = np.cumsum(lengths)
    parts = _host_parts(shares, lengths, ends, first)
    tokens, places, owners, seats, rows, decoded, extended, starts = packed(parts, tables.device)
    longest = max(share.end for share in shares)
    positions, sequence = places.long(), owners.long()
    pages = _pages(tables, seats, page_size, longest)
    groups: dict[int | None, GroupTables] = {}
    for group, own in enumerate(pages):
        slots = own[sequence, positions // page_size].long() * page_size + positions % page_size
        groups[group - 1 if group else None] = GroupTables(
            slots,
            PageTable(own[:first], decoded, page_size, _longest(shares[:first])),
            PageTable(own[first:], extended, page_size, _longest(shares[first:])),
        )
    attention = TritonStep(groups, Chunks(starts, max(lengths[first:], default=0)))
    return PagedStep(tokens.long(), positions, rows.long(), attention, longest)


def _host_parts(
    shares: Sequence[Share], lengths: Sequence[int], ends: NDArray[np.int64], first: int
) -> list[NDArray[np.int32]]:
    """Of each row: token, position, sequence; of each sequence: seat, row to sample from if any; contexts of
    the first sequences and of the others; where the others' rows begin, and end."""

    def numbers(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
        return np.asarray(values, dtype=np.int32)

    contexts = [share.end for share in shares]
    return [
        np.concatenate([numbers(share.tokens) for share in shares]),
        np.concatenate([np.arange(share.start, share.end, dtype=np.int32) for share in shares]),
        np.repeat(np.arange(len(shares), dtype=np.int32), lengths),
        numbers([share.seat for share in shares]),
        numbers([end - 1 for share, end in zip(shares, ends, strict=True) if share.samples]),
        numbers(contexts[:first]),
        numbers(contexts[first:]),
        numbers(np.concatenate(([0], ends[first:] - (ends[first - 1] if first else 0)))),
    ]


def _pages(tables: Tensor, seats: Tensor, page_size: int, longest: int) -> Tensor:
    """The step's tables, [groups, B, pages], as wide as its longest context needs."""
    width = -(-longest // page_size)
    return tables[:, :, : width + -width % 4].index_select(1, seats)


def _longest(shares: Sequence[Share]) -> int:
    return max((share.end for share in shares), default=0)
