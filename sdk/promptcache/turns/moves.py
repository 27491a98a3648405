"""The steps that move a conversation's prefix: dropping old turns, compacting them, adding tools.

Each is asked for by name, says what it costs, and is refused where the conversation is strict. What stays is
byte for byte what was sent; only what stood before it is gone, so a cache has to read it anew.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from promptcache.canonical import canonical_json
from promptcache.errors import ConversationError, PrefixMoveError
from promptcache.turns import given
from promptcache.turns.entries import (
    AssistantEntry,
    Entry,
    NoteEntry,
    ResultsEntry,
    ToolsEntry,
    UserEntry,
)
from promptcache.turns.facts import fact_line
from promptcache.turns.prefix_move import PrefixMove
from promptcache.turns.sizes import Count, entry_tokens, static_tokens
from promptcache.turns.state import State, day_line
from promptcache.turns.static import tool_name, tool_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

_DECLARE_EARLY = "Declare every tool when the conversation begins, and mask those that must not be called."


def trim(state: State, count: Count, *, to_tokens: int, at_tokens: int) -> tuple[State, PrefixMove]:
    """Drop the oldest turns down to ``to_tokens``, but only once there are more than ``at_tokens``.

    Turns are dropped whole, calls with their results. The newest turn always stays.
    """
    given.whole(to_tokens, "to_tokens")
    given.whole(at_tokens, "at_tokens")
    if not 0 < to_tokens < at_tokens:
        raise ConversationError(
            f"trim(to_tokens={to_tokens}, at_tokens={at_tokens}) would trim at every turn or never.",
            remedy="Let at_tokens be well above to_tokens, so that trimming is rare.",
        )
    state.require_results()
    head = static_tokens(state, count)
    blocks = _turns(state.entries)
    sizes = [sum(entry_tokens(entry, count) for entry in block) for block in blocks]
    if head + sum(sizes) <= at_tokens:
        return state, PrefixMove("PC501", head + sum(sizes), estimated=count.estimated)
    told, extra = _mask_told(state, blocks), _mask_tokens(state, count)
    rest = [head + sum(sizes) - gone for gone in accumulate(sizes, initial=0)]
    fits = (i for i, left in enumerate(rest[:-1]) if left + (extra if i > told else 0) <= to_tokens)
    first = next(fits, len(blocks) - 1)
    if first <= 0:  # the newest turn alone is too large; nothing can go
        return state, PrefixMove("PC501", head + sum(sizes), estimated=count.estimated)
    move = PrefixMove(
        "PC501",
        head,
        lost=sum(sizes[first:]),
        dropped=sum(sizes[:first]),
        added=extra if first > told else 0,
        estimated=count.estimated,
    )
    return _dropping(state, blocks, first, (), move), move


def compact(state: State, count: Count, summary: str, *, keep_turns: int) -> tuple[State, PrefixMove]:
    """Put a summary in the place of all turns but the last ``keep_turns``; static part and tools stay."""
    given.whole(keep_turns, "keep_turns")
    if not given.text(summary, "The summary").strip():
        raise ConversationError("The summary is empty.", remedy="Ask the model for one in a fork.")
    state.require_results()
    blocks = _turns(state.entries)
    first = max(0, len(blocks) - keep_turns)
    written = UserEntry(f"<summary>\n{summary}\n</summary>")
    sizes = [sum(entry_tokens(entry, count) for entry in block) for block in blocks]
    move = PrefixMove(
        "PC506",
        kept=static_tokens(state, count),
        lost=sum(sizes[first:]),
        dropped=sum(sizes[:first]),
        added=entry_tokens(written, count)
        + (_mask_tokens(state, count) if first > _mask_told(state, blocks) else 0),
        estimated=count.estimated,
    )
    return _dropping(state, blocks, first, (written,), move), move


def add_tools(state: State, count: Count, tools: Iterable[Any]) -> tuple[State, PrefixMove]:
    """Append tools behind those there are; one that is there already is passed over.

    Raises `ConversationError` for a tool whose definition differs from the one in use.
    """
    known = {tool_name(json.loads(text)): text for text in all_tools(state)}
    new: list[str] = []
    for index, tool in enumerate(given.each(tools, "tools")):
        text = tool_text(tool, index)
        name = tool_name(json.loads(text))
        if name not in known:
            known[name] = text
            new.append(text)
        elif canonical_json(json.loads(text)) != canonical_json(json.loads(known[name])):
            raise ConversationError(
                f"The tool {name!r} has another definition now.",
                remedy="Give the new one another name and mask the old one; a changed definition moves all.",
            )
    if not new:
        kept = static_tokens(state, count) + sum(entry_tokens(entry, count) for entry in state.entries)
        return state, PrefixMove("PC302", kept, estimated=count.estimated)
    entry = ToolsEntry(tuple(new))
    in_front = sum(count(text) for text in all_tools(state))
    behind = count(state.static.text) + sum(entry_tokens(one, count) for one in _without_tools(state))
    added = entry_tokens(entry, count)
    move = PrefixMove("PC302", in_front, lost=behind, added=added, estimated=count.estimated)
    _permit(state, move)
    return state.with_entry(entry), move


def mask(state: State, names: Sequence[str]) -> State:
    """Return the state in which the model may call all tools but ``names``, and a note has said so."""
    known = {tool_name(json.loads(text)) for text in all_tools(state)}
    unknown = sorted(set(given.texts(names, "names")) - known)
    if unknown:
        raise ConversationError(f"There is no tool {unknown[0]!r}.", remedy="Name tools that were declared.")
    masked = tuple(sorted(set(names)))
    if masked == state.masked:
        return state
    return replace(state.with_entry(_mask_note(masked)), masked=masked)


def all_tools(state: State) -> tuple[str, ...]:
    """Return the JSON texts of all tools, those that came later behind the first."""
    later = (entry.tools for entry in state.entries if isinstance(entry, ToolsEntry))
    return (*state.static.tools, *(text for texts in later for text in texts))


def _mask_note(masked: Sequence[str]) -> NoteEntry:
    text = (
        f"Do not call these tools now: {', '.join(masked)}." if masked else "All tools may be called again."
    )
    return NoteEntry(fact_line("note", text))


def _mask_told(state: State, blocks: Sequence[Sequence[Entry]]) -> int:
    """Return the number of the block that says which tools are masked; -1 when none does."""
    note = _mask_note(state.masked)
    return max((number for number, block in enumerate(blocks) if note in block), default=-1)


def _mask_tokens(state: State, count: Count) -> int:
    """Return the tokens of saying again which tools are masked; 0 when none is."""
    return entry_tokens(_mask_note(state.masked), count) if state.masked else 0


def _without_tools(state: State) -> list[Entry]:
    return [entry for entry in state.entries if not isinstance(entry, ToolsEntry)]


def _turns(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Cut entries into turns: what is said to the model, then all it answers until it is spoken to again."""
    turns: list[list[Entry]] = []
    answered = True
    for entry in entries:
        answers = isinstance(entry, AssistantEntry | ResultsEntry)
        if (answered and not answers) or not turns:
            turns.append([])
        turns[-1].append(entry)
        answered = answers
    return turns


def _dropping(
    state: State, blocks: list[list[Entry]], first: int, before: tuple[Entry, ...], move: PrefixMove
) -> State:
    """Return the state without the first blocks; tools that stood in them join the static ones.

    Where the note went that says which tools are masked, it is said again in front of what stays.
    """
    if not move.moved:
        return state
    _permit(state, move)
    gone = [entry for block in blocks[:first] for entry in block]
    if state.masked and first > _mask_told(state, blocks):
        before = (*before, _mask_note(state.masked))
    entries = (*before, *(entry for block in blocks[first:] for entry in block))
    later = tuple(text for entry in gone if isinstance(entry, ToolsEntry) for text in entry.tools)
    static = replace(state.static, tools=(*state.static.tools, *later)) if later else state.static
    told = state.day is not None and NoteEntry(day_line(state.day)) in entries
    return replace(state, static=static, entries=entries, day=state.day if told else None)


def _permit(state: State, move: PrefixMove) -> None:
    if state.strict:
        remedy = _DECLARE_EARLY if move.code == "PC302" else "Start a new conversation instead."
        raise PrefixMoveError(move, remedy=remedy)
