"""What is said to a provider's own question about its cache, made ready for an answer that has read nothing.

How two requests differ is known before anything has been counted, and takes longer to find out than an answer
should wait. Where something was read, the count decides first whether the question is one at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import is_
from typing import TYPE_CHECKING, Any

from promptcache.quick_values import quick
from promptcache_gateway.observe.provider_verdict import our_answer

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Question
    from promptcache_gateway.observe.observation import Observation
    from promptcache_gateway.observe.row import Entry


@quick
@dataclass(frozen=True, slots=True)
class Foreseen:
    """What will be said where nothing was read.

    Attributes:
        said: the provider's diagnostics object as the gateway has it.
        basis: what it rests on.
    """

    said: dict[str, Any] | None
    basis: tuple[object, ...]

    def holds(self, basis: tuple[object, ...]) -> bool:
        """Whether the same would be said again: nothing that it rests on is another."""
        return all(map(is_, self.basis, basis))


def foresee(observation: Observation, question: Question, named: Entry | None) -> None:
    """Have the answer ready with the observation; ``named``: the request that the question names, if any."""
    basis = _basis(observation, question, named)
    observation.foreseen = Foreseen(_said(observation, question, named, None), basis)


def said_to(
    observation: Observation, question: Question, named: Entry | None, cached: int | None
) -> dict[str, Any] | None:
    """The provider's diagnostics object as the gateway has it; ``cached`` tokens read, None: not told."""
    known = observation.foreseen
    if known is not None and not cached and known.holds(_basis(observation, question, named)):
        return known.said
    return _said(observation, question, named, cached)


def _said(
    observation: Observation, question: Question, named: Entry | None, cached: int | None
) -> dict[str, Any] | None:
    sight = observation.sight
    return our_answer(question, named, sight.prompt, cached, sight.rules.kind)


def _basis(observation: Observation, question: Question, named: Entry | None) -> tuple[object, ...]:
    earlier = (None, None) if named is None else (named.prompt, named.prompt_tokens)
    sight = observation.sight
    return (question.dialect, question.response_id, *earlier, sight.prompt, sight.rules.kind)
