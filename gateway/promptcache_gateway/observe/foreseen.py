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
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry


@quick
@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question and what the gateway answers it from.

    Attributes:
        question: what was asked.
        named: the request of the answer that was named, None where it is not known (any more).
        later: the request, None where its shape is unknown.
        kind: of the upstream that took the request.
    """

    question: Question
    named: Entry | None
    later: Prompt | None
    kind: str

    def foresee(self) -> Foreseen:
        """The answer where nothing is read."""
        return Foreseen(self._answer(None), self._basis())

    def answer(self, cached: int | None, foreseen: Foreseen | None) -> dict[str, Any] | None:
        """The provider's diagnostics object as the gateway has it.

        Args:
            cached: tokens that were read, None while that is not reported.
            foreseen: what was made ready for the request, if anything.
        """
        if foreseen is not None and not cached and all(map(is_, foreseen.basis, self._basis())):
            return foreseen.said
        return self._answer(cached)

    def _answer(self, cached: int | None) -> dict[str, Any] | None:
        return our_answer(self.question, self.named, self.later, cached, self.kind)

    def _basis(self) -> tuple[object, ...]:
        question, named = self.question, self.named
        earlier = (None, None) if named is None else (named.prompt, named.prompt_tokens)
        return (question.dialect, question.response_id, *earlier, self.later, self.kind)


@quick
@dataclass(frozen=True, slots=True)
class Foreseen:
    """What will be said where nothing was read.

    Attributes:
        said: the provider's diagnostics object as the gateway has it.
        basis: what it rests on: as long as each of these is the very same, the same would be said again.
    """

    said: dict[str, Any] | None
    basis: tuple[object, ...]
