"""From a step's plan to logits: index tensors, page copies, the forward pass.

What to compute is the scheduler's decision and which token follows the sampler's; this module turns pages
into slots and sequences into rows.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Items
from dataclasses import dataclass, field

import torch
from torch import Tensor

from promptcache_engine.cache import PageCopy, WindowPool
from promptcache_engine.device.transfers import indices
from promptcache_engine.models import DecoderModel, ForwardBatch, KVPool, SequenceSlice
from promptcache_engine.scheduler import Chunk, Sequence


@dataclass(slots=True)
class _SlotTable:
    """The slots of one sequence's tokens, in order, and the pages they were made from."""

    slots: Tensor
    pages: list[int] = field(default_factory=list)


class ModelRunner:
    """Runs one model over one pool of KV.

    Args:
        model: computes logits and writes keys and values.
        pool: where keys and values are kept.
        page_size: tokens a page holds.
        max_length: tokens the longest sequence has.
        scratch_slot: a slot that belongs to no page, for trying the model; None where there is none.
        windows: the pools of pages of the layers with a sliding window, where they have their own; each has
            its scratch slot behind its last page.
    """

    def __init__(
        self,
        model: DecoderModel,
        pool: KVPool,
        *,
        page_size: int,
        max_length: int,
        scratch_slot: int | None = None,
        windows: Items[WindowPool] = (),
    ) -> None:
        self._model = model
        self._pool = pool
        self._device = pool.k.device
        self._page_size = page_size
        self._max_length = max_length
        self._scratch_slot = scratch_slot
        self._within_page = torch.arange(page_size, device=self._device)
        self._windows = tuple(windows)
        self._tables: dict[str, _SlotTable] = {}

    def copy_pages(self, copies: Iterable[PageCopy]) -> None:
        """Perform the copies that sequences were admitted on; once, before anything else is computed."""
        copies = list(copies)
        self._copy(copies)
        for window, pages in enumerate(self._windows):
            self._copy(
                [PageCopy(pages.page_of(each.src), pages.page_of(each.dst), each.tokens) for each in copies],
                window,
            )

    def _copy(self, copies: Items[PageCopy], window: int | None = None) -> None:
        source: list[int] = []
        target: list[int] = []
        for copy in copies:
            source.extend(range(copy.src * self._page_size, copy.src * self._page_size + copy.tokens))
            target.extend(range(copy.dst * self._page_size, copy.dst * self._page_size + copy.tokens))
        if source:
            self._pool.copy_slots(self._indices(source), self._indices(target), window)

    def compute(self, chunks: Items[Chunk]) -> Tensor:
        """Compute the chunks.

        Returns:
            Logits, float32, one row for each chunk that samples, in order.
        """
        return self._model.forward(self._batch(chunks), self._pool)

    def probe(self) -> str | None:
        """Compute one token apart from all sequences; returns what is wrong with the model, or None."""
        if self._scratch_slot is None:
            return "there is no slot to try the model with"
        zero, slot = self._indices([0]), self._indices([self._scratch_slot])
        others = tuple(self._indices([pages.num_pages * self._page_size]) for pages in self._windows)
        batch = ForwardBatch(zero, zero, slot, [SequenceSlice(0, 1, slot, others)], zero, others)
        try:
            logits = self._model.forward(batch, self._pool)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            return f"{type(error).__name__}: {error}".partition("\n")[0]
        return None if bool(torch.isfinite(logits).all()) else "its logits are not finite"

    def forget(self, sequence_id: str) -> None:
        """Drop what is remembered of a sequence that ended or gave its pages back."""
        self._tables.pop(sequence_id, None)

    def _batch(self, chunks: Items[Chunk]) -> ForwardBatch:
        """Lay the chunks' tokens side by side."""
        tokens: list[int] = []
        positions: list[int] = []
        logit_rows: list[int] = []
        write_slots: list[Tensor] = []
        slices: list[SequenceSlice] = []
        for chunk in chunks:
            slots = self._slots(chunk.sequence)
            windowed = tuple(self._window_slots(chunk, pages) for pages in self._windows)
            slices.append(SequenceSlice(len(tokens), chunk.length, slots[: chunk.end], windowed))
            write_slots.append(slots[chunk.start : chunk.end])
            tokens.extend(chunk.sequence.tokens[chunk.start : chunk.end])
            positions.extend(range(chunk.start, chunk.end))
            if chunk.samples:
                logit_rows.append(len(tokens) - 1)
        return ForwardBatch(
            token_ids=self._indices(tokens),
            positions=self._indices(positions),
            write_slots=torch.cat(write_slots),
            sequences=slices,
            logit_rows=self._indices(logit_rows),
            window_writes=tuple(
                torch.cat([part.window_slots[window][-part.length :] for part in slices])
                for window in range(len(self._windows))
            ),
            page_size=self._page_size,
        )

    def _window_slots(self, chunk: Chunk, windows: WindowPool) -> Tensor:
        """The slots of the chunk's context in the layers with one window; left of what the window sees stands
        the slot of the chunk's first token."""
        assert chunk.sequence.lease is not None
        first, pages = windows.span(chunk.sequence.lease)
        seen = (self._indices(pages).unsqueeze(-1) * self._page_size + self._within_page).flatten()
        left = first * self._page_size
        return torch.cat((seen[chunk.start - left].expand(left), seen[: chunk.end - left]))

    def _slots(self, sequence: Sequence) -> Tensor:
        """The slots of all the pages the sequence holds; only pages that are new cost anything.

        The cache may replace a page by an equal one that others share already, and a preempted sequence comes
        back with other pages; what differs is made anew.
        """
        assert sequence.lease is not None
        pages = sequence.lease.pages
        table = self._tables.get(sequence.id)
        if table is None:
            capacity = self._max_length + self._page_size
            table = _SlotTable(torch.empty(capacity, dtype=torch.int64, device=self._device))
            self._tables[sequence.id] = table
        known = len(table.pages)
        if table.pages != pages[:known]:
            known = next(i for i, page in enumerate(table.pages) if i == len(pages) or page != pages[i])
        if known < len(pages):
            new = self._indices(pages[known:]).unsqueeze(-1) * self._page_size + self._within_page
            table.slots[known * self._page_size : len(pages) * self._page_size] = new.flatten()
        if known < max(len(pages), len(table.pages)):
            table.pages = list(pages)
        return table.slots

    def _indices(self, values: list[int]) -> Tensor:
        return indices(values, self._device)
