"""Put a member into a JSON body, or take one out, without touching any other byte.

The body is never decoded and encoded again: a prefix cache matches bytes, and so do the callers'
own tests. This module knows JSON's outer structure and nothing about prompts.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]', re.DOTALL)
_NESTED = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)
"""What tells where a value ends; commas and colons in it do not."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = b" \t\r\n"
_OPTIONS = b'{"include_usage":true}'

Path = tuple[str | int, ...]
"""Names of members and indexes of elements, from the outside in."""


def add_include_usage(body: bytes, payload: Mapping[str, Any]) -> bytes | None:
    """Ask for the usage of a stream where the caller said nothing about it.

    Args:
        body: the request's JSON object.
        payload: the same, decoded.

    Returns:
        The body with the member added, or None where there is nothing to add: the caller
        said true or false, or wrote something that is not an object, which the upstream
        may judge.
    """
    if not lacks_include_usage(payload):
        return None
    options = payload.get("stream_options")
    if options is None:
        return _set_member(body, 0, "stream_options", _OPTIONS, present="stream_options" in payload)
    start, _ = _last_member(body, 0, "stream_options")
    return _set_member(body, start, "include_usage", b"true", present="include_usage" in options)


def lacks_include_usage(payload: Mapping[str, Any]) -> bool:
    """Whether the caller said nothing about a stream's usage."""
    options = payload.get("stream_options")
    return options is None or (isinstance(options, dict) and options.get("include_usage") is None)


def set_model(body: bytes, payload: Mapping[str, Any], model: str) -> bytes:
    """The body with another ``model``; every other byte is the caller's.

    Args:
        body: the request's JSON object.
        payload: the same, decoded.
        model: the name to put there.
    """
    return _set_member(body, 0, "model", orjson.dumps(model), present="model" in payload)


def set_cache_salt(body: bytes, payload: Mapping[str, Any], salt: str) -> bytes:
    """The body with the gateway's ``cache_salt``, whatever the caller wrote there."""
    return _set_member(body, 0, "cache_salt", orjson.dumps(salt), present="cache_salt" in payload)


def set_member(body: bytes, path: tuple[str, ...], value: bytes) -> bytes:
    """The body with the member at ``path`` given a JSON value; every object on the way must be there."""
    start = 0
    for name in path[:-1]:
        start, _ = _last_member(body, start, name)
    present = any(name == path[-1] for name, _ in _members(body, start))
    return _set_member(body, start, path[-1], value, present=present)


def has_member(body: bytes, name: str) -> bool:
    """Whether the body's object has a member called ``name``."""
    return bool(_called(body, name))


def some_members(body: bytes, names: frozenset[str]) -> dict[str, bytes]:
    """The bytes of the values of those members that have one of some names; the last of each counts."""
    return {name: body[begin:end] for name, (begin, end) in _members(body, 0) if name in names}


def member_value(body: bytes, name: str) -> bytes:
    """The bytes of the value of the last member called ``name``, as they are; it must be there."""
    begin, end = _last_member(body, 0, name)
    return body[begin:end]


def value_span(body: bytes, path: Path) -> tuple[int, int]:
    """Where the value at ``path`` (names and indexes) begins and ends; all on the way must be there."""
    return value_spans(body, (path,))[0]


def value_spans(body: bytes, paths: Sequence[Path]) -> list[tuple[int, int]]:
    """Where the values at some paths begin and end; each object and list on the way is read once."""
    known: dict[Path, tuple[int, int]] = {(): (0, len(body))}
    for path in paths:
        for depth, step in enumerate(path):
            if path[: depth + 1] not in known:
                start, _ = known[path[:depth]]
                inside = _members(body, start) if isinstance(step, str) else enumerate(_elements(body, start))
                known.update({(*path[:depth], name): span for name, span in inside})
    return [known[path] for path in paths]


def remove_member(body: bytes, path: tuple[str, ...]) -> bytes:
    """The body without the members at ``path``, and a comma less for each; no other byte changes."""
    start = 0
    for name in path[:-1]:
        start, _ = _last_member(body, start, name)
    return _cut_out(body, _cuts(body, start, path[-1]))


def remove_from_each(body: bytes, name: str, inner: str) -> bytes:
    """The body without members ``inner`` of all objects called ``name``, be it several.

    Where no ``name`` holds anything then, all of them go. Were only the last to go, an earlier one would be
    read in its place.
    """
    objects = [begin for begin, _ in _called(body, name) if body[begin : begin + 1] == b"{"]
    cuts = [cut for begin in objects for cut in _cuts(body, begin, inner)]
    if not cuts:
        return body
    body = _cut_out(body, cuts)
    if all(_is_empty(body[begin:end]) for begin, end in _called(body, name)):
        return _cut_out(body, _cuts(body, 0, name))
    return body


