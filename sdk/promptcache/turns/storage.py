"""Stores a conversation as what was sent, and reads it back without making anything anew."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptcache.errors import StoredConversationError
from promptcache.turns.entries import AssistantEntry, Entry, NoteEntry, ResultsEntry, ToolResult, UserEntry
from promptcache.turns.static import StaticPart

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION: Final = 1
_KINDS: Final[dict[str, type[UserEntry | NoteEntry | AssistantEntry]]] = {
    "user": UserEntry,
    "note": NoteEntry,
    "assistant": AssistantEntry,
}
_REMEDY: Final = "Give a file written by Conversation.save of this or an earlier version."


@dataclass(frozen=True, slots=True)
class Stored:
    """All that a conversation is: its static part, its entries, its template's name, today's date if told."""

    static: StaticPart
    entries: tuple[Entry, ...]
    template: str | None = None
    day: str | None = None


def write(path: Path, stored: Stored) -> None:
    """Write ``stored`` to ``path`` as JSON, whole or not at all."""
    static = stored.static
    document = {
        "promptcache_conversation": VERSION,
        "template": stored.template,
        "day": stored.day,
        "system": static.system,
        "context": [list(pair) for pair in static.context],
        "tools": list(static.tools),
        "entries": [_dump(entry) for entry in stored.entries],
    }
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: Path) -> Stored:
    """Read a stored conversation; raises `StoredConversationError` when ``path`` does not hold one."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise StoredConversationError(str(path), error.strerror or "it cannot be read") from error
    except ValueError as error:
        raise StoredConversationError(str(path), f"it is not JSON ({error})", remedy=_REMEDY) from error
    version = document.get("promptcache_conversation") if isinstance(document, dict) else None
    if version != VERSION:
        problem = f"it is of version {version!r}" if version else "it is no stored conversation"
        raise StoredConversationError(str(path), problem, remedy=_REMEDY)
    try:
        return _stored(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"a part is missing or of the wrong type ({error})"
        raise StoredConversationError(str(path), problem, remedy=_REMEDY) from error


def _stored(document: Mapping[str, Any]) -> Stored:
    context = tuple((_string(name), _string(text)) for name, text in document["context"])
    tools = tuple(_string(tool) for tool in document["tools"])
    for tool in tools:
        json.loads(tool)
    static = StaticPart(_string(document["system"]), context, tools)
    entries = tuple(_load(item) for item in document["entries"])
    return Stored(static, entries, document["template"], document["day"])


def _dump(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, ResultsEntry):
        return {"kind": "results", "results": [_fields(result) for result in entry.results]}
    kind = next(name for name, cls in _KINDS.items() if isinstance(entry, cls))
    return {"kind": kind, **_fields(entry)}


def _load(item: Mapping[str, Any]) -> Entry:
    values = dict(item)
    kind = values.pop("kind")
    if kind == "results":
        return ResultsEntry(tuple(ToolResult(**result) for result in values["results"]))
    for name, value in values.items():
        if value is not None or name != "parts":
            _string(value)
    for name in ("payload", "parts"):
        if values.get(name) is not None:
            json.loads(values[name])
    return _KINDS[kind](**values)


def _fields(entry: Any) -> dict[str, Any]:
    return {field.name: getattr(entry, field.name) for field in fields(entry)}


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value
