"""`Conversation`: a chat whose prefix never moves.

What is appended stays as it was first sent. Facts that change ride in the newest user turn; news are notes at
the end; a model's answers are replayed as they came. A conversation can be written for several providers, and
what it writes for turn n begins what it writes for turn n+1, byte for byte. The few steps that move the
prefix (trimming, compacting, adding tools) are asked for by name, and say what they cost.

The state of a conversation is a value (`promptcache.turns.state`); this class holds it and lets one step at a
time replace it.
"""

from __future__ import annotations

import copy
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from promptcache.errors import ConversationError
from promptcache.forms.parts import as_part
from promptcache.sending import Sender
from promptcache.turns import given, moves, pins, storage
from promptcache.turns.entries import NoteEntry, ToolResult, UserEntry
from promptcache.turns.facts import fact_line, with_facts
from promptcache.turns.images import note_images
from promptcache.turns.replay import entry_of
from promptcache.turns.sizes import Count, entry_tokens, static_tokens
from promptcache.turns.state import State
from promptcache.turns.static import StaticPart, check_static

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from promptcache.turns.prefix_move import PrefixMove

__all__ = ["Conversation"]


class Conversation(Sender):
    """An append-only chat: static part first, then turns that never change.

    ``system`` is the system prompt. ``tools`` are tool definitions in any provider's form; they are put in
    order of their names unless ``sort_tools`` is false. ``context`` is further static material by name: text,
    or data that is written as canonical JSON. ``template`` names what this conversation is an instance of; it
    travels to the gateway as a header and, with ``tenant`` and ``requests_per_minute``, makes the cache key
    for OpenAI (`promptcache.cache_keys`). ``known_static`` lists values that look volatile and are not.
    ``count_tokens`` counts the tokens of a text; without it they are estimated from characters.

    A value in the static part that will change is a `promptcache.errors.PromptCacheWarning`, or with
    ``strict`` a `promptcache.errors.VolatileContentError`. ``strict`` also forbids every step that moves the
    prefix: `promptcache.errors.PrefixMoveError`.

    Methods that append may be called from several threads; each is one step. While a request is on its way
    (`send` and its kin), a second one and every step that would come between it and its answer are a
    `promptcache.errors.ConversationBusyError`: fork for parallel ones.
    """

    _state: State
    _lock: threading.Lock

    def __init__(
        self,
        system: str = "",
        *,
        tools: Iterable[Any] = (),
        context: Mapping[str, Any] | None = None,
        template: str | None = None,
        tenant: str | None = None,
        requests_per_minute: float | None = None,
        known_static: Iterable[str] = (),
        sort_tools: bool = True,
        strict: bool = False,
        count_tokens: Callable[[str], int] | None = None,
    ) -> None:
        static = StaticPart.build(system, {} if context is None else context, tools, sort=sort_tools)
        known = frozenset(given.texts(known_static, "known_static"))
        state = State(
            static,
            template=given.header(template, "The template's name"),
            tenant=None if tenant is None else given.text(tenant, "The tenant"),
            requests_per_minute=given.rate(requests_per_minute, "requests_per_minute"),
        )
        check_static(static.texts(), known=known, strict=strict, stacklevel=2)
        self._count = Count(count_tokens)
        self._hold(replace(state, strict=strict))

    def user(self, text: str, /, *parts: Any, **facts: Any) -> None:
        """Append what the user says.

        ``parts`` are further content: text, the bytes of an image, a `promptcache.Image`, or parts in a
        provider's form. ``facts`` are what holds at this moment (``now=…``); they are written behind the
        text, once and for ever.
        """
        content = [given.json_text(as_part(part), f"parts[{index}]") for index, part in enumerate(parts)]
        written = f"[{','.join(content)}]" if content else None
        said = with_facts(given.text(text, "The user's text"), facts)
        entry = UserEntry(given.text(said, "The user's turn"), written)
        if not entry.text and not written:
            raise ConversationError("The user's turn is empty.", remedy="Give a text, a part or a fact.")
        with self._step():
            state = self._state
            images = note_images(parts, state.images, strict=state.strict, stacklevel=2)
            self._state = replace(state.with_entry(entry), images=images)

    def assistant(self, answer: Any) -> None:
        """Append what the model said: an SDK's response object, the events of its stream, a dict, or text.

        Everything the provider sent is replayed unchanged to that provider, tool-call arguments and reasoning
        included. Raises `promptcache.errors.ReplayError` when ``answer`` holds no answer.
        """
        entry = entry_of(answer)
        with self._step():
            self._state = self._state.with_entry(entry)

    def tool_result(self, call_id: str, result: Any, *, failed: bool = False) -> None:
        """Answer one tool call of the last turn: text as it is, anything else as canonical JSON.

        Results may come in any order; they are kept in the order of the calls. Raises
        `promptcache.errors.ConversationError` when no open call has this id.
        """
        given.text(call_id, "The call's id")
        text = (
            given.text(result, "The result") if isinstance(result, str) else given.canonical(result, "result")
        )
        with self._step():
            self._state = self._state.with_result(ToolResult(call_id, text, failed))

    def note(self, text: str) -> None:
        """Append news for the model. Nothing before it changes."""
        line = fact_line("note", given.text(text, "The note"))
        with self._step():
            self._state = self._state.with_entry(NoteEntry(line))

    def today(self, day: date) -> bool:
        """Tell the model today's date, once a day: a note when it is new, nothing when it is not.

        Returns whether a note was appended.
        """
        if not isinstance(day, date):
            raise ConversationError(
                f"The day is a {type(day).__name__}.", remedy="Give a date: date.today()."
            )
        told = f"{day:%Y-%m-%d}"
        with self._step():
            if told == self._state.day:
                return False
            self._state = self._state.with_day(told)
            return True

    def mask_tools(self, *names: str) -> None:
        """Let the model call all tools but these from now on; with no name, all again.

        The definitions stay where they are. A note says it, and OpenAI and Gemini models that are known also
        get the list of tools that may be called; the prefix does not move.
        """
        with self._step():
            self._state = moves.mask(self._state, names)

    def add_tools(self, tools: Iterable[Any]) -> PrefixMove:
        """Append tools behind those there are, and return what that costs.

        At OpenAI Responses they stand in the input where they came, and nothing moves. Everywhere else tools
        come first in a request, so all behind the earlier tools is computed anew, once.
        """
        with self._step():
            self._state, move = moves.add_tools(self._state, self._count, tools)
            return move

    def trim(self, *, to_tokens: int, at_tokens: int) -> PrefixMove:
        """Drop the oldest turns down to ``to_tokens`` once there are more than ``at_tokens``.

        Until then nothing happens, so that the prefix moves seldom. Turns go whole; the static part and the
        newest turn stay. Returns what it costs; `PrefixMove.moved` tells whether anything was dropped.
        """
        with self._step():
            self._state, move = moves.trim(self._state, self._count, to_tokens=to_tokens, at_tokens=at_tokens)
            return move

    def compact(self, summary: str, *, keep_turns: int = 0) -> PrefixMove:
        """Put a summary in the place of all turns but the last few; tools and system prompt stay.

        Ask a fork for the summary, so that the request for it reads the whole cache. Returns what it costs.
        """
        with self._step():
            self._state, move = moves.compact(self._state, self._count, summary, keep_turns=keep_turns)
            return move

    def fork(self) -> Conversation:
        """Return a conversation that shares everything so far and goes its own way from here."""
        return copy.copy(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the conversation to ``path``, exactly as it was sent; whole or not at all."""
        storage.write(storage.as_path(path), self._state)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, count_tokens: Callable[[str], int] | None = None
    ) -> Conversation:
        """Read a saved conversation; raises `promptcache.errors.StoredConversationError` if it is none."""
        loaded = cls.__new__(cls)
        loaded.__setstate__((storage.read(storage.as_path(path)), Count(count_tokens)))
        return loaded

    @property
    def template(self) -> str | None:
        """The name of what this conversation is an instance of."""
        return self._state.template

    @property
    def tokens(self) -> int:
        """Tokens of the whole conversation, counted or estimated."""
        state = self._state
        return static_tokens(state, self._count) + sum(
            entry_tokens(entry, self._count) for entry in state.entries
        )

    @property
    def prefix_hash(self) -> str:
        """A hash of tools, system prompt and context: 32 hex digits, equal in every process and fork."""
        return self._state.static.digest

    def __len__(self) -> int:
        """Return the number of turns and notes behind the static part."""
        return len(self._state.entries)

    def __repr__(self) -> str:
        name = f" {self.template!r}" if self.template else ""
        return f"<Conversation{name}: {len(self)} turns, prefix {self.prefix_hash[:8]}>"

    def __getstate__(self) -> tuple[State, Count]:
        return self._state, self._count

    def __setstate__(self, state: tuple[State, Count]) -> None:
        held, self._count = state
        self._hold(held)

    def _hold(self, state: State) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._busy = threading.Lock()

    @contextmanager
    def _step(self) -> Iterator[None]:
        """Let one step replace the state; while an answer is on its way none may, it would come between."""
        with self._lock:
            self._require_idle()
            yield

    def _append_answer(self, answer: Any) -> None:
        entry = entry_of(answer)
        with self._lock:
            self._state = self._state.with_entry(entry)

    def _complete(self, model: str, parameters: Mapping[str, Any]) -> tuple[State, str, dict[str, Any]]:
        """Return what a request is made of; its schemas are pinned from now on."""
        with self._lock:
            self._state.require_results()
            self._state, pinned = pins.pin(self._state, parameters)
            return self._state, model, pinned
