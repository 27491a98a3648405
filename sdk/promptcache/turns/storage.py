"""Stores a conversation as what was sent, and reads it back without making anything anew."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptcache.errors import ConversationError, StoredConversationError
from promptcache.turns import given
from promptcache.turns.entries import (
    AssistantEntry,
    Entry,
    NoteEntry,
    ResultsEntry,
    ToolResult,
    ToolsEntry,
    UserEntry,
)
from promptcache.turns.images import SeenImage
from promptcache.turns.state import State
from promptcache.turns.static import StaticPart
from promptcache.turns.wellformed import require_wellformed

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION: Final = 1
_KINDS: Final[dict[str, type[UserEntry | NoteEntry | AssistantEntry]]] = {
    "user": UserEntry,
    "note": NoteEntry,
    "assistant": AssistantEntry,
}
_PLAIN: Final = ("template", "tenant", "requests_per_minute", "day", "seed", "strict")
_WRITABLE: Final = "Give the path of a file in a directory that exists and may be written."
_REMEDY: Final = "Give a file written by Conversation.save of this or an earlier version."


def as_path(path: Any) -> Path:
    """Return ``path`` as a Path; raises `ConversationError` when it is no path."""
    if not isinstance(path, (str, os.PathLike)):
        raise ConversationError(f"The path is a {type(path).__name__}.", remedy="Give a str or a Path.")
    return Path(path)


def write(path: Path, state: State) -> None:
    """Write ``state`` to ``path`` as JSON, whole or not at all."""
    static = state.static
    document = {
        "promptcache_conversation": VERSION,
        **{name: getattr(state, name) for name in _PLAIN},
        "masked": list(state.masked),
        "pins": list(state.pins),
        "images": [_fields(image) for image in state.images],
        "results": [_fields(result) for result in state.results],
        "system": static.system,
        "context": [list(pair) for pair in static.context],
        "tools": list(static.tools),
        "entries": [_dump(entry) for entry in state.entries],
    }
    try:
        _replace(path, document)
    except OSError as error:
        problem = error.strerror or "it cannot be written"
        raise StoredConversationError(str(path), problem, remedy=_WRITABLE, step="save") from error


def _replace(path: Path, document: Mapping[str, Any]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: Path) -> State:
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
    except (KeyError, TypeError, ValueError, AttributeError, ConversationError) as error:
        problem = f"a part is missing or of the wrong type ({error})"
        raise StoredConversationError(str(path), problem, remedy=_REMEDY) from error


def _stored(document: Mapping[str, Any]) -> State:
    context = tuple((_string(name), _string(text)) for name, text in document["context"])
    tools = tuple(_string(tool) for tool in document["tools"])
    pins = tuple(_string(text) for text in document.get("pins", ()))
    for text in (*tools, *pins):
        _object(json.loads(text))
    given.header(document.get("template"), "The template's name")
    given.rate(document.get("requests_per_minute"), "requests_per_minute")
    for name in ("tenant", "day", "seed"):
        if document.get(name) is not None:
            _string(document[name])
    _boolean(document.get("strict", False))
    return State(
        static=StaticPart(_string(document["system"]), context, tools),
        entries=tuple(_load(item) for item in document["entries"]),
        masked=tuple(_string(name) for name in document.get("masked", ())),
        pins=pins,
        images=tuple(_image(image) for image in document.get("images", ())),
        results=tuple(_result(result) for result in document.get("results", ())),
        **{name: document[name] for name in _PLAIN if name in document},
    )


def _dump(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, ResultsEntry):
        return {"kind": "results", "results": [_fields(result) for result in entry.results]}
    if isinstance(entry, ToolsEntry):
        return {"kind": "tools", "tools": list(entry.tools)}
    kind = next(name for name, cls in _KINDS.items() if isinstance(entry, cls))
    return {"kind": kind, **_fields(entry)}


def _load(item: Mapping[str, Any]) -> Entry:
    values = dict(item)
    kind = values.pop("kind")
    if kind == "results":
        return ResultsEntry(tuple(_result(result) for result in values["results"]))
    if kind == "tools":
        return ToolsEntry(tuple(_string(tool) for tool in values["tools"]))
    for name, value in values.items():
        if value is not None or name != "parts":
            _string(value)
    if kind == "assistant":
        require_wellformed(values["dialect"], json.loads(values["payload"]))
    for part in json.loads(values.get("parts") or "[]"):
        _string(_object(part)["type"])
    return _KINDS[kind](**values)


def _image(values: Mapping[str, Any]) -> SeenImage:
    image = SeenImage(**values)
    for text in (image.name, image.digest, image.detail or ""):
        _string(text)
    return image


def _result(values: Mapping[str, Any]) -> ToolResult:
    result = ToolResult(**values)
    for text in (result.call_id, result.text, result.name):
        _string(text)
    _boolean(result.failed)
    _boolean(result.custom)
    return result


def _fields(entry: Any) -> dict[str, Any]:
    return {field.name: getattr(entry, field.name) for field in fields(entry)}


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, found {type(value).__name__}")
    return value


def _boolean(value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false, found {type(value).__name__}")
