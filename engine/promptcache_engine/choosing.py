"""The next token of each row of a step, with what was asked to be known of it.

Rows that ask for nothing go straight to ``sampling``. A row that goes wrong fails alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from promptcache_engine.attempts import describe
from promptcache_engine.errors import GenerationError, GrammarError
from promptcache_engine.events import TokenLogprob
from promptcache_engine.generation import Generation
from promptcache_engine.sampling import sample

# What JSON and most clients can hold of minus infinity; vLLM reports the same.
_LEAST_LOGPROB = -9999.0


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen token.

    Attributes:
        token: its id.
        logprob: how likely it was, where that was asked for.
        complete: whether the grammar admits no further token.
    """

    token: int
    logprob: TokenLogprob | None = None
    complete: bool = False


def choose(logits: Tensor, generations: Sequence[Generation]) -> list[Choice | GenerationError]:
    """Choose the next token of each generation.

    Args:
        logits: [rows, vocab] float32, a row for each generation; left unchanged.
        generations: whose rows they are.

    Returns:
        A choice each, or why there is none.
    """
    shaped, faults = _shaped(logits, generations)
    tokens = _sampled(shaped, generations, [generation.draws.next() for generation in generations])
    chosen: list[Choice | GenerationError] = []
    logprobs = _logprobs(logits, generations, tokens)
    for row, (generation, token) in enumerate(zip(generations, tokens, strict=True)):
        found = faults.get(row) or (token if isinstance(token, GenerationError) else None)
        if found is not None or isinstance(token, GenerationError):
            chosen.append(found or GenerationError("its logits are not finite"))
        else:
            chosen.append(_accepted(generation, token, logprobs.get(row)))
    return chosen


def _shaped(logits: Tensor, generations: Sequence[Generation]) -> tuple[Tensor, dict[int, GenerationError]]:
    """The logits to draw from, a copy only where some row is changed, and the rows that cannot be."""
    faults: dict[int, GenerationError] = {}
    wanted = [row for row, generation in enumerate(generations) if generation.shaper is not None]
    if not wanted:
        return logits, faults
    shaped = logits.clone()
    for row in wanted:
        shaper = generations[row].shaper
        assert shaper is not None
        try:
            shaper.shape(shaped[row], generations[row].sequence.tokens)
        except GrammarError as error:
            faults[row] = GenerationError(error.problem, error.remedy)
        except Exception as error:  # noqa: BLE001 - one row's parameters concern that row only
            faults[row] = describe(error)
    return shaped, faults


def _sampled(
    logits: Tensor, generations: Sequence[Generation], keys: Sequence[int]
) -> list[int | GenerationError]:
    """The next token of each row, or why there is none."""
    try:
        tokens = sample(logits, [generation.params for generation in generations], keys)
    except Exception as error:  # noqa: BLE001 - one row's parameters concern that row only
        if len(generations) == 1:
            return [describe(error)]
        return [
            _sampled(logits[row : row + 1], generations[row : row + 1], keys[row : row + 1])[0]
            for row in range(len(generations))
        ]
    return [GenerationError("its logits are not finite") if token is None else token for token in tokens]


def _accepted(generation: Generation, token: int, logprob: TokenLogprob | None) -> Choice | GenerationError:
    """The choice, once the grammar has taken it."""
    constraint = None if generation.shaper is None else generation.shaper.constraint
    if constraint is None:
        return Choice(token, logprob)
    try:
        constraint.accept(token)
    except GrammarError as error:
        return GenerationError(error.problem, error.remedy)
    return Choice(token, logprob, constraint.complete)


def _logprobs(
    logits: Tensor, generations: Sequence[Generation], tokens: Sequence[int | GenerationError]
) -> dict[int, TokenLogprob]:
    """By row, what was asked to be known: from the model's own logits, all such rows at once."""
    wanted = [
        (row, generation.params.logprobs, token)
        for row, (generation, token) in enumerate(zip(generations, tokens, strict=True))
        if generation.params.logprobs is not None and isinstance(token, int)
    ]
    if not wanted:
        return {}
    rows = logits[[row for row, _, _ in wanted]]
    scores = torch.log_softmax(rows, dim=-1)
    most = min(max(count or 0 for _, count, _ in wanted), logits.shape[-1])
    values, ids = scores.topk(most, dim=-1)
    found: dict[int, TokenLogprob] = {}
    for index, (row, count, token) in enumerate(wanted):
        top = zip(ids[index, :count].tolist(), map(_finite, values[index, :count].tolist()), strict=True)
        found[row] = TokenLogprob(token, _finite(float(scores[index, token])), tuple(top))
    return found


def _finite(value: float) -> float:
    return max(value, _LEAST_LOGPROB)
