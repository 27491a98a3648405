"""Cuts a request body into segments, in the order in which a provider matches them.

Each tool, then each system block, then each message block is one `Segment`. The text of a segment is what
the cache sees of it, so two requests share a prefix as far as their segments are equal.
This module knows the four dialects (OpenAI chat, completions and responses, Anthropic messages) and the
shapes of their content. Where two requests part, and why, is `promptcache.divergence`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from promptcache.errors import MalformedRequestError
from promptcache.quick_values import quick
from promptcache.shapes import (
    BREAKPOINT_KEYS,
    breakpoint_of,
    compact_json,
    expect_list,
    expect_object,
    name_of,
    without_breakpoint,
)

if TYPE_CHECKING:
    from promptcache.known_messages import KnownMessages

__all__ = ["Kind", "Segment", "chain_hashes", "cut_request", "newest_turn_start"]

Kind = Literal["tool", "system", "message"]

_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_MESSAGE_META = frozenset({"role", "content", "tool_calls", "type", "id", "status", *BREAKPOINT_KEYS})
_INSTRUCTING_ROLES = frozenset({"system", "developer"})
_RESULT_ROLES = frozenset({"tool", "function"})


@quick
@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a prompt.

    ``path`` is its place in the body (``tools[0]``, ``system[1]``, ``messages[2].content[0]``).
    ``text`` is a tool's compact JSON, a system block's text, or for a message its role, a newline and its
    text (or compact JSON where a block is not text). ``breakpoint`` is the mark that stands on it, or None.
    ``message`` is the index of the message it belongs to, or None. ``extra`` is the compact JSON of a
    message's other fields that reach the prompt (a tool call's id, reasoning), "" when there are none; it
    is compared and hashed, and not counted in lengths. ``seat`` is the place it takes at a provider that
    reads a text like a list of that one text; "" where it takes its own.
    """

    path: str
    kind: Kind
    role: str
    text: str
    breakpoint: Mapping[str, Any] | None = None
    message: int | None = None
    extra: str = ""
    seat: str = ""

    @property
    def place(self) -> str:
        """Its path in a list of messages: a string ``input`` stands for a list of one."""
        return self.seat or ("input[0]" if self.path == "input" else self.path)

    @property
    def head(self) -> int:
        """Length of the role and newline before a message's own text; 0 elsewhere."""
        return len(self.role) + 1 if self.kind == "message" and self.role else 0

    @property
    def body(self) -> str:
        """The text without role and newline."""
        return self.text[self.head :]

    def same_as(self, other: Segment) -> bool:
        """Whether a cache cannot tell the two apart: same place, same content; marks do not count."""
        return self.text == other.text and self.place == other.place and self.extra == other.extra


def cut_request(body: Mapping[str, Any], known: KnownMessages[Segment] | None = None) -> tuple[Segment, ...]:
    """Cut a decoded request body into segments.

    ``known`` remembers messages from one request to the next; what it knows is not cut again.

    Raises `MalformedRequestError` with the path of the first part that has no known shape.
    """
    if type(body) is not dict and not isinstance(body, Mapping):  # the first is far cheaper
        raise MalformedRequestError("$", f"expected a JSON object, found {name_of(body)}")
    segments = _tools(body["tools"]) if "tools" in body else []
    if "messages" in body:
        if "system" in body:
            segments += _system(body["system"], "system")
        segments += _messages(body["messages"], known)
    elif "input" in body or "instructions" in body:
        segments += _system(body.get("instructions"), "instructions")
        segments += _input(body.get("input"))
    elif "prompt" in body:
        segments += _prompt(body["prompt"])
    else:
        raise MalformedRequestError(
            "$",
            "none of messages, input or prompt is present",
            remedy="Send a chat, responses or completion body.",
        )
    mark = body.get("cache_control")  # at the top of a body it stands for the last block
    return _with_breakpoint(segments, mark if mark is not None and isinstance(mark, Mapping) else None)


