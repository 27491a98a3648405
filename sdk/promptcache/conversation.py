"""`Conversation`: a chat whose prefix never moves.

What is appended stays as it was first sent. Facts that change ride in the newest user turn; news are notes at
the end; a model's answers are replayed as they came. A conversation can be written for several providers, and
what it writes for turn n begins what it writes for turn n+1, byte for byte.
"""

from __future__ import annotations

import copy
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptcache.canonical import canonical_json
from promptcache.errors import ConversationError
from promptcache.forms import anthropic, marks, openai_chat, responses
from promptcache.forms.parts import as_part
from promptcache.turns import storage
from promptcache.turns.entries import (
    AssistantEntry,
    Entry,
    NoteEntry,
    ResultsEntry,
    ToolResult,
    UserEntry,
    calls_of,
    compact,
)
from promptcache.turns.facts import fact_line, with_facts
from promptcache.turns.replay import entry_of
from promptcache.turns.static import StaticPart, check_static

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from datetime import date

    from promptcache.forms.marks import Breakpoint

__all__ = ["Conversation"]

_TEMPLATE_HEADER = "x-promptcache-template"


class Conversation:
    """An append-only chat: static part first, then turns that never change.

    ``system`` is the system prompt. ``tools`` are tool definitions in any provider's form; they are put in
    order of their names unless ``sort_tools`` is false. ``context`` is further static material by name: text,
    or data that is written as canonical JSON. ``template`` names what this conversation is an instance of; it
    travels to the gateway as a header. ``known_static`` lists values that look volatile and are not.

    A value in the static part that will change is a `promptcache.errors.PromptCacheWarning`, or with
    ``strict`` a `promptcache.errors.VolatileContentError`.

    Methods that append may be called from several threads; each is one step.
    """

    def __init__(
        self,
        system: str = "",
        *,
        tools: Iterable[Any] = (),
        context: Mapping[str, Any] | None = None,
        template: str | None = None,
        known_static: Iterable[str] = (),
        sort_tools: bool = True,
        strict: bool = False,
    ) -> None:
        self._static = StaticPart.build(system, context or {}, tools, sort=sort_tools)
        check_static(self._static.texts(), known=frozenset(known_static), strict=strict, stacklevel=2)
        self.template = template
        self._entries: tuple[Entry, ...] = ()
        self._day: str | None = None
        self._results: dict[str, ToolResult] = {}
        self._lock = threading.Lock()

    def user(self, text: str, /, *parts: Any, **facts: Any) -> None:
        """Append what the user says.

        ``parts`` are further content: text, the bytes of an image, or parts in a provider's form. ``facts``
        are what holds at this moment (``now=…``); they are written behind the text, once and for ever.
        """
        written = compact([as_part(part) for part in parts]) if parts else None
        entry = UserEntry(with_facts(text, facts), written)
        if not entry.text and not written:
            raise ConversationError("The user's turn is empty.", remedy="Give a text, a part or a fact.")
        self._append(entry)

    def assistant(self, answer: Any) -> None:
        """Append what the model said: an SDK's response object, a dict of it or its message, or text.

        Everything the provider sent is replayed unchanged to that provider, tool-call arguments and reasoning
        included. Raises `promptcache.errors.ReplayError` when ``answer`` holds no answer.
        """
        self._append(entry_of(answer))

    def tool_result(self, call_id: str, result: Any, *, failed: bool = False) -> None:
        """Answer one tool call of the last turn: text as it is, anything else as canonical JSON.

        Results may come in any order; they are kept in the order of the calls. Raises
        `promptcache.errors.ConversationError` when no open call has this id.
        """
        text = result if isinstance(result, str) else canonical_json(result).decode()
        with self._lock:
            if call_id not in self._open_calls():
                raise ConversationError(
                    f"No tool call {call_id!r} is waiting for a result.",
                    remedy="Append the assistant's answer first, and answer each call once.",
                )
            self._results[call_id] = ToolResult(call_id, text, failed)
            if not self._open_calls():
                order = calls_of(self._last_answer())
                self._entries += (ResultsEntry(tuple(self._results[call.id] for call in order)),)
                self._results = {}

    def note(self, text: str) -> None:
        """Append news for the model. Nothing before it changes."""
        self._append(NoteEntry(fact_line("note", text)))

    def today(self, day: date) -> bool:
        """Tell the model today's date, once a day: a note when it is new, nothing when it is not.

        Returns whether a note was appended.
        """
        told = f"{day:%Y-%m-%d}"
        with self._lock:
            if told == self._day:
                return False
            self._require_results()
            self._day = told
            self._entries += (NoteEntry(fact_line("today", told)),)
            return True

    def fork(self) -> Conversation:
        """Return a conversation that shares everything so far and goes its own way from here."""
        return copy.copy(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the conversation to ``path``, exactly as it was sent; whole or not at all."""
        self._complete()
        storage.write(Path(path), self.__getstate__()[0])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Conversation:
        """Read a saved conversation; raises `promptcache.errors.StoredConversationError` if it is none."""
        loaded = cls.__new__(cls)
        loaded.__setstate__((storage.read(Path(path)), {}))
        return loaded

    def to_openai(self, model: str, **parameters: Any) -> dict[str, Any]:
        """Return the arguments of ``client.chat.completions.create``; ``parameters`` are passed on."""
        return self._request(model, parameters, openai_chat.body(self._static, self._complete()))

    def to_responses(self, model: str, **parameters: Any) -> dict[str, Any]:
        """Return the arguments of ``client.responses.create``; ``parameters`` are passed on."""
        return self._request(model, parameters, responses.body(self._static, self._complete()))

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
        body = anthropic.body(self._static, self._complete())
        if mark:
            marks.apply(body, marks.place(body), static_ttl)
        return self._request(model, {"max_tokens": max_tokens, **parameters}, body)

    @property
    def prefix_hash(self) -> str:
        """A hash of tools, system prompt and context: 32 hex digits, equal in every process and fork."""
        return self._static.digest

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        """Where `to_anthropic` marks the request as it stands, in its order."""
        return marks.place(anthropic.body(self._static, self._complete()))

    def __len__(self) -> int:
        """Return the number of turns and notes behind the static part."""
        return len(self._entries)

    def __repr__(self) -> str:
        name = f" {self.template!r}" if self.template else ""
        return f"<Conversation{name}: {len(self)} turns, prefix {self.prefix_hash[:8]}>"

    def __getstate__(self) -> tuple[storage.Stored, dict[str, ToolResult]]:
        with self._lock:
            stored = storage.Stored(self._static, self._entries, self.template, self._day)
            return stored, dict(self._results)

    def __setstate__(self, state: tuple[storage.Stored, dict[str, ToolResult]]) -> None:
        stored, self._results = state
        self._static, self._entries = stored.static, stored.entries
        self.template, self._day = stored.template, stored.day
        self._lock = threading.Lock()

    def _append(self, entry: Entry) -> None:
        with self._lock:
            self._require_results()
            self._entries += (entry,)

    def _complete(self) -> tuple[Entry, ...]:
        with self._lock:
            self._require_results()
            return self._entries

    def _require_results(self) -> None:
        missing = self._open_calls()
        if missing:
            raise ConversationError(
                f"Tool calls still without a result: {', '.join(missing)}.",
                remedy="Give each one with tool_result(), also when the tool failed (failed=True).",
            )

    def _open_calls(self) -> list[str]:
        if not self._entries or not isinstance(self._entries[-1], AssistantEntry):
            return []
        return [call.id for call in calls_of(self._entries[-1]) if call.id not in self._results]

    def _last_answer(self) -> AssistantEntry:
        answer = self._entries[-1]
        assert isinstance(answer, AssistantEntry)
        return answer

    def _request(self, model: str, parameters: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        clash = sorted(parameters.keys() & body.keys())
        if clash:
            raise ConversationError(
                f"{clash[0]!r} is written by the conversation.", remedy="Leave it out of the parameters."
            )
        request = {"model": model, **parameters}
        if self.template:
            headers = {**(request.get("extra_headers") or {})}
            request["extra_headers"] = {_TEMPLATE_HEADER: self.template, **headers}
        # What grows comes last, so that the text of a request begins that of the next.
        return {**request, **body}
