"""What stands in a row of a module, and its functions by their names; gone through once for all findings."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.conversations.names import walk
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.typescript.module import Module

__all__ = ["functions_named", "in_row", "name_of"]

_MOST_IN_A_ROW = 2000


def functions_named(name: str, module: Module) -> list[Node]:
    """The functions and methods of that name in a module."""
    return _functions_of(module).get(name, [])


@lru_cache(maxsize=16)  # one file has many findings
def _functions_of(module: Module) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in walk(module.tree.root_node):
        if node.type in FUNCTIONS:
            found.setdefault(name_of(node, module), []).append(node)
    return found


def in_row(row: int, module: Module) -> list[Node]:
    """The nodes that begin in a row, the outer ones first; none of what a machine has written in one row."""
    found = _rows_of(module).get(row, [])
    return found if len(found) <= _MOST_IN_A_ROW else []


@lru_cache(maxsize=16)
def _rows_of(module: Module) -> dict[int, list[Node]]:
    found: dict[int, list[Node]] = {}
    for node in walk(module.tree.root_node):
        found.setdefault(node.start_point[0] + 1, []).append(node)
    return found


def name_of(function: Node, module: Module) -> str:
    """What a function is called, by itself or by the variable or key that it is given to."""
    said, holder = function.child_by_field_name("name"), function.parent
    if said is None and holder is not None and holder.type in {"variable_declarator", "pair"}:
        said = holder.child_by_field_name("name") or holder.child_by_field_name("key")
    return module.text(said) if said is not None else ""
