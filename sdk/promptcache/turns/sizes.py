"""How many tokens a conversation holds: counted by the caller's tokenizer, or estimated from characters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from promptcache.errors import ConversationError
from promptcache.turns.entries import (
    AssistantEntry,
    Entry,
    ResultsEntry,
    ToolsEntry,
    UserEntry,
    calls_of,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptcache.turns.state import State

_CHARS_PER_TOKEN: Final = 4
_PART_TOKENS: Final = 1000
"""What an image or a document is taken for; providers count them by size, in other ways each."""


class Count:
    """Counts the tokens of texts with ``tokenizer``, or estimates them when it is None."""

    def __init__(self, tokenizer: Callable[[str], int] | None = None) -> None:
        if tokenizer is not None and not callable(tokenizer):
            raise ConversationError(
                f"count_tokens is a {type(tokenizer).__name__}.",
                remedy="Give a function from text to number.",
            )
        self.estimated = tokenizer is None
        self._tokenizer = tokenizer or _estimate

    def __call__(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._tokenizer(text) if text else 0


def static_tokens(state: State, count: Count) -> int:
    """Return the tokens of tools, system prompt and context."""
    return sum(count(text) for text in state.static.tools) + count(state.static.text)


def entry_tokens(entry: Entry, count: Count) -> int:
    """Return the tokens of one entry, without the few that frame a message."""
    return sum(count(text) for text in _texts(entry)) + _PART_TOKENS * _attachments(entry)


def _texts(entry: Entry) -> Iterator[str]:
    if isinstance(entry, AssistantEntry):
        yield text_of(entry)
        for call in calls_of(entry):
            yield call.name
            yield call.arguments
    elif isinstance(entry, ResultsEntry):
        yield from (result.text for result in entry.results)
    elif isinstance(entry, ToolsEntry):
        yield from entry.tools
    else:
        yield entry.text
        if isinstance(entry, UserEntry) and entry.parts is not None:
            yield from (part["text"] for part in json.loads(entry.parts) if isinstance(part.get("text"), str))


def _attachments(entry: Entry) -> int:
    if not isinstance(entry, UserEntry) or entry.parts is None:
        return 0
    return sum(1 for part in json.loads(entry.parts) if not isinstance(part.get("text"), str))


def _estimate(text: str) -> int:
    return -(-len(text) // _CHARS_PER_TOKEN)
