"""Puts ``cache_control`` on prefixes that have proved to repeat: the longest, the instructions', the tools'.

The caller's marks come first and stay as they are; there are never more than four in all. A place is left
alone where the prefix was not seen often enough with the same bytes, where instructions change from request
to request, where the model would not cache so short a prefix, and where the API takes no mark; each is
reported. A text that stands bare (``"system": "…"``) becomes a list of that one text: only a block can carry
a mark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from promptcache.breakpoints import breakpoints_in
from promptcache.providers import LOOKBACK_BLOCKS, MARK_TTL_S, MAX_BREAKPOINTS, find_model
from promptcache_gateway.exchange import Change
from promptcache_gateway.mutations.sightings import with_alike_keys
from promptcache_gateway.observe.own_marks import HELD_BACK, MARKING, own_marks
from promptcache_gateway.observe.prompt import marked_segments
from promptcache_gateway.upstreams.splice import value_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from promptcache.breakpoints import Breakpoint
    from promptcache.segments import Segment
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.mutations.sightings import Sightings
    from promptcache_gateway.observe.observation import Sight
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry
    from promptcache_gateway.upstreams.splice import Path

NAME = "breakpoints"
_DIALECT = "anthropic.messages"
_BYTES_A_TOKEN = 4.0  # of English; where an earlier request was counted, its own ratio is taken
_UNMARKED = ("thinking", "redacted_thinking")
_STEP = re.compile(r"([a-z_]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class _Place:
    """A segment that may carry a mark: its path as people read it, and where its value stands."""

    path: str
    at: Path
    bare: bool


def mark_prefixes(call: Call, sight: Sight, sightings: Sightings, ttl: str) -> tuple[Call, Prompt | None]:
    """The call with marks on proven prefixes, and with what was done and left; the request is noted."""
    prompt = sight.prompt
    if prompt is None:
        return _left(call, "the request has no known shape"), None
    route = (call.tenant, call.upstream, call.model)
    lifetime = float(MARK_TTL_S[ttl])
    seen = with_alike_keys(prompt)
    proved = sightings.proved(route, seen, call.received_at, lifetime)
    steady = sightings.steady(route, seen)
    sightings.note(route, seen, call.received_at)
    if not call.use_cache:
        return _left(call, "the caller opted out of the cache"), prompt
    if (unknown := _unknown_model(call.model)) is not None:
        return _left(call, unknown), prompt
    skipped: list[tuple[str, str]] = []
    callers = breakpoints_in(call.payload)
    own = {MARKING} if _may_mark_history(callers, prompt, ttl) else set()
    if steady < min(prompt.head, proved + 1):
        skipped.append((prompt.segments[steady].path, "its bytes change from request to request"))
        own.add(HELD_BACK)
    elif not proved:
        skipped.append((NAME, "no prefix of it was seen often enough with the same bytes"))
    reach = min(proved, steady)
    entry = sightings.marked(route, seen, reach, call.received_at, lifetime)
    places = _choose(call, sight, _ends(prompt, reach, entry), ttl, skipped, callers=callers)
    sightings.note_marks(route, seen, places, call.received_at)
    body = _marked(call.body, list(places.values()), ttl)
    done = tuple(place.path for _, place in sorted(places.items()))
    change = Change(NAME, done, tuple(skipped))
    marked = _with_marks(prompt, places, ttl, own)
    return replace(call, body=body, changes=(*call.changes, change)), marked


def note_theirs(tenant: str, entry: Entry, sightings: Sightings) -> None:
    """Note a request that another worker has sent, and its marks; not one in which it had none to set."""
    prompt = entry.prompt
    places = own_marks(prompt)
    if not places and {MARKING, HELD_BACK}.isdisjoint(prompt.own):
        return
    route, seen = (tenant, entry.upstream, entry.model), with_alike_keys(prompt)
    sightings.note(route, seen, entry.received_at)
    sightings.note_marks(route, seen, [at + 1 for at in places], entry.received_at)


def _left(call: Call, reason: str) -> Call:
    return replace(call, changes=(*call.changes, Change(NAME, skipped=((NAME, reason),))))


def _may_mark_history(callers: Sequence[Breakpoint], prompt: Prompt, ttl: str) -> bool:
    """Whether a mark may stand at the end of the history, beside the caller's own."""
    depth = max(prompt.turn, 1)
    return len(callers) < MAX_BREAKPOINTS and _out_of_order(callers, prompt.segments, depth, ttl) is None


def _with_marks(prompt: Prompt, places: Mapping[int, _Place], ttl: str, own: Iterable[str]) -> Prompt:
    """The prompt as the upstream sees it; ``own``: what else is to be known of the gateway's doing."""
    segments = list(prompt.segments)
    for depth in places:
        segments[depth - 1] = replace(segments[depth - 1], breakpoint=_mark_of(ttl))
    return replace(
        prompt,
        segments=tuple(segments),
        marks=marked_segments(segments),
        own=prompt.own.union(own, [place.path for place in places.values()]),
    )


def _mark_of(ttl: str) -> dict[str, str]:
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}


def _unknown_model(model: str) -> str | None:
    facts = find_model(model)
    if facts is not None and facts.control in {"automatic", "both"}:
        return "this model caches without marks"
    if facts is None or facts.control is None or facts.min_tokens is None:
        return "the least that this model caches is not known"
    return None


