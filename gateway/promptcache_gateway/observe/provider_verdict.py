"""What a provider says about its cache, or would say, and what we say to the same question.

A plain value and its JSON. How the answer travels to the caller is the data plane's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache_gateway.observe.provider_reasons import anthropic_reason, openai_verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Dialect, Question
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry

_UNDECIDED = frozenset(
    {"unavailable", "previous_message_not_found", "comparison_response_not_found", "pending", "absent"}
)


@dataclass(frozen=True, slots=True)
class ProviderVerdict:
    """One question and its answers.

    Attributes:
        dialect: whose form question and answers have.
        response_id: the earlier answer that was named, None where there was none.
        by_caller: False where the gateway asked by itself.
        ours: the object as the gateway has it, None: nothing diverges.
        theirs: the provider's own object as it came, None where it sent none (or null: nothing diverges).
        answered: whether the provider was asked and answered the request.
    """

    dialect: Dialect
    response_id: str | None
    by_caller: bool
    ours: Mapping[str, Any] | None
    theirs: Mapping[str, Any] | None
    answered: bool

    @property
    def agrees(self) -> bool | None:
        """Whether both name the same reason; None where one of them could not tell, or was not asked."""
        if not self.answered or self.response_id is None:
            return None
        ours, theirs = reason_of(self.dialect, self.ours), reason_of(self.dialect, self.theirs)
        return None if {ours, theirs} & _UNDECIDED else ours == theirs

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON; no text of a prompt is in it."""
        return {
            "dialect": self.dialect,
            "response_id": self.response_id,
            "by_caller": self.by_caller,
            "ours": None if self.ours is None else dict(self.ours),
            "theirs": None if self.theirs is None else dict(self.theirs),
            "our_reason": reason_of(self.dialect, self.ours),
            "their_reason": reason_of(self.dialect, self.theirs) if self.answered else None,
            "agrees": self.agrees,
        }


def our_answer(
    question: Question, earlier: Entry | None, later: Prompt | None, cached: int | None, kind: str = "openai"
) -> dict[str, Any] | None:
    """The provider's object as the gateway fills it: ``diagnostics`` or ``prompt_cache_diagnostics``.

    Args:
        question: what was asked.
        earlier: the request of the answer that was named, None where it is not known (any more).
        later: the request, None where its shape is unknown.
        cached: tokens that were read, None while that is not reported.
        kind: of the upstream that took the request.
    """
    if question.dialect != "anthropic.messages":
        return openai_verdict(earlier, later, cached, kind)
    if question.response_id is None:
        return None  # a first turn: there is nothing to compare with
    reason = anthropic_reason(earlier, later, cached)
    return None if reason is None else {"cache_miss_reason": reason}


def reason_of(dialect: Dialect, said: Mapping[str, Any] | None) -> str:
    """The one word an answer comes to: a reason, ``cache_hit``, ``none``, ``pending`` or ``absent``."""
    if said is None:
        return "none" if dialect == "anthropic.messages" else "absent"
    if dialect == "anthropic.messages":
        reason = said.get("cache_miss_reason")
        return str(reason.get("type")) if isinstance(reason, dict) else "pending"
    return str(said.get("reason") or said.get("type"))
