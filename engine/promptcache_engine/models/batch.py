"""One step's work for a model: the tokens of all its sequences, flat, and where their context lies.

The scheduler decides what goes into a step and which slots it occupies; this module only states it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class SequenceSlice(NamedTuple):
    """The rows ``start : start + length`` of a step belong to one sequence.

    ``context_slots`` (int64) are the KV slots of its whole context in order: what was cached, then this
    chunk. Row i of the slice attends to the first ``len(context_slots) - length + i + 1`` of them.

    ``window_slots`` are the same for the layers with a sliding window, one tensor for each of the model's
    ``windows``, as long as ``context_slots``; empty when all layers share their slots. Left of the first
    row's window they name some slot that has been written, whose content must not matter.
    """

    start: int
    length: int
    context_slots: Tensor
    window_slots: tuple[Tensor, ...] = ()


@dataclass(frozen=True, eq=False)
class ForwardBatch:
    """The input of one forward pass over T tokens.

    ``token_ids``, ``positions`` and ``write_slots`` are int64 tensors of T values: tokens, their places in
    their sequences, and the KV slots that receive their keys and values. ``sequences`` cover the T rows.
    ``logit_rows`` are the rows whose next-token logits are wanted. ``window_writes`` are the write slots of
    the layers with a sliding window, one tensor for each of the model's ``windows``; empty when all layers
    share their slots. ``page_size``: the contexts' slots lie side by side in runs of this many, each run
    beginning at a multiple of it; 1 says nothing of their order.
    """

    token_ids: Tensor
    positions: Tensor
    write_slots: Tensor
    sequences: list[SequenceSlice]
    logit_rows: Tensor
    window_writes: tuple[Tensor, ...] = ()
    page_size: int = 1

    def writes(self, window: int | None) -> Tensor:
        """The slots that receive the step's keys and values in layers with the model's ``window``-th window;
        None: in layers that attend to everything."""
        return self.write_slots if window is None or not self.window_writes else self.window_writes[window]

    def slices(self, window: int | None) -> list[tuple[int, int, Tensor]]:
        """(first row, rows, context slots) of every sequence in those layers."""
        if window is None or not self.window_writes:
            return [(start, length, slots) for start, length, slots, _ in self.sequences]
        return [(start, length, windows[window]) for start, length, _, windows in self.sequences]

    def select(self, chosen: Sequence[int]) -> tuple["ForwardBatch", Tensor]:
        """The step of some of the sequences alone, by their places in ``sequences``; at least one.

        The second value says for each of its logit rows which of this step's it is.
        """
        parts = [self.sequences[index] for index in chosen]
        rows = torch.cat([torch.arange(part.start, part.start + part.length) for part in parts])
        slices, start = [], 0
        for part in parts:
            slices.append(part._replace(start=start))
            start += part.length
        moved = torch.full((self.token_ids.shape[0],), -1)
        moved[rows] = torch.arange(start)
        own = moved[self.logit_rows]
        places = (own >= 0).nonzero().flatten()
        part_batch = ForwardBatch(
            self.token_ids[rows],
            self.positions[rows],
            self.write_slots[rows],
            slices,
            own[places],
            tuple(slots[rows] for slots in self.window_writes),
            self.page_size,
        )
        return part_batch, places

    def __post_init__(self) -> None:
        rows = self.token_ids.shape[0]
        if self.positions.shape != (rows,) or self.write_slots.shape != (rows,):
            raise ValueError(
                f"a step of {rows} tokens has {tuple(self.positions.shape)} positions "
                f"and {tuple(self.write_slots.shape)} write slots"
            )
        if any(slots.shape != (rows,) for slots in self.window_writes):
            raise ValueError(f"a step of {rows} tokens has window writes of another length")
        covered = 0
        for start, length, context_slots, window_slots in self.sequences:
            sizes = {slots.shape[0] for slots in window_slots}
            if len(window_slots) != len(self.window_writes) or not sizes <= {context_slots.shape[0]}:
                raise ValueError(f"the slice at row {start} has window slots that do not fit its context")
            if start != covered or length < 1 or context_slots.shape[0] < length:
                raise ValueError(
                    f"the slice at row {start} ({length} rows over {context_slots.shape[0]} context slots) "
                    f"does not follow row {covered}"
                )
            covered += length
        if covered != rows:
            raise ValueError(f"the slices cover {covered} of {rows} rows")
