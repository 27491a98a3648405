"""The next token of each row of a step, with what was asked to be known of it.

Logits are shaped first, for the rows that ask for it; then they are drawn from, on the host here or on the
device by ``device.draw``. A row that goes wrong fails alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from promptcache_engine.attempts import describe
from promptcache_engine.config import SamplingParams
from promptcache_engine.errors import DeadEndError, GenerationError, GrammarError
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


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn from one row.

    Attributes:
        token: its id; None where the row's largest logit is not finite.
        logprob: how likely it was, where that was asked for.
    """

    token: int | None
    logprob: TokenLogprob | None = None


Draw: TypeAlias = Callable[[Tensor, Tensor, Sequence[SamplingParams], Sequence[int]], list[Drawn]]
"""From the model's own logits and the shaped ones, each [rows, vocab] float32, of which none is changed, and
for each row its parameters and the key of its noise, to what is drawn from it."""


def choose(logits: Tensor, generations: Sequence[Generation], draw: Draw) -> list[Choice | GenerationError]:
    """Choose the next token of each generation.

    Args:
        logits: [rows, vocab] float32, a row for each generation; left unchanged.
        generations: whose rows they are.
        draw: what draws.

    Returns:
        A choice each, or why there is none.
    """
    shaped, faults = _shaped(logits, generations)
    keys = [generation.draws.next() for generation in generations]
    params = [generation.params for generation in generations]
    chosen: list[Choice | GenerationError] = []
    for row, drawn in enumerate(_drawn(draw, logits, shaped, params, keys)):
        if row in faults:
            chosen.append(faults[row])
        elif isinstance(drawn, GenerationError):
            chosen.append(drawn)
        elif drawn.token is None:
            chosen.append(GenerationError("its logits are not finite"))
        else:
            chosen.append(_accepted(generations[row], drawn.token, drawn.logprob))
    return chosen


def draw_on_host(
    logits: Tensor, shaped: Tensor, params: Sequence[SamplingParams], keys: Sequence[int]
) -> list[Drawn]:
    """The ``Draw`` that works on any device, for which the host waits several times."""
    tokens = sample(shaped, params, keys)
    logprobs = _logprobs(logits, params, tokens)
    return [Drawn(token, logprobs.get(row)) for row, token in enumerate(tokens)]


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
            faults[row] = DeadEndError(error.problem, error.remedy)
        except Exception as error:  # noqa: BLE001 - one row's parameters concern that row only
            faults[row] = describe(error)
    return shaped, faults


def _drawn(
    draw: Draw, logits: Tensor, shaped: Tensor, params: Sequence[SamplingParams], keys: Sequence[int]
) -> list[Drawn | GenerationError]:
    """What is drawn from each row, or why nothing is."""
    try:
        return [*draw(logits, shaped, params, keys)]
    except Exception as error:  # noqa: BLE001 - one row's parameters concern that row only
        if len(params) == 1:
            return [describe(error)]
        parts = [slice(row, row + 1) for row in range(len(params))]
        return [_drawn(draw, logits[part], shaped[part], params[part], keys[part])[0] for part in parts]


def _accepted(generation: Generation, token: int, logprob: TokenLogprob | None) -> Choice | GenerationError:
    """The choice, once the grammar has taken it."""
    constraint = None if generation.shaper is None else generation.shaper.constraint
    if constraint is None:
        return Choice(token, logprob)
    try:
        constraint.accept(token)
    except GrammarError as error:
        return DeadEndError(error.problem, error.remedy)
    return Choice(token, logprob, constraint.complete)


def _logprobs(
    logits: Tensor, params: Sequence[SamplingParams], tokens: Sequence[int | None]
) -> dict[int, TokenLogprob]:
    """By row, what was asked to be known: from the model's own logits, all such rows at once."""
    wanted = [
        (row, each.logprobs, token)
        for row, (each, token) in enumerate(zip(params, tokens, strict=True))
        if each.logprobs is not None and token is not None
    ]
    if not wanted:
        return {}
    rows = logits[[row for row, _, _ in wanted]]
    scores = torch.log_softmax(rows, dim=-1)
    most = min(max(count or 0 for _, count, _ in wanted), logits.shape[-1])
    values, ids = scores.topk(most, dim=-1)
    return {
        row: logprob_of(
            token, float(scores[index, token]), ids[index, :count].tolist(), values[index, :count].tolist()
        )
        for index, (row, count, token) in enumerate(wanted)
    }


def logprob_of(token: int, own: float, ids: Sequence[int], values: Sequence[float]) -> TokenLogprob:
    """A token's log-probability beside the likeliest ones', all finite."""
    return TokenLogprob(token, _finite(own), tuple(zip(ids, map(_finite, values), strict=True)))


def _finite(value: float) -> float:
    return max(value, _LEAST_LOGPROB)
