"""Whether the answer to a request goes on in the conversation whose end it shows, or stands beside it.

A judge of the last messages loses nothing by a window, though the class that it belongs to keeps a history.
The conversation goes on where the function that sends it adds to it, or a caller that takes the answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.conversations.names import around, bare, walk
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.readers.typescript.conversations.facts import Facts
    from promptcache_lint.readers.typescript.conversations.names import Key

__all__ = ["entries_of", "goes_on", "is_fetched", "is_put_back", "takes_place"]

_ADDS = re.compile(r"push|unshift|add|append|save|store|record|insert|put|remember|persist", re.IGNORECASE)
_NAMED = {"method_definition", "function_declaration", "generator_function_declaration"}
_HOLDERS = {"variable_declarator", "public_field_definition", "field_definition", "pair"}
_ROOM = 3


def is_put_back(key: Key | None, node: Node, facts: Facts) -> bool:
    """Whether the window takes the place of the list, or of the entry of a table that the list is.

    ``this.messages = this.messages.slice(-20)``, ``talks.set(user, talk.slice(-20))``.
    """
    if key is None:
        return False
    renewed = _renewed(node, facts)
    return (renewed is not None and renewed in {key, *entries_of(key, facts)}) or _is_put(node, key, facts)


def takes_place(key: Key, node: Node, facts: Facts) -> bool:
    """Whether the window becomes the value of the very variable or field that it is cut from."""
    return _renewed(node, facts) == key


def _renewed(node: Node, facts: Facts) -> Key | None:
    """What an assignment around an expression gives a value."""
    for outer in around(node):
        if outer.type == "assignment_expression":
            return facts.names.key(outer.child_by_field_name("left"))
        if outer.type in FUNCTIONS or outer.type.endswith("_statement"):
            return None
    return None


def _is_put(window: Node, key: Key, facts: Facts) -> bool:
    """``talks.set(user, talk.slice(-20))``."""
    return any(window in facts.names.values.get(entry, ()) for entry in entries_of(key, facts))


def entries_of(key: Key, facts: Facts) -> Iterator[Key]:
    """The entries of tables that a list is another name of: ``const talk = talks.get(user) ?? []``."""
    for value in facts.names.values.get(key, ()):
        got = bare(value)
        if got is not None and got.type == "binary_expression":
            got = bare(got.child_by_field_name("left"))
        entry = facts.names.key(got)
        if entry is not None and entry[0].endswith("[]"):
            yield entry


def is_fetched(key: Key, facts: Facts) -> bool:
    """Whether a list is one of those of all conversations: it is got from a map, and set there again."""
    for value in facts.names.values.get(key, ()):
        table = facts.names.key(value)
        if value.type == "subscript_expression" and table is not None and _is_kept(table):
            return True
        got = bare(value.child_by_field_name("left") if value.type == "binary_expression" else value)
        function = got.child_by_field_name("function") if got is not None else None
        owner = function.child_by_field_name("object") if function is not None else None
        kept = facts.names.key(owner)
        if kept is None or not _is_kept(kept):
            continue
        name = facts.names.text(owner)
        if facts.names.text(function) == f"{name}.get" and any(
            facts.names.text(call.child_by_field_name("function")) == f"{name}.set"
            and key in {facts.names.key(_last_argument(call)), facts.names.key(_cut_of(_last_argument(call)))}
            for call in facts.names.nodes
            if call.type == "call_expression"
        ):
            return True
    return False


def _is_kept(key: Key) -> bool:
    """Whether a variable is that of the module or of an object."""
    return key[1] == 0 or key[0].startswith("this.")


def _last_argument(call: Node) -> Node | None:
    given = call.child_by_field_name("arguments")
    return given.named_children[-1] if given is not None and given.named_children else None


def _cut_of(node: Node | None) -> Node | None:
    """The list of ``talk.slice(-20)``."""
    function = node.child_by_field_name("function") if node is not None else None
    return function.child_by_field_name("object") if function is not None else None


def goes_on(key: Key, node: Node, facts: Facts) -> bool:
    """Whether a list or object is added to by the function around ``node``, or by one that calls it."""
    function = _around(node)
    return function is None or _goes_on_in(function, key, facts, _ROOM)


def _goes_on_in(function: Node, key: Key, facts: Facts, room: int) -> bool:
    if any(_additions(function, key, facts)):
        return True
    asked = _asks(function, facts)
    return room > 0 and any(
        _takes(call, key, facts, room - 1, asked=asked) for call in _calls_of(function, facts)
    )


def _takes(call: Node, key: Key, facts: Facts, room: int, *, asked: bool) -> bool:
    """Whether the function around a call puts what it gets into the list, or one that calls it in turn."""
    function = _around(call)
    if function is None:
        return False
    if _asks(function, facts) and not asked:
        return _goes_on_in(function, key, facts, room)
    additions = list(_additions(function, key, facts))
    returned = any(outer.type == "return_statement" for outer in _within(call, function))
    if returned:
        return bool(additions) or any(
            _takes(at, key, facts, room - 1, asked=True) for at in _calls_of(function, facts) if room > 0
        )
    names = _made_of(call, function, facts)
    for added in additions:
        given = added.child_by_field_name("arguments")
        if given is None:
            continue
        if given.start_byte <= call.start_byte < given.end_byte or _speaks_of(given, names, facts):
            return True
    return False


def _additions(function: Node, key: Key, facts: Facts) -> Iterator[Node]:
    """The calls in a function that add to a list or object: its own, and those of methods that do so."""
    for node in walk(function):
        called = node.child_by_field_name("function") if node.type == "call_expression" else None
        if called is None:
            continue
        name = facts.names.text(called.child_by_field_name("property"))
        if _ADDS.match(name) and facts.names.key(called.child_by_field_name("object")) == key:
            yield node
            continue
        own = facts.names.functions.get(facts.names.key(called) or ("", 0))
        if own is not None and own != function and _adds(own, key, facts):
            yield node


def _adds(function: Node, key: Key, facts: Facts) -> bool:
    """Whether a function asks nobody and adds to the list, as ``add(message)`` does."""
    return not _asks(function, facts) and any(
        node.type == "member_expression"
        and facts.names.text(node.child_by_field_name("property")) == "push"
        and facts.names.key(node.child_by_field_name("object")) == key
        for node in walk(function)
    )


def _asks(function: Node, facts: Facts) -> bool:
    return any(function.start_byte <= call.start_byte < function.end_byte for call in facts.calls)


def _calls_of(function: Node, facts: Facts) -> Iterator[Node]:
    keys = {key for key, node in facts.names.functions.items() if node == function}
    for node in facts.names.nodes:
        called = node.child_by_field_name("function") if keys and node.type == "call_expression" else None
        if called is not None and facts.names.key(called) in keys:
            yield node


def _made_of(call: Node, function: Node, facts: Facts) -> set[str]:
    """The variables that hold what a call gives, or a part of it."""
    names: set[str] = set()
    for node in walk(function):
        if node.type not in {"variable_declarator", "assignment_expression"}:
            continue
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        target = node.child_by_field_name("name") or node.child_by_field_name("left")
        if value is None or target is None:
            continue
        if bare(value) == call or _is_part(value, call, names, facts):
            names |= set(re.findall(r"\w+", facts.names.text(target)))
    return names


def _is_part(value: Node, call: Node, names: set[str], facts: Facts) -> bool:
    """Whether a value holds an answer: not what another function makes of it together with other things."""
    made = bare(value)
    given = made.child_by_field_name("arguments") if made is not None else None
    if given is not None and len(given.named_children) > 1:
        return False
    return value.start_byte <= call.start_byte < value.end_byte or _speaks_of(value, names, facts)


def _speaks_of(node: Node, names: set[str], facts: Facts) -> bool:
    """Whether variables stand in an expression, but not among several arguments of a call."""
    pending = [node]
    while pending:
        at = pending.pop()
        if not at.named_children and facts.names.text(at) in names:
            return True
        inner = at.named_children
        if at.type == "call_expression" and len(inner[-1].named_children) > 1:
            inner = inner[:-1]
        pending += inner
    return False


def _within(node: Node, function: Node) -> Iterator[Node]:
    for outer in around(node):
        if outer == function:
            return
        yield outer


def _around(node: Node) -> Node | None:
    """The innermost function around a node that has a name."""
    for outer in around(node):
        held = outer.parent is not None and outer.parent.type in _HOLDERS
        if outer.type in _NAMED or (outer.type in FUNCTIONS and held):
            return outer
    return None
