"""How many of the last messages a slice takes: ``slice(-10)``, ``slice(-(N + 1))``, ``slice(length - N)``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.conversations.names import walk

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.typescript.conversations.facts import Facts

__all__ = ["arguments", "count_of", "length_of", "number"]

_FROM_END = re.compile(
    r"-\(?(?P<count>[\w.$]+)(?:(?P<more>[-+]\d+)\)|\*(?P<times>[\w.$]+)\)?)?|-\((?P<alone>[\w.$]+)\)"
    r"|(?:Math\.max\((?:0,)?)?[\w.$]+\.length-(?P<left>[\w.$]+)(?:,0)?\)?"
)


def arguments(call: Node) -> list[Node]:
    """What a call is given, without comments."""
    given = call.child_by_field_name("arguments")
    return [child for child in given.named_children if child.type != "comment"] if given is not None else []


def count_of(call: Node, facts: Facts) -> str:
    """How the source spells the number of messages that a window takes; empty where it is no window."""
    match = _match(call, facts)
    return "" if match is None else match["count"] or match["alone"] or match["left"]


def length_of(call: Node, facts: Facts) -> int | None:
    """How many messages a window takes; None if it is none, or nothing shows the number."""
    match = _match(call, facts)
    if match is None:
        return None
    first = arguments(call)[0]
    taken, times = number(count_of(call, facts), first, facts), number(match["times"] or "1", first, facts)
    return None if taken is None or times is None else taken * times + int(match["more"] or 0)


def _match(call: Node, facts: Facts) -> re.Match[str] | None:
    function = call.child_by_field_name("function") if call.type == "call_expression" else None
    given = arguments(call) if function is not None else []
    if function is None or len(given) != 1:
        return None
    if facts.names.text(function.child_by_field_name("property")) != "slice":
        return None
    return _FROM_END.fullmatch(re.sub(r"\s+", "", facts.names.text(given[0])))


def number(said: str, at: Node, facts: Facts) -> int | None:
    """The number that a literal, a constant or a field in ``at`` stands for, if it is seen and only one."""
    named = next((node for node in walk(at) if facts.names.text(node) == said), None)
    key = facts.names.key(named)
    values = facts.names.values.get(key, ()) if key is not None else ()
    said = re.sub(r"(?<=\d)_(?=\d)", "", facts.names.text(values[0])) if len(values) == 1 else said
    return int(said) if said.isdecimal() else None
