"""What runs that wait beside each other append to something outside: it comes in the order they finish in.

Texts appended so are in no fixed order (PC203); results of tools are PC304, whatever becomes of the list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Practice, Trait
from promptcache_lint.readers.python.values import Map
from promptcache_lint.readers.typescript import members
from promptcache_lint.readers.typescript.clocks import literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node

    from promptcache_lint.readers.python.values import Traits, Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["race_traits"]

_RESULT_KEYS = {"tool_call_id", "tool_use_id", "call_id", "toolCallId", "toolUseId", "toolResult"}
_RESULT_KINDS = {"tool", "tool_result", "tool-result", "function_call_output"}
_FINISHED = (
    "Results are added in the order in which they finish (`{}`); a retry or a replay adds them in another."
)


def race_traits(machine: Machine, target: Node | None, added: Iterable[Value], frame: Frame) -> Traits:
    """The traits of the order of ``target`` once ``added`` was appended to it by one of several runs."""
    if target is None or not _is_raced(target, frame):
        return ()
    place, label = frame.module.place(target), frame.module.label(target)
    if any(_is_result(value) for value in added):
        says = _FINISHED.format(label)
        machine.sinks.practised(Practice("PC304", Severity.WARNING, place, says), frame)
        return ()
    mark = machine.vocabulary.call("asyncio.as_completed")
    return (Trait(mark, place, label),) if mark is not None else ()


def _is_raced(target: Node, frame: Frame) -> bool:
    """Whether a run that waited, beside others of its like, appends to a variable from outside of it."""
    inner: Frame | None = frame
    while inner is not None and not inner.racing:
        inner = inner.outer if inner.function is not None else None
    if inner is None or not (frame.waited or inner.waited):
        return False
    name = members.spelling(target, frame)
    walk: Frame | None = frame
    while walk is not None:
        if name in walk.names and not name.startswith("this."):
            return False
        if walk is inner:
            break
        walk = walk.outer
    return True


def _is_result(value: Value) -> bool:
    """Whether what is added is the result of a tool."""
    if not isinstance(value, Map):
        return False
    said = {literal(value.get("role")), literal(value.get("type"))}
    return not _RESULT_KEYS.isdisjoint(key for key, _ in value.pairs) or not _RESULT_KINDS.isdisjoint(said)
