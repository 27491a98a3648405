"""The way of a value into a request, followed back link by link: what an error takes, and a warning does not.

The interpreter says that a value may reach a prompt. Here the source must show that it does, each time: it
stands in what is sent, in no branch, loop or handler of its own, and is written out as it is. What is
computed from it and something else (an age), looked up under a key, kept in an attribute or made before the
rounds in which it is sent proves nothing. Names of functions are looked up in the files on the way only.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python import blocks
from promptcache_lint.readers.python.links import Links, Scope
from promptcache_lint.readers.python.passed import FunctionNode, Passed
from promptcache_lint.readers.python.walking import nodes_of
from promptcache_lint.readers.talks import ANSWERS, says_history

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.modules import Module

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
    passed = Passed(way, modules)
    scope = Scope(home, passed.function_of(node, home))
    if not _is_asked(scope, talks=talks) or not _is_made_with_its_request(node, passed.above[home]):
        return False
    return Links(passed).carries(node, scope, sent=True)


def _is_asked(scope: Scope, *, talks: bool) -> bool:
    """Whether the function that sends is seen to do so again and again; what a library calls is."""
    function = scope.function
    if function is None or isinstance(function, ast.Lambda) or function.decorator_list:
        return True
    given = blocks.parameters(function)
    return says_history(blocks.names_in(function, ANSWERS), given) if talks else bool(given)


def _is_made_with_its_request(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether a message stands in no branch that the request does not stand in as well."""
    around = blocks.around(node, above)
    if not around or isinstance(node, ast.Call):
        return True
    outer = around[-1][0]
    if isinstance(outer, ast.If):
        return blocks.asks_for_it(outer.test, node) or blocks.sends_within(outer)
    return isinstance(outer, ast.While | ast.For | ast.AsyncFor) and blocks.sends_within(outer)


def _node_at(place: Place, module: Module) -> ast.AST | None:
    """What stands at a place: an expression, or a function whose result is sent."""
    found = [
        node
        for node in nodes_of(module.tree)
        if isinstance(node, ast.expr | FunctionNode)
        and node.lineno == place.row
        and module.place(node) == place
    ]
    return found[0] if found else None
