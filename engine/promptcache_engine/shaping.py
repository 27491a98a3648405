"""What changes one sequence's logits before a token is chosen: penalties, biases, least length, grammar.

The order is that of ``SamplingParams``. A sequence that asks for none of it has no shaper and costs nothing.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from promptcache_engine.config import SamplingParams
from promptcache_engine.constraints import Constraint
from promptcache_engine.device.transfers import indices, to_device


class Shaper:
    """Shapes the logits of one answer.

    Args:
        params: the penalties, biases and the floor.
        prompt_tokens: tokens at the front of the sequence that are its prompt.
        eos_token_ids: tokens that ``min_tokens`` keeps away.
        constraint: the grammar's course; None where there is none.
    """

    def __init__(
        self,
        params: SamplingParams,
        prompt_tokens: int,
        eos_token_ids: Sequence[int],
        constraint: Constraint | None,
    ) -> None:
        self._params = params
        self._prompt_tokens = prompt_tokens
        self._ends = [*eos_token_ids, *params.stop_token_ids]
        self.constraint = constraint
        self._seen: Tensor | None = None
        self._counts: Tensor | None = None
        self._biases: tuple[Tensor, Tensor] | None = None
        self._noted = 0

    def shape(self, row: Tensor, tokens: Sequence[int]) -> None:
        """Change one row of logits, [vocab] float32, in place.

        Args:
            row: the row.
            tokens: prompt and answer so far; only grows from call to call.

        Raises:
            GrammarError: the grammar admits no token any more.
        """
        self._penalize(row, tokens)
        self._add_biases(row)
        if len(tokens) - self._prompt_tokens < self._params.min_tokens and self.constraint is None:
            row.index_fill_(0, indices(self._ends, row.device), -torch.inf)
        if self.constraint is not None:
            row.masked_fill_(_excluded(self.constraint.allowed_bits(), row), -torch.inf)

    def _add_biases(self, row: Tensor) -> None:
        biases = self._params.logit_bias
        if not biases:
            return
        if self._biases is None:
            added = np.array(list(biases.values()), dtype=np.float32)
            self._biases = indices(list(biases), row.device), to_device(added, row.device)
        row.index_add_(0, *self._biases)

    def _penalize(self, row: Tensor, tokens: Sequence[int]) -> None:
        params = self._params
        repetition, frequency, presence = (
            params.repetition_penalty,
            params.frequency_penalty,
            params.presence_penalty,
        )
        if (repetition, frequency, presence) == (1, 0, 0):
            return
        seen, counts = self._note(row, tokens)
        if repetition != 1:
            row.copy_(torch.where(seen, torch.where(row > 0, row / repetition, row * repetition), row))
        if frequency:
            row.sub_(counts, alpha=frequency)
        if presence:
            row.sub_(counts.clamp(max=1), alpha=presence)

    def _note(self, row: Tensor, tokens: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Which tokens stand in prompt or answer, and how often in the answer: two of [vocab]."""
        if self._seen is None or self._counts is None:
            self._seen = torch.zeros(len(row), dtype=torch.bool, device=row.device)
            self._counts = torch.zeros_like(row)
        new = tokens[self._noted :]
        if new:
            self._seen.index_fill_(0, indices(new, row.device), value=True)
            answer = tokens[max(self._noted, self._prompt_tokens) :]
            ones = torch.ones(len(answer), device=row.device)
            self._counts.index_add_(0, indices(answer, row.device), ones)
            self._noted = len(tokens)
        return self._seen, self._counts


def _excluded(bits: NDArray[np.uint8], row: Tensor) -> Tensor:
    """Which of a row's tokens a mask leaves out, [vocab] of bool: those whose bit is 0, the lowest first, or
    that have none. The mask travels as bits."""
    moved = to_device(bits, row.device).unsqueeze(-1)
    allowed = (moved >> torch.arange(8, dtype=torch.uint8, device=row.device)).bitwise_and_(1).flatten()
    excluded = torch.ones(len(row), dtype=torch.bool, device=row.device)
    known = min(len(allowed), len(row))
    excluded[:known] = allowed[:known] == 0
    return excluded
