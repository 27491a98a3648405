"""Whether what is done to a list of messages stays done, or is done anew for each request to a copy."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import called_name, is_model_call, spell
from promptcache_lint.readers.python.conversations.tables import entry, taken_from

if TYPE_CHECKING:
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["is_kept"]

_STORES = re.compile(r"save|store|put|set|update|write|persist|dump|commit", re.IGNORECASE)
_COPIES = {"list", "copy", "deepcopy", "tuple"}


def is_kept(cut: ast.AST, owner: ast.expr, facts: Facts) -> bool:
    """Whether a cut is made in the list itself, or takes its place where the next turn finds it."""
    name = entry(owner)
    statement = facts.statement(cut)
    if isinstance(cut, ast.Subscript) and isinstance(cut.ctx, ast.Load):
        match statement:
            case ast.Assign():
                named = {entry(_whole(target)) for target in statement.targets} - {""}
                if name in named and (_is_part(name) or _lives_on(name, cut, facts)):
                    return True
                return any(_is_part(each) for each in named & taken_from(name, facts))
            case ast.Return() | ast.Expr(value=ast.Yield()):
                return any(_takes_place(call, caller) for caller, call in facts.handed)
            case _:
                return False
    return _is_part(name) or not _is_copy(name, facts) or _lives_on(name, cut, facts)


def _is_part(name: str) -> bool:
    """Whether a list is that of an object or of a table, and no variable."""
    return "." in name or "[]" in name


def _whole(target: ast.expr) -> ast.expr:
    """The list of ``messages[:]``, which is written over."""
    return (
        target.value if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice) else target
    )


def _takes_place(call: ast.expr, caller: Facts) -> bool:
    """Whether a caller puts what it gets where the list was: ``self.messages = cut(self.messages)``."""
    statement = caller.statement(call)
    if not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call):
        return False
    given = {entry(argument) for argument in [*call.args, *(k.value for k in call.keywords)]}
    targets = {entry(_whole(target)) for target in statement.targets} & given - {""}
    return any(_is_part(name) or _lives_on(name, call, caller) for name in targets)


def _lives_on(name: str, cut: ast.AST, facts: Facts) -> bool:
    """Whether a variable is there in the next turn too: in a loop, for the caller, in a store."""
    if facts.turns(cut) is not None or isinstance(facts.node, ast.Module):
        return True
    for node in facts.of(ast.Return, ast.Yield, ast.Global, ast.Assign, ast.Call):
        match node:
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
                returned = value.elts if isinstance(value, ast.Tuple) else [value]
                if name in map(spell, returned) and (not facts.handed or _is_taken_back(facts)):
                    return True
            case ast.Global(names=names) if name in names:
                return True
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) if spell(node.value) == name:
                return True
            case ast.Call() if not is_model_call(node) and name in map(spell, node.args):
                if _STORES.search(called_name(node).rpartition(".")[2]):
                    return True
    return _writes_over(name, facts)


def _is_taken_back(facts: Facts) -> bool:
    return any(_takes_place(call, caller) for caller, call in facts.handed)


def _writes_over(name: str, facts: Facts) -> bool:
    """``messages[:] = …``: the caller's own list."""
    targets = (t for node in facts.of(ast.Assign) if isinstance(node, ast.Assign) for t in node.targets)
    return any(_whole(target) is not target and spell(_whole(target)) == name for target in targets)


def _is_copy(name: str, facts: Facts) -> bool:
    """Whether a variable is made from another list in this function."""
    for node in facts.of(ast.Assign):
        if not isinstance(node, ast.Assign) or name not in map(spell, node.targets):
            continue
        match node.value:
            case ast.Call() if called_name(node.value).rpartition(".")[2] in _COPIES:
                return True
            case ast.List(elts=elements) if any(isinstance(element, ast.Starred) for element in elements):
                return True
            case ast.Subscript(slice=ast.Slice()) | ast.BinOp() | ast.ListComp():
                return True
    return False
