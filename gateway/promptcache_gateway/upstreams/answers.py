"""Answers of the built-in engine in OpenAI's shapes: whole bodies and stream chunks.

Only shapes are made here; what is in them comes from the engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.exchange import Call

DONE = b"data: [DONE]\n\n"


def usage_dict(prompt_tokens: int, cached_tokens: int, output_tokens: int) -> dict[str, Any]:
    """OpenAI's ``usage``; cached tokens are part of the prompt's and are named even when none are."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": prompt_tokens + output_tokens,
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
    }


def event(payload: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + orjson.dumps(payload) + b"\n\n"


@dataclass(frozen=True, slots=True)
class Answer(ABC):
    """The frame of one answer: what all its objects share.

    Attributes:
        id: the response's id.
        created: Unix time in whole seconds.
        model: the model's name as listed.
        include_usage: whether chunks carry ``"usage": null`` and a last one the numbers.
    """

    id: str
    created: int
    model: str
    include_usage: bool

    @abstractmethod
    def whole(self, choices: Sequence[tuple[str, str]], usage: dict[str, Any]) -> dict[str, Any]:
        """The body of an answer that is not streamed; ``choices`` are texts and why they ended, in order."""

    @abstractmethod
    def opening(self, choice: int) -> dict[str, Any] | None:
        """The chunk before a choice's first token, or None where the API has none."""

    @abstractmethod
    def delta(self, choice: int, text: str) -> dict[str, Any]:
        """A chunk with a piece of a choice's text."""

    @abstractmethod
    def ending(self, choice: int, finish_reason: str) -> dict[str, Any]:
        """The chunk that says why a choice's text ended."""

    def usage_chunk(self, kind: str, usage: dict[str, Any]) -> dict[str, Any]:
        """The chunk after the last choice, which holds the usage alone."""
        return self._object(kind, []) | {"usage": usage}

    @abstractmethod
    def last(self, usage: dict[str, Any]) -> dict[str, Any]:
        """``usage_chunk`` of this API."""

    def _object(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        }

    def _chunk(self, kind: str, choice: dict[str, Any]) -> dict[str, Any]:
        chunk = self._object(kind, [choice])
        return chunk | {"usage": None} if self.include_usage else chunk


@dataclass(frozen=True, slots=True)
class ChatAnswer(Answer):
    """``chat.completion`` and its chunks."""

    def whole(self, choices: Sequence[tuple[str, str]], usage: dict[str, Any]) -> dict[str, Any]:
        """The body of an answer that is not streamed."""
        written = [
            {
                "index": index,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "logprobs": None,
                "finish_reason": finish_reason,
            }
            for index, (text, finish_reason) in enumerate(choices)
        ]
        return self._object("chat.completion", written) | {"usage": usage}

    def opening(self, choice: int) -> dict[str, Any] | None:
        """The role, before the first token."""
        return self._delta(choice, {"role": "assistant", "content": "", "refusal": None}, None)

    def delta(self, choice: int, text: str) -> dict[str, Any]:
        """A piece of the message's content."""
        return self._delta(choice, {"content": text}, None)

    def ending(self, choice: int, finish_reason: str) -> dict[str, Any]:
        """An empty delta with the reason."""
        return self._delta(choice, {}, finish_reason)

    def last(self, usage: dict[str, Any]) -> dict[str, Any]:
        """The usage chunk."""
        return self.usage_chunk("chat.completion.chunk", usage)

    def _delta(self, index: int, delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self._chunk("chat.completion.chunk", choice)


@dataclass(frozen=True, slots=True)
class TextAnswer(Answer):
    """``text_completion``, whose chunks have the same object name."""

    def whole(self, choices: Sequence[tuple[str, str]], usage: dict[str, Any]) -> dict[str, Any]:
        """The body of an answer that is not streamed."""
        written = [self._choice(index, text, reason) for index, (text, reason) in enumerate(choices)]
        return self._object("text_completion", written) | {"usage": usage}

    def opening(self, choice: int) -> dict[str, Any] | None:  # noqa: ARG002
        """None: the first chunk has text."""
        return None

    def delta(self, choice: int, text: str) -> dict[str, Any]:
        """A piece of text."""
        return self._chunk("text_completion", self._choice(choice, text, None))

    def ending(self, choice: int, finish_reason: str) -> dict[str, Any]:
        """An empty text with the reason."""
        return self._chunk("text_completion", self._choice(choice, "", finish_reason))

    def last(self, usage: dict[str, Any]) -> dict[str, Any]:
        """The usage chunk."""
        return self.usage_chunk("text_completion", usage)

    def _choice(self, index: int, text: str, finish_reason: str | None) -> dict[str, Any]:
        return {"index": index, "text": text, "logprobs": None, "finish_reason": finish_reason}


def make_answer(call: Call, model: str, *, include_usage: bool) -> Answer:
    """The frame of the answer to a call, named after the call's own id."""
    name = call.id.removeprefix("pcr_")
    created = int(call.received_at)
    if call.dialect == "openai.completions":
        return TextAnswer(f"cmpl-{name}", created, model, include_usage)
    return ChatAnswer(f"chatcmpl-{name}", created, model, include_usage)


def models_body(name: str, context_length: int, *, alone: bool) -> dict[str, Any]:
    """The one model, in OpenAI's list or ``alone``."""
    entry = {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "promptcache",
        "max_model_len": context_length,
    }
    return entry if alone else {"object": "list", "data": [entry]}
