"""Answers of the built-in engine in OpenAI's shapes: whole bodies and stream chunks.

Only shapes are made here; what is in them comes from the engine, and log-probabilities are written in
``logprob_shapes``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.upstreams.logprob_shapes import TokenPlaces, chat_logprobs, text_logprobs
from promptcache_gateway.upstreams.tool_calls import CallArguments, CallBegun, Content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.exchange import Call
    from promptcache_gateway.upstreams.pieces import TokenChance, Wishes
    from promptcache_gateway.upstreams.tool_calls import Part

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


@dataclass(slots=True)
class Choice:
    """One answer as it has come so far.

    Attributes:
        index: which of the request's answers.
        call_ids: the ids of its tool calls, as far as they have begun.
        text: its text without tool calls.
        calls: names and arguments of its tool calls.
        token_ids: all tokens sampled.
        chances: of the tokens of its text, where they were asked for.
        finish_reason: why it ended; empty before that.
        stop: the stop string that ended it, where one did.
        places: of the tokens whose chances were sent in chunks, in its text.
    """

    index: int
    call_ids: list[str] = field(default_factory=list)
    text: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)
    chances: list[TokenChance] = field(default_factory=list)
    finish_reason: str = ""
    stop: str | None = None
    places: TokenPlaces = field(default_factory=TokenPlaces)

    def add(self, part: Part, call_id: str) -> None:
        """Note what has come; ``call_id`` names a call that begins."""
        match part:
            case Content():
                self.text += part.text
            case CallBegun():
                self.call_ids.append(call_id)
                self.calls.append((part.name, ""))
            case CallArguments():
                name, arguments = self.calls[part.index]
                self.calls[part.index] = (name, arguments + part.text)

    def stop_reason(self) -> dict[str, Any]:
        """The stop string that ended the answer, where one did, as vLLM reports it."""
        return {} if self.stop is None else {"stop_reason": self.stop}

    def tool_calls(self) -> list[dict[str, Any]]:
        """The calls in OpenAI's shape."""
        return [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, (name, arguments) in zip(self.call_ids, self.calls, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Answer(ABC):
    """The frame of one answer: what all its objects share.

    Attributes:
        id: the response's id.
        created: Unix time in whole seconds.
        model: the model's name as listed.
        wishes: what the caller wants to see beside the text.
    """

    id: str
    created: int
    model: str
    wishes: Wishes

    @abstractmethod
    def whole(self, choices: Sequence[Choice], usage: dict[str, Any]) -> dict[str, Any]:
        """The body of an answer that is not streamed."""

    @abstractmethod
    def opening(self, choice: Choice) -> dict[str, Any] | None:
        """The chunk before a choice's first token, or None where the API has none."""

    @abstractmethod
    def delta(
        self, choice: Choice, part: Part, token_ids: Sequence[int], chances: Sequence[TokenChance]
    ) -> dict[str, Any]:
        """A chunk with a part of a choice, which ``choice`` holds already, and the tokens that led to it."""

    @abstractmethod
    def ending(self, choice: Choice) -> dict[str, Any]:
        """The chunk that says why a choice ended."""

    @abstractmethod
    def last(self, usage: dict[str, Any]) -> dict[str, Any]:
        """The chunk after the last choice, which holds the usage alone."""

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
        return chunk | {"usage": None} if self.wishes.usage else chunk

    def _ids(self, token_ids: Sequence[int]) -> dict[str, Any]:
        """``token_ids`` of a choice, where they were asked for."""
        return {} if self.wishes.prompt_token_ids is None else {"token_ids": list(token_ids)}


@dataclass(frozen=True, slots=True)
class ChatAnswer(Answer):
    """``chat.completion`` and its chunks."""

    def whole(self, choices: Sequence[Choice], usage: dict[str, Any]) -> dict[str, Any]:
        """The body of an answer that is not streamed."""
        body = self._object("chat.completion", [self._whole_choice(choice) for choice in choices])
        return body | {"usage": usage} | self._prompt_ids()

    def opening(self, choice: Choice) -> dict[str, Any] | None:
        """The role, before the first token; the first choice's has the prompt's ids."""
        chunk = self._delta(choice.index, {"role": "assistant", "content": "", "refusal": None}, None)
        return chunk | self._prompt_ids() if choice.index == 0 else chunk

    def delta(
        self, choice: Choice, part: Part, token_ids: Sequence[int], chances: Sequence[TokenChance]
    ) -> dict[str, Any]:
        """A piece of the message's content, or of a tool call."""
        match part:
            case Content():
                written: dict[str, Any] = {"content": part.text}
            case CallBegun():
                function = {"name": part.name, "arguments": ""}
                call = {"id": choice.call_ids[part.index], "type": "function", "function": function}
                written = {"tool_calls": [{"index": part.index, **call}]}
            case CallArguments():
                written = {"tool_calls": [{"index": part.index, "function": {"arguments": part.text}}]}
        more = self._ids(token_ids)
        return self._delta(choice.index, written, None, chances, **more)

    def ending(self, choice: Choice) -> dict[str, Any]:
        """An empty delta with the reason."""
        return self._delta(choice.index, {}, choice.finish_reason, **choice.stop_reason())

    def last(self, usage: dict[str, Any]) -> dict[str, Any]:
        """The usage chunk."""
        return self._object("chat.completion.chunk", []) | {"usage": usage}

    def _whole_choice(self, choice: Choice) -> dict[str, Any]:
        calls = choice.tool_calls()
        message: dict[str, Any] = {
            "role": "assistant",
            "content": choice.text or (None if calls else ""),
            "refusal": None,
        }
        return {
            "index": choice.index,
            "message": message | ({"tool_calls": calls} if calls else {}),
            "logprobs": chat_logprobs(choice.chances) if self.wishes.logprobs else None,
            "finish_reason": choice.finish_reason,
            **choice.stop_reason(),
            **self._ids(choice.token_ids),
        }

    def _prompt_ids(self) -> dict[str, Any]:
        ids = self.wishes.prompt_token_ids
        return {} if ids is None else {"prompt_token_ids": list(ids)}

    def _delta(
        self,
        index: int,
        delta: dict[str, Any],
        finish_reason: str | None,
        chances: Sequence[TokenChance] = (),
        **more: Any,
    ) -> dict[str, Any]:
        choice = {
            "index": index,
            "delta": delta,
            "logprobs": chat_logprobs(chances) if chances else None,
            "finish_reason": finish_reason,
            **more,
        }
        return self._chunk("chat.completion.chunk", choice)


@dataclass(frozen=True, slots=True)
class TextAnswer(Answer):
    """``text_completion``, whose chunks have the same object name."""

    def whole(self, choices: Sequence[Choice], usage: dict[str, Any]) -> dict[str, Any]:
        """The body of an answer that is not streamed."""
        written = []
        for choice in choices:
            logprobs = text_logprobs(choice.chances, TokenPlaces()) if self.wishes.logprobs else None
            made = self._choice(choice.index, self.wishes.echo + choice.text, choice.finish_reason, logprobs)
            written.append(made | choice.stop_reason() | self._ids(choice.token_ids) | self._prompt_ids())
        return self._object("text_completion", written) | {"usage": usage}

    def opening(self, choice: Choice) -> dict[str, Any] | None:
        """The prompt's text or ids where they were asked for; else the first chunk has the answer's text."""
        ids = self._prompt_ids()
        if not self.wishes.echo and not ids:
            return None
        made = self._choice(choice.index, self.wishes.echo, None) | ids
        return self._chunk("text_completion", made | self._ids(()))

    def delta(
        self, choice: Choice, part: Part, token_ids: Sequence[int], chances: Sequence[TokenChance]
    ) -> dict[str, Any]:
        """A piece of text; there are no tool calls here."""
        assert isinstance(part, Content)
        # Not where the part's text begins: what may be a stop string is held back when its token is told.
        logprobs = text_logprobs(chances, choice.places) if chances else None
        made = self._choice(choice.index, part.text, None, logprobs)
        return self._chunk("text_completion", made | self._ids(token_ids))

    def ending(self, choice: Choice) -> dict[str, Any]:
        """An empty text with the reason."""
        made = self._choice(choice.index, "", choice.finish_reason)
        return self._chunk("text_completion", made | choice.stop_reason())

    def last(self, usage: dict[str, Any]) -> dict[str, Any]:
        """The usage chunk."""
        return self._object("text_completion", []) | {"usage": usage}

    def _prompt_ids(self) -> dict[str, Any]:
        ids = self.wishes.prompt_token_ids
        return {} if ids is None else {"prompt_token_ids": list(ids)}

    def _choice(
        self,
        index: int,
        text: str,
        finish_reason: str | None,
        logprobs: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        return {
            "index": index,
            "text": text,
            "logprobs": logprobs,
            "finish_reason": finish_reason,
        }


def make_answer(call: Call, model: str, wishes: Wishes) -> Answer:
    """The frame of the answer to a call, named after the call's own id."""
    name = call.id.removeprefix("pcr_")
    created = int(call.received_at)
    if call.dialect == "openai.completions":
        return TextAnswer(f"cmpl-{name}", created, model, wishes)
    return ChatAnswer(f"chatcmpl-{name}", created, model, wishes)


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
