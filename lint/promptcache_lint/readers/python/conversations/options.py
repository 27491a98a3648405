"""Options of a request that are put into a dict first: ``options["thinking"] = …`` and then ``**options``.

Only what the turn decides counts: what was said, and how far the conversation is. Whether a caller wants
something at all is his setting, the same all along.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.choices import changes_by_turn, in_handler
from promptcache_lint.readers.python.conversations.facts import constant, spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["options_of"]

_OF_THE_TURN = re.compile(
    r"(?:\w+_)?(?:text|question|message|query|input|utterance|content|turn|turns|step|steps|round|iteration"
    r"|attempt|idx|count)"
)
_LOOKS = {"len", "search", "match", "startswith", "endswith", "lower", "count", "any", "all", "is_hard"}


def options_of(call: ast.Call, facts: Facts) -> Iterator[tuple[str, ast.expr, bool]]:
    """The options that the turn decides on: name, what stands there, and whether it is proven to change."""
    for keyword in call.keywords:
        if keyword.arg is not None:
            continue
        if isinstance(keyword.value, ast.IfExp):
            for chosen in (keyword.value.body, keyword.value.orelse):
                yield from _decided(list(_keys(chosen)), keyword.value.test, keyword.value, call, facts)
        name = spell(keyword.value)
        for stored, names in _stores(name, facts) if name else ():
            outer = next((each for each in facts.around(stored) if isinstance(each, ast.If)), None)
            if outer is not None and not in_handler(stored, facts):
                yield from _decided(names, outer.test, stored, call, facts)


def _decided(
    names: list[str], test: ast.expr, place: ast.expr, call: ast.Call, facts: Facts
) -> Iterator[tuple[str, ast.expr, bool]]:
    words = {name for inner in ast.walk(test) if isinstance(inner, ast.Name) and (name := spell(inner))}
    proven = changes_by_turn(place, call, facts)
    looks = any(
        isinstance(inner, ast.Compare)
        or (isinstance(inner, ast.Call) and spell(inner.func).rpartition(".")[2] in _LOOKS)
        or (
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Attribute)
            and inner.func.attr in _LOOKS
        )
        for inner in ast.walk(test)
    )
    named = any(_OF_THE_TURN.fullmatch(word) for word in words)
    if proven or (looks and named):
        yield from ((name, place, proven) for name in names)


def _stores(name: str, facts: Facts) -> Iterator[tuple[ast.expr, list[str]]]:
    """Where keys are stored in the dict: one by one, by ``update``, by ``|=``."""
    for node in facts.of(ast.Assign, ast.Call, ast.AugAssign):
        match node:
            case ast.Assign(
                targets=[ast.Subscript(value=owner, slice=ast.Constant(value=str() as key)) as at]
            ):
                if spell(owner) == name:
                    yield at, [key]
            case ast.Call(func=ast.Attribute(attr="update", value=owner)) if spell(owner) == name:
                named = [keyword.arg for keyword in node.keywords if keyword.arg]
                yield node, named + [key for given in node.args for key in _keys(given)]
            case ast.AugAssign(op=ast.BitOr()) if spell(node.target) == name:
                yield node.value, list(_keys(node.value))


def _keys(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Dict):
        yield from (str(constant(key)) for key in node.keys if isinstance(constant(key), str))
