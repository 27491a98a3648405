"""All that a conversation is at one moment, as a value; each step makes a new one.

A state is never changed, so a fork is the same state held twice, and a step that fails leaves nothing behind.
Steps that only add are here; those that move the prefix are in `promptcache.turns.moves`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from promptcache.errors import ConversationError
from promptcache.turns.entries import (
    AssistantEntry,
    Entry,
    NoteEntry,
    ResultsEntry,
    ToolCall,
    ToolResult,
    calls_of,
)
from promptcache.turns.facts import fact_line
from promptcache.turns.static import StaticPart

if TYPE_CHECKING:
    from promptcache.turns.images import SeenImage

_FINISH_CALLS = "Give each one with tool_result(), also when the tool failed (failed=True)."


@dataclass(frozen=True, slots=True)
class State:
    """A conversation as a value.

    ``results`` are answers to some of the calls of the last entry; the others are still open. ``masked`` are
    names of tools the model must not call now. ``pins`` are JSON texts of schemas in the order first seen.
    ``seed`` spreads conversations of one template over cache keys. ``strict`` forbids to move the prefix.
    """

    static: StaticPart = field(default_factory=StaticPart)
    entries: tuple[Entry, ...] = ()
    template: str | None = None
    tenant: str | None = None
    requests_per_minute: float | None = None
    day: str | None = None
    results: tuple[ToolResult, ...] = ()
    masked: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    images: tuple[SeenImage, ...] = ()
    seed: str = ""
    strict: bool = False

    def with_entry(self, entry: Entry) -> State:
        """Return the state with one more entry; raises `ConversationError` while calls are open."""
        self.require_results()
        seed = self.seed or blake2b(repr(entry).encode("utf-8", "replace"), digest_size=8).hexdigest()
        return replace(self, entries=(*self.entries, entry), seed=seed)

    def with_day(self, told: str) -> State:
        """Return the state in which the model knows today's date."""
        return replace(self.with_entry(NoteEntry(day_line(told))), day=told)

    def with_result(self, result: ToolResult) -> State:
        """Return the state with one call answered; the last answer ends the turn, in the order of calls."""
        calls = {call.id: call for call in self.open_calls()}
        if result.call_id not in calls:
            raise ConversationError(
                f"No tool call {result.call_id!r} is waiting for a result.",
                remedy="Append the assistant's answer first, and answer each call once.",
            )
        call = calls[result.call_id]
        result = replace(result, name=call.name, custom=call.custom)
        given = {one.call_id: one for one in (*self.results, result)}
        if len(calls) > 1:
            return replace(self, results=tuple(given.values()))
        answer = self.entries[-1]
        assert isinstance(answer, AssistantEntry)
        ordered = ResultsEntry(tuple(given[call.id] for call in calls_of(answer)))
        return replace(self, entries=(*self.entries, ordered), results=())

    def open_calls(self) -> list[ToolCall]:
        """Return the tool calls of the last answer that have no result yet, in order."""
        if not self.entries or not isinstance(self.entries[-1], AssistantEntry):
            return []
        answered = {result.call_id for result in self.results}
        return [call for call in calls_of(self.entries[-1]) if call.id not in answered]

    def require_results(self) -> None:
        """Raise `ConversationError` while tool calls are without a result."""
        missing = [call.id for call in self.open_calls()]
        if missing:
            what = f"Tool calls still without a result: {', '.join(missing)}."
            raise ConversationError(what, remedy=_FINISH_CALLS)


def day_line(told: str) -> str:
    """Return how the model is told the date."""
    return fact_line("today", told)
