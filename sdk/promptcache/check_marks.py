"""Breakpoints a provider refuses: too many, of a form or lifetime it does not know, or on the wrong block.

Lifetimes in the wrong order and more marks than anyone takes are faults for every model; the other rules
speak only where the model, and with it the provider, is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from promptcache.check_finding import CheckFinding
from promptcache.providers import MARK_TTL_S, MAX_BREAKPOINTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptcache.breakpoints import Breakpoint
    from promptcache.providers import ModelFacts

__all__ = ["invalid_marks"]

_EXPLICIT: Final = "prompt_cache_breakpoint"
_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
_UNMARKED_ROLES: Final = frozenset({"assistant", "tool", "function"})
_UNMARKED_ITEMS: Final = frozenset({"function_call", "function_call_output", "reasoning", "output_text"})
_CHAT_TTL: Final = "30m"


def invalid_marks(
    body: Mapping[str, Any], marks: Sequence[Breakpoint], facts: ModelFacts | None
) -> Iterator[CheckFinding]:
    """Yield a PC603 of severity error for each mark, or set of marks, that would be refused."""
    yield from _count(body, marks, facts)
    yield from _lifetimes(marks)
    if facts is None:
        return
    for mark in marks:
        problem = _form(mark, facts) or _place(mark) or _lifetime(mark, facts)
        if problem:
            yield _refused(mark.path, problem)
    yield from _chat_lifetime(body, facts)


def _refused(path: str, message: str) -> CheckFinding:
    return CheckFinding("PC603", path, message, "error")


def _count(
    body: Mapping[str, Any], marks: Sequence[Breakpoint], facts: ModelFacts | None
) -> Iterator[CheckFinding]:
    most, where = MAX_BREAKPOINTS, "a request may carry"
    if facts is not None and facts.control == "both" and not _is_explicit(body):
        most, where = MAX_BREAKPOINTS - 1, "beside the automatic one a request may carry"
    if len(marks) > most:
        yield _refused(marks[most].path, f"{len(marks)} breakpoints; {where} {most}.")


def _is_explicit(body: Mapping[str, Any]) -> bool:
    options = body.get("prompt_cache_options")
    return isinstance(options, Mapping) and options.get("mode") == "explicit"


def _lifetimes(marks: Sequence[Breakpoint]) -> Iterator[CheckFinding]:
    """Longer lifetimes come first; a lifetime no provider offers is refused."""
    shortest: Breakpoint | None = None
    for mark in marks:
        seconds = MARK_TTL_S.get(mark.ttl)
        if seconds is None:
            yield _refused(
                mark.path, f"lifetime {mark.ttl!r} is unknown; use one of {', '.join(MARK_TTL_S)}."
            )
        elif shortest is not None and seconds > MARK_TTL_S[shortest.ttl] and mark.key == "cache_control":
            message = f"a {mark.ttl} breakpoint stands behind the {shortest.ttl} one at {shortest.path}."
            yield _refused(mark.path, message)
        else:
            shortest = mark


def _form(mark: Breakpoint, facts: ModelFacts) -> str | None:
    if mark.key == _EXPLICIT:
        if facts.control != "both":
            return f"{facts.name} takes no {_EXPLICIT}."
        if mark.mark.get("mode") != "explicit":
            return f"a {_EXPLICIT} has the mode 'explicit', not {mark.mark.get('mode')!r}."
    elif facts.control == "marks" and mark.mark.get("type") != "ephemeral":
        return f"a cache_control is of type 'ephemeral', not {mark.mark.get('type')!r}."
    return None


def _place(mark: Breakpoint) -> str | None:
    kind = mark.part.get("type")
    if mark.key == _EXPLICIT:
        if mark.path.startswith("tools[") or kind in _UNMARKED_ITEMS or mark.role in _UNMARKED_ROLES:
            what = "a tool" if mark.path.startswith("tools[") else f"a part of role {mark.role or kind!r}"
            return f"a {_EXPLICIT} cannot stand on {what}."
    elif kind in _THOUGHTS:
        return f"a cache_control cannot stand on a {kind} block."
    elif kind == "text" and mark.part.get("text") == "":
        return "a cache_control cannot stand on an empty text block."
    return None


def _lifetime(mark: Breakpoint, facts: ModelFacts) -> str | None:
    seconds = MARK_TTL_S.get(mark.ttl)
    if seconds is None or not facts.ttl_s or seconds in facts.ttl_s or "ttl" not in mark.mark:
        return None
    return f"{facts.name} offers no lifetime {mark.ttl!r}; use one of {_offered(facts)}."


def _chat_lifetime(body: Mapping[str, Any], facts: ModelFacts) -> Iterator[CheckFinding]:
    """The chat API takes one lifetime for the whole request, the Responses API any of the model's."""
    options = body.get("prompt_cache_options")
    if facts.control != "both" or not isinstance(options, Mapping) or options.get("ttl") is None:
        return
    ttl = options["ttl"]
    if "messages" in body and ttl != _CHAT_TTL:
        message = f"chat completions take the lifetime {_CHAT_TTL!r} for a request, not {ttl!r}."
        yield _refused("prompt_cache_options.ttl", message)
    elif not isinstance(ttl, str) or MARK_TTL_S.get(ttl) not in facts.ttl_s:
        message = f"{facts.name} offers no lifetime {ttl!r}; use one of {_offered(facts)}."
        yield _refused("prompt_cache_options.ttl", message)


def _offered(facts: ModelFacts) -> str:
    return ", ".join(name for name, seconds in MARK_TTL_S.items() if seconds in facts.ttl_s)
