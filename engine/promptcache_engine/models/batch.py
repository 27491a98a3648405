"""One step's work for a model: the tokens of all its sequences, flat, and where their context lies.

The scheduler decides what goes into a step and which slots it occupies; this module only states it.
"""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor


class SequenceSlice(NamedTuple):
    """The rows ``start : start + length`` of a step belong to one sequence.

    ``context_slots`` (int64) are the KV slots of its whole context in order: what was cached, then this
    chunk. Row i of the slice attends to the first ``len(context_slots) - length + i + 1`` of them.
    """

    start: int
    length: int
    context_slots: Tensor


@dataclass(frozen=True, eq=False)
class ForwardBatch:
    """The input of one forward pass over T tokens.

    ``token_ids``, ``positions`` and ``write_slots`` are int64 tensors of T values: tokens, their places in
    their sequences, and the KV slots that receive their keys and values. ``sequences`` cover the T rows.
    ``logit_rows`` are the rows whose next-token logits are wanted.
    """

    token_ids: Tensor
    positions: Tensor
    write_slots: Tensor
    sequences: list[SequenceSlice]
    logit_rows: Tensor

    def __post_init__(self) -> None:
        rows = self.token_ids.shape[0]
        if self.positions.shape != (rows,) or self.write_slots.shape != (rows,):
            raise ValueError(
                f"a step of {rows} tokens has {tuple(self.positions.shape)} positions "
                f"and {tuple(self.write_slots.shape)} write slots"
            )
        covered = 0
        for start, length, context_slots in self.sequences:
            if start != covered or length < 1 or context_slots.shape[0] < length:
                raise ValueError(
                    f"the slice at row {start} ({length} rows over {context_slots.shape[0]} context slots) "
                    f"does not follow row {covered}"
                )
            covered += length
        if covered != rows:
            raise ValueError(f"the slices cover {covered} of {rows} rows")
