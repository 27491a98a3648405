"""Functions of a module that give back a signed address or encoded bytes of an image, for others to send."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import called_name, spell

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["gives_part", "made_by", "makes"]


def made_by(
    name: str, facts: Facts, is_source: Callable[[ast.Call], bool], words: tuple[str, ...]
) -> ast.Call | None:
    """The call in the function ``name`` of the module whose result it gives back; None where it is none.

    ``words``: one of them is in every source. A function that remembers what it has made (``@cache``)
    makes it once.
    """
    last = name.rpartition(".")[2]
    candidates = [facts.module.functions.get(last)] if "." not in name else []
    if name.startswith("self."):
        candidates += [cls.methods.get(last) for cls in facts.module.classes.values()]
    for function in candidates:
        if function is None or function.node is facts.node or isinstance(function.node, ast.Lambda):
            continue
        text = function.text
        if not any(word in text for word in words):
            continue
        decorators = " ".join(ast.unparse(each) for each in function.node.decorator_list)
        if "cache" in decorators or "memo" in decorators:
            continue
        found = makes(function.node, is_source)
        if found is not None:
            return found
    return None


def gives_part(name: str, facts: Facts, is_part: Callable[[ast.Dict], bool]) -> bool:
    """Whether a function of the module gives back an image as a part of a message."""
    function = facts.module.functions.get(name)
    returned = function.kinds.get(ast.Return, ()) if function is not None else ()
    return any(
        isinstance(inner, ast.Dict) and is_part(inner) for each in returned for inner in ast.walk(each)
    )


def makes(node: ast.AST, is_source: Callable[[ast.Call], bool]) -> ast.Call | None:
    """The call of a source on which what a function returns depends."""
    inside = list(ast.walk(node))
    sources = [inner for inner in inside if isinstance(inner, ast.Call) and is_source(inner)]
    if not sources:
        return None
    returned = [inner.value for inner in inside if isinstance(inner, ast.Return) and inner.value is not None]
    names = {spell(inner) for value in returned for inner in ast.walk(value) if isinstance(inner, ast.Name)}
    grown = True
    while grown:
        found = {
            spell(inner)
            for other in inside
            if isinstance(other, ast.Assign) and {spell(target) for target in other.targets} & names
            for inner in ast.walk(other.value)
            if isinstance(inner, ast.Name)
        }
        grown = not found <= names
        names |= found
    for source in sources:
        written = {spell(argument) for argument in source.args}  # ``image.save(buffer)``
        direct = any(inner is source for value in returned for inner in ast.walk(value))
        given = any(
            isinstance(other, ast.Assign)
            and {spell(target) for target in other.targets} & names
            and any(inner is source for inner in ast.walk(other.value))
            for other in inside
        )
        if direct or given or (called_name(source).endswith(".save") and written & names):
            return source
    return None
