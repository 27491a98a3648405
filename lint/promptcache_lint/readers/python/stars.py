"""``from .clocks import *``: the names that it binds, entered among a module's imports under their own.

A star takes what ``__all__`` lists, else every name without an underscore in front. Where the module lies,
and what a name of it means, is `program`'s business.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptcache_lint.readers.python.modules import Module

__all__ = ["enter_stars"]

_MOST = 2_000
"""Names that the stars of one module may bring in: more are a listing that was generated."""


def enter_stars(
    module: Module, resolve: Callable[[str], object], lies_in_tree: Callable[[str, Module], bool]
) -> None:
    """Enter what the stars of a module bring in; its own names stay.

    ``resolve`` gives the module that a dotted name means to this one; ``lies_in_tree`` says whether an
    absolute name that another module imports leads to a file of the tree: foreign ones are passed on.
    """
    own = {*module.functions, *module.classes, *module.imports, *_assigned(module.tree.body)}
    for base in reversed(module.stars):  # the last one that brings a name wins
        source = resolve(base)
        if not isinstance(source, type(module)) or source is module:
            continue
        separator = "" if base.endswith(".") else "."
        for name in _public(source):
            if name in own or len(own) > _MOST:
                continue
            own.add(name)
            meant = source.imports.get(name, "")
            foreign = meant and not meant.startswith(".") and not lies_in_tree(meant, source)
            module.imports[name] = meant if foreign else f"{base}{separator}{name}"


def _public(module: Module) -> list[str]:
    """The names that a star takes from a module."""
    listed = _listed(module.tree.body)
    if listed is not None:
        return listed
    names = (*module.functions, *module.classes, *module.imports, *_assigned(module.tree.body))
    return [name for name in dict.fromkeys(names) if not name.startswith("_") and "." not in name]


def _listed(body: list[ast.stmt]) -> list[str] | None:
    """What ``__all__`` lists; None where there is none, or one that is not written out."""
    found: list[str] | None = None
    for statement in body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=value)
                | ast.AugAssign(target=ast.Name(id="__all__"), value=value)
            ):
                items = value.elts if isinstance(value, ast.List | ast.Tuple) else None
                names = [_text(item) for item in items or ()]
                if items is None or None in names:
                    return None
                found = [*(found or ()), *filter(None, names)]
            case _:
                continue
    return found


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    """The variables that a module's body binds, also those under `if` and `try`."""
    for statement in body:
        match statement:
            case ast.Assign(targets=targets):
                for target in targets:
                    yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                yield name
            case ast.If() | ast.Try() | ast.With():
                for part in ("body", "orelse", "finalbody"):
                    yield from _assigned(getattr(statement, part, []))
                for handler in getattr(statement, "handlers", []):
                    yield from _assigned(handler.body)
            case _:
                continue
