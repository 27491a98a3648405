"""Where the breakpoints of a request go, each on a block that will come back.

Anthropic takes four. In this order, as far as there is room: the end of the system prompt (which covers the
tools), the newest block, the end of what the previous request sent (so that its entry is found however many
blocks the last turn added: a provider looks back only some twenty), and the end of the tools (which other
system prompts may share). The caller's own marks count first. Longer lifetimes stand before shorter ones.
What is surely shorter than a model caches gets no mark. OpenAI takes one at the end of the static part, where
the model knows explicit breakpoints. Nothing is assumed of a model that is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from promptcache.breakpoints import breakpoints_in
from promptcache.errors import ConversationError
from promptcache.providers import LOOKBACK_BLOCKS, MARK_TTL_S, MAX_BREAKPOINTS, find_model
from promptcache.segments import cut_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from promptcache.breakpoints import Breakpoint as OwnMark

__all__ = ["Breakpoint", "BreakpointPlan", "SkippedBreakpoint"]

_UNMARKABLE: Final = frozenset({"thinking", "redacted_thinking"})
_SHORT: Final = "5m"
_FEWEST_CHARS_PER_TOKEN: Final = 2.5
"""The densest text there is; below it a prefix is surely too short."""


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Where a cacheable prefix ends: ``path`` in the body, ``reason``, and lifetime.

    ``reason`` is one of "tools", "system", "history" (the end of the previous request) and "tail".
    """

    path: str
    reason: str
    ttl: str = _SHORT


@dataclass(frozen=True, slots=True)
class SkippedBreakpoint:
    """A breakpoint that would have been of use: the cause it leads to, and why it is not there."""

    path: str
    reason: str
    code: str
    why: str


@dataclass(frozen=True, slots=True)
class BreakpointPlan:
    """The breakpoints of a request: ``points`` are ours, ``own`` the caller's, ``skipped`` are left out."""

    points: tuple[Breakpoint, ...] = ()
    own: tuple[OwnMark, ...] = ()
    skipped: tuple[SkippedBreakpoint, ...] = ()


def plan(body: Mapping[str, Any], model: str | None = None, static_ttl: str | None = None) -> BreakpointPlan:
    """Return the plan for an Anthropic body without marks of ours, in the order of the request.

    Raises `ConversationError` for a lifetime that the model does not offer.
    """
    facts = find_model(model) if model else None
    _check_ttl(static_ttl, facts.ttl_s if facts else (), model)
    own = breakpoints_in(body)
    marked = {mark.path for mark in own}
    free = MAX_BREAKPOINTS - len(own)
    short = _surely_short(body, facts.min_tokens if facts else None)
    chosen: list[Breakpoint] = []
    skipped: list[SkippedBreakpoint] = []
    for point in [*_end("system", body), *_tail(body), *_history(body), *_end("tools", body)]:
        if point.path in marked:
            continue
        if point.path in short:
            why = f"{model} caches nothing below {facts.min_tokens if facts else 0} tokens"
            skipped.append(SkippedBreakpoint(point.path, point.reason, "PC604", why))
        elif len(chosen) < free:
            chosen.append(point)
            marked.add(point.path)
        else:
            skipped.append(_without_room(point, body))
    places = {path: place for place, path in enumerate(_paths(body))}
    ordered = sorted(chosen, key=lambda point: places[point.path])
    points = tuple(_with_ttl(point, own, places, static_ttl) for point in ordered)
    return BreakpointPlan(points, own, tuple(skipped))


def apply(body: Mapping[str, Any], points: Sequence[Breakpoint]) -> None:
    """Set ``cache_control`` on the blocks of ``body``."""
    for point in points:
        mark = {"type": "ephemeral"} if point.ttl == _SHORT else {"type": "ephemeral", "ttl": point.ttl}
        block_at(body, point.path)["cache_control"] = mark


def mark_static_end(part: dict[str, Any], model: str) -> None:
    """Set OpenAI's explicit breakpoint on the ``part`` with the system prompt, unless it is surely short."""
    facts = find_model(model)
    least = facts.min_tokens if facts else None
    if least is None or len(part["text"]) / _FEWEST_CHARS_PER_TOKEN >= least:
        part["prompt_cache_breakpoint"] = {"mode": "explicit"}