def _called(body: bytes, name: str) -> list[tuple[int, int]]:
    """The spans of the values of all members called ``name``."""
    return [span for found, span in _members(body, 0) if found == name]


def _is_empty(value: bytes) -> bool:
    return value[:1] == b"{" and not value[1:-1].strip(_SPACE)


def _cuts(body: bytes, start: int, unwanted: str) -> list[tuple[int, int]]:
    """What must go for the object at ``start`` to have no member ``unwanted``: each with one comma."""
    spans = list(_member_spans(body, start))
    cuts, leading = list[tuple[int, int]](), True
    for index, (name, key, value_end) in enumerate(spans):
        if name != unwanted:
            leading = False
        elif leading:  # with the comma behind it
            cuts.append((key, spans[index + 1][1] if index + 1 < len(spans) else value_end))
        else:  # with the comma before it
            cuts.append((spans[index - 1][2], value_end))
    return cuts


def _cut_out(body: bytes, cuts: list[tuple[int, int]]) -> bytes:
    ends = [0, *(end for _, end in cuts)]
    begins = [*(begin for begin, _ in cuts), len(body)]
    return b"".join(body[end:begin] for end, begin in zip(ends, begins, strict=True))


def _member_spans(body: bytes, start: int) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each member of the object at ``start``, and where it begins and ends."""
    begin = body.index(b"{", start) + 1
    for name, (_, end) in _members(body, start):
        key = body.index(b'"', begin)
        yield name, key, end
        begin = body.find(b",", end) + 1


def _set_member(body: bytes, start: int, key: str, value: bytes, *, present: bool) -> bytes:
    """Give member ``key`` of the object at ``start`` a value: replace its null, or append it."""
    if present:
        begin, end = _last_member(body, start, key)
        return body[:begin] + value + body[end:]
    closing, empty = _object_end(body, start)
    member = b'"%s":%s' % (key.encode(), value)
    return body[:closing] + (b"" if empty else b",") + member + body[closing:]


def _object_end(body: bytes, start: int) -> tuple[int, bool]:
    """Where the members of the object at ``start`` end (before trailing space), and if it has none."""
    closing = body.rindex(b"}") if start == 0 else _matching_brace(body, start)
    end = len(body[:closing].rstrip(_SPACE))
    return end, body[end - 1 : end] == b"{"


def _matching_brace(body: bytes, start: int) -> int:
    """Where the object or list that begins at ``start``, or behind space there, ends."""
    depth = 0
    for token in _NESTED.finditer(body, start):
        depth += _depth_change(token[0])
        if depth == 0:
            return token.start()
    raise ValueError("the object does not end")


def _last_member(body: bytes, start: int, key: str) -> tuple[int, int]:
    """Span of the value of the last member called ``key`` in the object at ``start``.

    Parsers let the last of duplicate members win, so that is the one to change.
    """
    return [span for name, span in _members(body, start) if name == key][-1]


def _members(body: bytes, start: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the name and the value's span of each member of the object at ``start``."""
    name: str | None = None
    last_string = b'""'
    begin = at = body.index(b"{", start) + 1
    while token := _TOKEN.search(body, at):
        text, at = token[0], token.end()
        if text in {b"{", b"["}:
            at = _matching_brace(body, token.start()) + 1
        elif text == b":":
            name, begin = _decoded(last_string), at
        elif text.startswith(b'"'):
            last_string = text
        else:
            if name is not None:
                yield name, _trimmed(body, begin, token.start())
            if text == b"}":
                return
            name = None


def _decoded(name: bytes) -> str:
    """A member's name; half of a surrogate pair in it reads as U+FFFD, as it does in the decoded body."""
    try:
        return str(orjson.loads(name))
    except orjson.JSONDecodeError:
        return _LONE_SURROGATE.sub("\ufffd", json.loads(name))


def _elements(body: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Yield the span of each element of the list at ``start``, which is not empty."""
    begin = at = start + 1
    while token := _TOKEN.search(body, at):
        text, at = token[0], token.end()
        if text in {b"{", b"["}:
            at = _matching_brace(body, token.start()) + 1
        elif text in {b",", b"]"}:
            yield _trimmed(body, begin, token.start())
            begin = at
            if text == b"]":
                return


def _trimmed(body: bytes, begin: int, end: int) -> tuple[int, int]:
    while begin < end and body[begin] in _SPACE:
        begin += 1
    while end > begin and body[end - 1] in _SPACE:
        end -= 1
    return begin, end


def _depth_change(token: bytes) -> int:
    if token in {b"{", b"["}:
        return 1
    return -1 if token in {b"}", b"]"} else 0
