"""The methods by which a conversation is written for a provider. What they write is in `forms.requests`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from promptcache.forms import anthropic, marks, requests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache.forms.marks import Breakpoint, BreakpointPlan
    from promptcache.turns.state import State


class ProviderForms(ABC):
    """What a conversation can be written as."""

    def to_openai(self, model: str, *, mark: bool = True, **parameters: Any) -> dict[str, Any]:
        """Return the arguments of ``client.chat.completions.create``; ``parameters`` are passed on.

        Models that take explicit breakpoints get one at the end of the static part unless ``mark`` is false.
        """
        return requests.to_openai(*self._complete(model, parameters), mark=mark)

    def to_responses(self, model: str, *, mark: bool = True, **parameters: Any) -> dict[str, Any]:
        """Return the arguments of ``client.responses.create``, as `to_openai` does for chat."""
        return requests.to_responses(*self._complete(model, parameters), mark=mark)

    def to_anthropic(
        self,
        model: str,
        *,
        max_tokens: int = 4096,
        static_ttl: str | None = None,
        mark: bool = True,
        **parameters: Any,
    ) -> dict[str, Any]:
        """Return the arguments of ``client.messages.create``, with breakpoints unless ``mark`` is false.

        ``static_ttl`` ("1h") is the lifetime asked for tools and system prompt.
        """
        parts = self._complete(model, {"max_tokens": max_tokens, **parameters})
        return requests.to_anthropic(*parts, mark=mark, static_ttl=static_ttl)

    def to_gemini(self, model: str, **parameters: Any) -> dict[str, Any]:
        """Return the arguments of google-genai's ``client.models.generate_content``.

        ``parameters`` are fields of its ``config``.
        """
        return requests.to_gemini(*self._complete(model, parameters))

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        """Where `to_anthropic` marks the request as it stands, in its order, for a model not known."""
        return self.plan_breakpoints().points

    def plan_breakpoints(self, model: str | None = None, *, static_ttl: str | None = None) -> BreakpointPlan:
        """Return where `to_anthropic` puts breakpoints, which are the caller's own, which are left out."""
        state, *_ = self._complete("", {})
        return marks.plan(anthropic.body(state.static, state.entries), model, static_ttl)

    @abstractmethod
    def _complete(self, model: str, parameters: Mapping[str, Any]) -> tuple[State, str, dict[str, Any]]:
        """Return what a request is made of; raise while tool calls are open."""