def takes_static_mark(model: str) -> bool:
    """Tell whether a model takes explicit breakpoints beside its own automatic one."""
    facts = find_model(model)
    return facts is not None and facts.control == "both"


def block_at(body: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the block a path of ours names (``system[0]``, ``messages[2].content[1]``)."""
    found: Any = body
    for step in path.replace("]", "").replace("[", ".").split("."):
        found = found[int(step)] if step.isdigit() else found[step]
    block: dict[str, Any] = found
    return block


def _check_ttl(ttl: str | None, offered: Sequence[int], model: str | None) -> None:
    if ttl is not None and (ttl not in MARK_TTL_S or (offered and MARK_TTL_S[ttl] not in offered)):
        names = [name for name, seconds in MARK_TTL_S.items() if not offered or seconds in offered]
        who = model or "A provider"
        raise ConversationError(
            f"{who} offers no lifetime {ttl!r}.", remedy=f"Use one of {', '.join(names)}."
        )


def _with_ttl(
    point: Breakpoint, own: Sequence[OwnMark], places: Mapping[str, int], static_ttl: str | None
) -> Breakpoint:
    """Give a point its lifetime: at least that of the caller's marks behind it, at most of those before."""
    wanted = static_ttl if static_ttl and point.reason in {"tools", "system"} else _SHORT
    here = places[point.path]
    behind = [mark.ttl for mark in own if places.get(mark.path, len(places)) > here]
    before = [mark.ttl for mark in own if places.get(mark.path, len(places)) < here]
    longest = max([wanted, *behind], key=_seconds)
    return replace(point, ttl=min([longest, *before], key=_seconds))


def _seconds(ttl: str) -> int:
    return MARK_TTL_S.get(ttl, 0)


def _without_room(point: Breakpoint, body: Mapping[str, Any]) -> SkippedBreakpoint:
    why = f"all {MAX_BREAKPOINTS} breakpoints are taken"
    if point.reason != "history":
        return SkippedBreakpoint(point.path, point.reason, "PC603", why)
    paths = list(_paths(body))
    far = len(paths) - 1 - paths.index(point.path) >= LOOKBACK_BLOCKS
    return SkippedBreakpoint(point.path, point.reason, "PC605" if far else "PC603", why)


def _surely_short(body: Mapping[str, Any], least: int | None) -> set[str]:
    """Return the paths of all blocks where the prefix is surely below ``least`` tokens."""
    if least is None:
        return set()
    chars, short = 0, set()
    for segment in cut_request(body):
        chars += len(segment.text)
        if chars / _FEWEST_CHARS_PER_TOKEN < least:
            short.add(segment.path)
    return short


def _paths(body: Mapping[str, Any]) -> Iterator[str]:
    for field in ("tools", "system"):
        yield from (f"{field}[{index}]" for index in range(len(body.get(field) or ())))
    for index, message in enumerate(body["messages"]):
        yield from (f"messages[{index}].content[{place}]" for place in range(len(message["content"])))


def _end(name: str, body: Mapping[str, Any]) -> list[Breakpoint]:
    return [Breakpoint(f"{name}[{len(body[name]) - 1}]", name)] if body.get(name) else []


def _tail(body: Mapping[str, Any]) -> list[Breakpoint]:
    return _last_block(body, len(body["messages"]), "tail")


def _history(body: Mapping[str, Any]) -> list[Breakpoint]:
    messages = body["messages"]
    answers = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    return _last_block(body, answers[-1], "history") if answers else []


def _last_block(body: Mapping[str, Any], before: int, reason: str) -> list[Breakpoint]:
    for index in range(before - 1, -1, -1):
        content = body["messages"][index]["content"]
        for place in range(len(content) - 1, -1, -1):
            if _can_be_marked(content[place]):
                return [Breakpoint(f"messages[{index}].content[{place}]", reason)]
    return []


def _can_be_marked(block: Mapping[str, Any]) -> bool:
    return block["type"] not in _UNMARKABLE and block.get("text") != ""