def chain_hashes(segments: Sequence[Segment]) -> tuple[bytes, ...]:
    """Return one 16-byte digest for each segment, each covering all segments up to it.

    Two requests share their first n segments exactly when their n-th digests are equal. Marks are left out.
    """
    digests: list[bytes] = []
    previous = b""
    for segment in segments:
        text = segment.text.encode("utf-8", "surrogatepass")
        label = f"{segment.place}\0{segment.extra}\0{len(text)}\0".encode("utf-8", "surrogatepass")
        previous = blake2b(previous + label + text, digest_size=16).digest()
        digests.append(previous)
    return tuple(digests)


def newest_turn_start(segments: Sequence[Segment]) -> int:
    """Return the index of the first segment of the newest turn.

    That is the last user message with everything behind it, or the run of tool results that ends the
    request. Nothing can be cached of it yet, so a difference there is no fault.
    """
    start = len(segments)
    while start and segments[start - 1].kind == "message" and segments[start - 1].role == "assistant":
        start = _message_start(segments, start - 1)
    while start and segments[start - 1].kind == "message":
        role = segments[start - 1].role
        if role in _INSTRUCTING_ROLES and not _has_user(segments[:start]):
            break
        if role == "assistant":
            break
        start = _message_start(segments, start - 1)
        if role not in _RESULT_ROLES and role not in _INSTRUCTING_ROLES:
            break
    return start


# --- tools and system -------------------------------------------------------------------------------


def _tools(tools: object) -> list[Segment]:
    segments = []
    for index, tool in enumerate(expect_list(tools, "tools")):
        path = f"tools[{index}]"
        content, mark = without_breakpoint(expect_object(tool, path))
        segments.append(Segment(path, "tool", "", compact_json(content), mark))
    return segments


def _system(system: object, path: str) -> list[Segment]:
    if isinstance(system, str):
        return [Segment(path, "system", "system", system)]
    segments = []
    for index, block in enumerate(expect_list(system, path)):
        text, mark = _block(block, f"{path}[{index}]")
        segments.append(Segment(f"{path}[{index}]", "system", "system", text, mark))
    return segments


# --- messages ---------------------------------------------------------------------------------------


def _messages(messages: object, known: KnownMessages[Segment] | None) -> list[Segment]:
    segments: list[Segment] = []
    for index, message in enumerate(expect_list(messages, "messages", required=True)):
        if known is not None and _is_plain(message):
            segments.append(_recalled(message["role"], message["content"], index, known))
        else:
            segments += _message(expect_object(message, f"messages[{index}]"), f"messages[{index}]", index)
    return segments


def _is_plain(message: object) -> TypeGuard[Mapping[str, str]]:
    """Whether a message has a role and a text, and nothing else."""
    if type(message) is not dict or len(message) != 2:
        return False
    return type(message.get("content")) is str and type(role := message.get("role")) is str and bool(role)


def _recalled(role: str, content: str, index: int, known: KnownMessages[Segment]) -> Segment:
    found = known.find(index, role, content)
    if found is None:
        found = Segment(f"messages[{index}]", "message", role, f"{role}\n{content}", None, index)
        known.keep(index, role, content, found)
    return found


def _message(message: Mapping[str, Any], path: str, index: int) -> list[Segment]:
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise MalformedRequestError(f"{path}.role", f"expected a role, found {name_of(role)}")
    extra = _extra(message)
    content = message.get("content")
    segments: list[Segment] = []
    if isinstance(content, str):
        segments.append(
            Segment(path, "message", role, f"{role}\n{content}", breakpoint_of(message), index, extra)
        )
    elif content is not None:
        segments = _content(content, path, role, index, extra)
        segments = list(_with_breakpoint(segments, breakpoint_of(message)))
    calls = message.get("tool_calls")
    for number, call in enumerate(expect_list(calls, f"{path}.tool_calls") if calls else ()):
        text = f"{role}\n{compact_json(call)}"
        segments.append(Segment(f"{path}.tool_calls[{number}]", "message", role, text, None, index, extra))
    return segments or [Segment(path, "message", role, f"{role}\n", breakpoint_of(message), index, extra)]


