"""Makes one of the two shapes that a provider reads as one: a text, and a list of nothing but that text.

Whoever moves a ``cache_control`` mark along a conversation turns ``"text"`` into ``[{"type": "text", ...}]``
and back again, and Anthropic's cache does not notice: a message's, the instructions' and a tool result's (its
documentation calls a string short for a list with one text). With one place and one text for both, nothing
differs, and everything else is explained as it is elsewhere. Other providers' messages stay as they came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.providers import find_model
from promptcache.quick_values import changed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache.segments import Segment

_RESULT = '"type":"tool_result"'
_WRAPPINGS = (
    ('"content":[{"type":"text","text":', "}]"),
    ('"content":[{"text":', ',"type":"text"}]'),
)


def read_alike(body: Mapping[str, Any], segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """The segments of a request; where its provider reads both shapes alike, all are of one."""
    model = body.get("model")
    facts = find_model(model) if isinstance(model, str) else None
    if facts is None or facts.provider != "anthropic":
        return segments
    return tuple([_settled(segment) for segment in segments])


def _settled(segment: Segment) -> Segment:
    path = segment.path
    if path == "system":
        return changed(segment, seat="system[0]")
    if segment.kind != "message":
        return segment
    if ".content[" in path:
        return _unwrapped(segment) if _RESULT in segment.text else segment
    plain = path.startswith("messages[") and path.index("]") == len(path) - 1
    return changed(segment, seat=f"{path}.content[0]") if plain else segment


def _unwrapped(segment: Segment) -> Segment:
    """A tool's result with its one text as a string."""
    text = segment.text
    if not text.startswith("{", segment.head):
        return segment
    for opening, closing in _WRAPPINGS:
        start, end = text.find(opening), text.rfind(closing)
        told = text[start + len(opening) : end] if 0 <= start < end else ""
        if _is_one_string(told):
            return changed(segment, text=f'{text[:start]}"content":{told}{text[end + len(closing) :]}')
    return segment


def _is_one_string(told: str) -> bool:
    """Whether a piece of JSON is one string: no quote in it but the outer ones, escaped ones aside."""
    if len(told) < 2 or told[0] != '"' or told[-1] != '"':
        return False
    inner = told[1:-1].replace("\\\\", "")
    return not inner.endswith("\\") and '"' not in inner.replace('\\"', "")
