"""Drives a model step by step over slots of a test's choosing."""

from collections.abc import Sequence

import torch
from torch import Tensor

from promptcache_engine.models import ForwardBatch, KVPool, LoadedModel, SequenceSlice


def indices(values: Sequence[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.int64)


class Context:
    """One sequence: its tokens so far and the slots they are to lie in."""

    def __init__(self, slots: Tensor) -> None:
        self.slots = slots
        self.length = 0


def step(loaded: LoadedModel, pool: KVPool, work: Sequence[tuple[Context, Sequence[int]]]) -> Tensor:
    """Feed each context its tokens in one step; return the logits after each one's last token."""
    tokens: list[int] = []
    positions: list[int] = []
    slices: list[SequenceSlice] = []
    write_slots: list[Tensor] = []
    last_rows: list[int] = []
    for context, chunk in work:
        begin, end = context.length, context.length + len(chunk)
        slices.append(SequenceSlice(len(tokens), len(chunk), context.slots[:end]))
        write_slots.append(context.slots[begin:end])
        tokens += chunk
        positions += range(begin, end)
        last_rows.append(len(tokens) - 1)
        context.length = end
    batch = ForwardBatch(
        indices(tokens), indices(positions), torch.cat(write_slots), slices, indices(last_rows)
    )
    return loaded.model.forward(batch, pool)


def logits_of(loaded: LoadedModel, tokens: Sequence[int]) -> Tensor:
    """Logits [1, vocab] after ``tokens``, computed at once in a fresh pool."""
    pool = KVPool(loaded.config, len(tokens), loaded.model.dtype, "cpu")
    return step(loaded, pool, [(Context(torch.arange(len(tokens))), tokens)])
