"""Lists that a module hands to a function of its own: whose messages a parameter holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.conversations.names import bare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.readers.typescript.conversations.facts import Facts
    from promptcache_lint.readers.typescript.conversations.names import Key

__all__ = ["grows_somewhere"]


def grows_somewhere(key: Key, facts: Facts) -> bool:
    """Whether something is pushed to a list, or to one that a parameter of that name is given."""
    return facts.grows(key) or any(facts.grows(each) for each in _lenders(key, facts))


def _lenders(key: Key, facts: Facts) -> Iterator[Key]:
    """The variables that callers within the module give for a parameter."""
    function = next((each for each in facts.names.functions.values() if each.id == key[1]), None)
    index = _index(key[0], function, facts) if function is not None else None
    for node in facts.names.nodes if index is not None else ():
        called = node.child_by_field_name("function") if node.type == "call_expression" else None
        given = node.child_by_field_name("arguments")
        if called is None or given is None:
            continue
        if facts.names.functions.get(facts.names.key(called) or ("", 0)) != function:
            continue
        values = [each for each in given.named_children if each.type != "comment"]
        lender = facts.names.key(values[index]) if index is not None and index < len(values) else None
        if lender is not None:
            yield lender


def _index(name: str, function: Node, facts: Facts) -> int | None:
    """The place of a parameter among those of its function."""
    if function.child_by_field_name("parameter") is not None:
        return 0
    parameters = function.child_by_field_name("parameters")
    each = [child for child in parameters.named_children if child.type != "comment"] if parameters else []
    named = [facts.names.text(bare(child.child_by_field_name("pattern")) or child) for child in each]
    return named.index(name) if name in named else None