def _choose(
    call: Call,
    sight: Sight,
    ends: Sequence[int],
    ttl: str,
    skipped: list[tuple[str, str]],
    *,
    callers: Sequence[Breakpoint],
) -> dict[int, _Place]:
    """The places to mark by how many segments they end, of those wanted."""
    prompt = sight.prompt
    assert prompt is not None, "its shape is known"
    room = MAX_BREAKPOINTS - len(callers)
    facts = find_model(call.model)
    least = facts.min_tokens or 0 if facts is not None else 0
    chosen: dict[int, _Place] = {}
    for wanted in ends:
        found = _markable(call.payload, prompt.segments, wanted)
        if found is None or found[0] in chosen:
            continue
        depth, place = found
        reason = (
            _already(prompt.segments[depth - 1], call.payload, place)
            or _too_short(sight, prompt, depth, least)
            or _out_of_order(callers, prompt.segments, depth, ttl)
            or (f"the caller's own {len(callers)} leave no room" if len(chosen) >= room else None)
        )
        if reason is not None:
            skipped.append((place.path, reason))
        else:
            chosen[depth] = place
    return chosen


def _ends(prompt: Prompt, reach: int, entry: int) -> list[int]:
    """Where marks are worth most, in that order: the longest prefix, the instructions, the tools.

    Args:
        prompt: the request, cut.
        reach: segments that are proven and steady.
        entry: segments that end where a mark was put of late. What a mark at the end of the longest prefix
            would not find, since the API looks back so many blocks and no further, is marked again.
    """
    tools = sum(segment.kind == "tool" for segment in prompt.segments)
    far = [entry] if reach - entry >= LOOKBACK_BLOCKS else []
    return [depth for depth in dict.fromkeys((reach, *far, prompt.head, tools)) if 0 < depth <= reach]


def _markable(
    payload: Mapping[str, Any], segments: Sequence[Segment], depth: int
) -> tuple[int, _Place] | None:
    """The last segment of a prefix that takes a mark: no thought, no empty text, no tool loaded later."""
    for end in range(depth, 0, -1):
        segment = segments[end - 1]
        at = path_of(segment.path)
        value = _value(payload, at)
        if isinstance(value, dict) and "content" in value and len(at) == 2:
            at, value = (*at, "content"), value["content"]  # a message whose content is a bare text
        if isinstance(value, str) and value:
            return end, _Place(segment.path, at, bare=True)
        if isinstance(value, dict) and _takes_mark(value):
            return end, _Place(segment.path, at, bare=False)
    return None


def _takes_mark(block: Mapping[str, Any]) -> bool:
    deferred = block.get("defer_loading") is True  # the API refuses a mark on a tool that it may never load
    return block.get("type") not in _UNMARKED and block.get("text") != "" and not deferred


def path_of(text: str) -> Path:
    """A segment's path as steps.

    >>> path_of("messages[2].content[0]")
    ('messages', 2, 'content', 0)
    """
    return tuple(name or int(index) for name, index in _STEP.findall(text))


def _value(payload: Mapping[str, Any], at: Path) -> Any:
    value: Any = payload
    for step in at:
        value = value[step]
    return value


def _already(segment: Segment, payload: Mapping[str, Any], place: _Place) -> str | None:
    if segment.breakpoint is not None:
        return "the caller marked it"
    value = _value(payload, place.at)
    return "the caller wrote cache_control there" if not place.bare and "cache_control" in value else None


def _too_short(sight: Sight, prompt: Prompt, depth: int, least: int) -> str | None:
    earlier = None if sight.match is None else sight.match.predecessor
    ratio = 1 / _BYTES_A_TOKEN
    if earlier is not None and earlier.prompt_tokens:
        ratio = earlier.prompt_tokens / earlier.prompt.total_bytes
    tokens = round(prompt.offsets[depth] * ratio)
    return f"about {tokens} tokens, fewer than the {least} that the model caches" if tokens < least else None


def _out_of_order(own: Sequence[Breakpoint], segments: Sequence[Segment], depth: int, ttl: str) -> str | None:
    """Longer lifetimes must come first: ours may stand neither before a longer one nor behind a shorter."""
    places = {segment.path: index for index, segment in enumerate(segments)}
    for mark in own:
        seconds = MARK_TTL_S.get(mark.ttl)
        if seconds is None:
            return "the caller's lifetimes are not known"
        before = places.get(mark.path, len(segments)) < depth - 1
        if (before and seconds < MARK_TTL_S[ttl]) or (not before and seconds > MARK_TTL_S[ttl]):
            return f"a {ttl} mark may not stand there beside the caller's {mark.ttl} mark at {mark.path}"
    return None


def _marked(body: bytes, places: Sequence[_Place], ttl: str) -> bytes:
    """The body with a mark at each place, whichever stands first; no other byte changes."""
    mark = b'"cache_control":' + orjson.dumps(_mark_of(ttl))
    spans = zip(value_spans(body, [place.at for place in places]), places, strict=True)
    for (begin, end), place in sorted(spans, key=_beginning, reverse=True):
        value = body[begin:end]
        body = body[:begin] + _carrying(value, mark, bare=place.bare) + body[end:]
    return body


def _beginning(found: tuple[tuple[int, int], _Place]) -> int:
    """From the back: what stands in front is not moved by what is put in behind it."""
    return found[0][0]


def _carrying(value: bytes, mark: bytes, *, bare: bool) -> bytes:
    if bare:
        return b'[{"type":"text","text":%s,%s}]' % (value, mark)
    inner = value[:-1].rstrip(b" \t\r\n")
    comma = b"" if inner == b"{" else b","
    return inner + comma + mark + value[len(inner) :]
