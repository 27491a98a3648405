"""Where the breakpoints of an Anthropic request go: at most four, each on a block that will come back.

In this order, as far as the limit allows: the end of the system prompt (which covers the tools), the newest
block, the end of what the previous request sent (so that its entry is found however many blocks the last turn
added), and the end of the tools (which other system prompts may share). The caller's own marks count first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LIMIT: Final = 4
"""Marks in one request, as Anthropic documents (2026-11)."""
_UNMARKABLE: Final = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Where a cacheable prefix ends: ``path`` in the body, and ``reason``.

    ``reason`` is one of "tools", "system", "history" (the end of the previous request) and "tail".
    """

    path: str
    reason: str


def place(body: Mapping[str, Any]) -> tuple[Breakpoint, ...]:
    """Return the breakpoints for a body without marks of ours, in the order of the request."""
    free = LIMIT - sum(1 for block in _blocks(body) if "cache_control" in block)
    wanted = [*_end("system", body), *_tail(body), *_history(body), *_end("tools", body)]
    chosen: list[Breakpoint] = []
    for point in wanted:
        taken = {other.path for other in chosen}
        if (
            len(chosen) < free
            and point.path not in taken
            and "cache_control" not in block_at(body, point.path)
        ):
            chosen.append(point)
    order = {"tools": 0, "system": 1, "history": 2, "tail": 3}
    return tuple(sorted(chosen, key=lambda point: order[point.reason]))


def apply(body: Mapping[str, Any], points: tuple[Breakpoint, ...], static_ttl: str | None) -> None:
    """Set ``cache_control`` on the blocks of ``body``; tools and system live for ``static_ttl`` ("1h")."""
    for point in points:
        mark = {"type": "ephemeral"}
        if static_ttl and point.reason in {"tools", "system"}:
            mark["ttl"] = static_ttl
        block_at(body, point.path)["cache_control"] = mark


def block_at(body: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the block a path of ours names (``system[0]``, ``messages[2].content[1]``)."""
    found: Any = body
    for step in path.replace("]", "").replace("[", ".").split("."):
        found = found[int(step)] if step.isdigit() else found[step]
    block: dict[str, Any] = found
    return block


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


def _blocks(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from body.get("tools") or ()
    yield from body.get("system") or ()
    for message in body["messages"]:
        yield from message["content"]
