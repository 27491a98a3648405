"""The way of a value into a request, followed back link by link: what an error takes, and a warning does not.

As in Python: the value stands in what is sent, in no branch, loop or handler of its own, and is written out
as it is. What is computed from it and something else (an age), looked up under a key, kept in a field or made
before the rounds in which it is sent proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.talks import ANSWERS, says_history
from promptcache_lint.readers.typescript import blocks
from promptcache_lint.readers.typescript.conversations.names import function_of, walk
from promptcache_lint.readers.typescript.links import Links, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.places import Place
    from promptcache_lint.readers.typescript.module import Module

__all__ = ["is_shown"]


def is_shown(start: Place, way: tuple[Place, ...], modules: list[Module], *, talks: bool) -> bool:
    """Whether the source shows that the value at the head of ``way`` is in each request made at ``start``.

    ``way`` are the places that the value was seen to pass, ``modules`` those they lie in, and that of
    ``start``. ``talks``: a history is said to stand behind it. A single request has to be about something
    that its function is given.
    """
    home = next((module for module in modules if module.source.path == start.path), None)
    node = _node_at(start, home) if home is not None else None
    if home is None or node is None:
        return False
    of_a_branch = blocks.around(node) and not node.type.endswith("call_expression")
    if of_a_branch and not (blocks.asks_for_it(node, home) or blocks.sends_within(node, home)):
        return False
    scope = Scope(home, function_of(node))
    return _is_asked(scope, talks=talks) and Links(way, tuple(modules)).carries(node, scope, sent=True)


def _is_asked(scope: Scope, *, talks: bool) -> bool:
    """Whether the function that sends is seen to do so again and again."""
    module = scope.module
    if scope.function is None:
        return False
    functions = [scope.function, *_outer(scope.function)]
    given = [
        module.text(n) for each in functions for p, _ in blocks.parameters(each, module) for n in walk(p)
    ]
    return says_history(blocks.names_in(functions[-1], module, ANSWERS), given) if talks else bool(given)


def _outer(function: Node | None) -> Iterator[Node]:
    """The functions around one that are run with it."""
    while function is not None and (function := function_of(function)) is not None:
        yield function


def _node_at(place: Place, module: Module) -> Node | None:
    """The outermost node that stands at a place."""
    rows = (node for node in walk(module.tree.root_node) if node.start_point[0] + 1 == place.row)
    return next((node for node in rows if module.place(node) == place), None)