def _content(content: object, path: str, role: str, index: int, extra: str) -> list[Segment]:
    segments = []
    for number, block in enumerate(expect_list(content, f"{path}.content")):
        place = f"{path}.content[{number}]"
        text, mark = _block(block, place)
        segments.append(Segment(place, "message", role, f"{role}\n{text}", mark, index, extra))
    return segments


def _block(block: object, path: str) -> tuple[str, Mapping[str, Any] | None]:
    """Return the text of one content block and the mark on it."""
    if isinstance(block, str):
        return block, None
    block = expect_object(block, path)
    kind = block.get("type", "text")
    if isinstance(kind, str) and kind in _TEXT_TYPES:
        text = block.get("text")
        if not isinstance(text, str):
            raise MalformedRequestError(f"{path}.text", f"expected a string, found {name_of(text)}")
        return text, breakpoint_of(block)
    content, mark = without_breakpoint(block)
    return compact_json(content), mark


def _extra(message: Mapping[str, Any]) -> str:
    if message.keys() <= _MESSAGE_META:
        return ""
    others = {key: value for key, value in message.items() if key not in _MESSAGE_META and value is not None}
    return compact_json(others) if others else ""


# --- responses and completions ------------------------------------------------------------------------


def _input(items: object) -> list[Segment]:
    if isinstance(items, str):
        return [Segment("input", "message", "user", f"user\n{items}", None, 0)]
    segments: list[Segment] = []
    for index, item in enumerate(expect_list(items, "input")):
        path = f"input[{index}]"
        if expect_object(item, path).get("type", "message") == "message":
            segments += _message(item, path, index)
        else:
            segments.append(_item(item, path, index))
    return segments


def _item(item: Mapping[str, Any], path: str, index: int) -> Segment:
    """A responses item that is no message: a call, its output, reasoning, a reference."""
    role = "tool" if str(item.get("type")).endswith("_output") else "assistant"
    content, mark = without_breakpoint(item)
    return Segment(path, "message", role, f"{role}\n{compact_json(content)}", mark, index)


def _prompt(prompt: object) -> list[Segment]:
    """A completion's prompt: text, token ids, or a batch of either, whose entries are cut in order."""
    if isinstance(prompt, str):
        return [Segment("prompt", "message", "", prompt, None, 0)]
    entries = expect_list(prompt, "prompt", required=True)
    if entries and all(isinstance(entry, int) for entry in entries):
        return [Segment("prompt", "message", "", _token_text(entries), None, 0)]
    segments = []
    for index, entry in enumerate(entries):
        path = f"prompt[{index}]"
        text = entry if isinstance(entry, str) else _token_text(expect_list(entry, path, required=True))
        segments.append(Segment(path, "message", "", text, None, index))
    return segments


def _token_text(tokens: Sequence[object]) -> str:
    """Token ids with a comma behind each, so that a longer list of tokens is a longer text."""
    return "".join(f"{token}," for token in tokens)


# --- the whole ---


def _with_breakpoint(segments: list[Segment], mark: Mapping[str, Any] | None) -> tuple[Segment, ...]:
    """Put ``mark`` on the last segment, unless one stands there already."""
    if mark is not None and segments and segments[-1].breakpoint is None:
        segments = [*segments[:-1], replace(segments[-1], breakpoint=mark)]
    return tuple(segments)


def _message_start(segments: Sequence[Segment], index: int) -> int:
    message = segments[index].message
    while index and segments[index - 1].kind == "message" and segments[index - 1].message == message:
        index -= 1
    return index


def _has_user(segments: Sequence[Segment]) -> bool:
    return any(segment.kind == "message" and segment.role not in _INSTRUCTING_ROLES for segment in segments)
