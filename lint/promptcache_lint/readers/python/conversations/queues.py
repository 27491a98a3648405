"""Queues of fixed length that hold a conversation: ``deque(maxlen=20)``, one for all or one for each talk."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.amounts import amount
from promptcache_lint.readers.python.conversations.facts import called_name, constant, spell
from promptcache_lint.readers.python.conversations.hidden import outrun
from promptcache_lint.readers.python.conversations.tables import holds_talks, of_a_table
from promptcache_lint.readers.python.conversations.uses import use_of

if TYPE_CHECKING:
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["QUEUE", "bounded", "is_overtaken", "makes_queue"]

QUEUE = re.compile(r"(?:buffer|queue|pending|inbox|backlog|to_send|unread)\w*$", re.IGNORECASE)
"""Names of lists in which messages wait until each was dealt with."""
_MESSAGES = re.compile(
    r"message|msg|turn|content|dict|map|exchange|\b(?:any|str|tuple|object)\b", re.IGNORECASE
)
"""What the items of a conversation are declared to be; a queue of ``Snapshot`` holds something else."""
_ABOUT_THEM = re.compile(r"\w+(?:result|event|stat|stats|metric|metrics|timing|error)s?", re.IGNORECASE)
"""What was done, counted or reported of a turn: ``TurnResult``."""
_TABLE = re.compile(r"(?:.*\.)?defaultdict")


def makes_queue(node: ast.Call) -> bool:
    """Whether a call makes a queue, or what makes one: ``partial(deque, maxlen=20)``."""
    last = called_name(node).rpartition(".")[2]
    if last == "partial" and node.args:
        return spell(node.args[0]).rpartition(".")[2] == "deque"
    return last == "deque"


def bounded(node: ast.Call, facts: Facts) -> Severity | None:
    """How sure it is that a queue of fixed length is made here, and that it holds a conversation."""
    if not _has_length(node):
        return None
    statement = facts.statement(node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    declared = statement.annotation if isinstance(statement, ast.AnnAssign) else None
    if isinstance(declared, ast.Subscript):
        item = ast.unparse(declared.slice)
        if _MESSAGES.search(item) is None or _ABOUT_THEM.fullmatch(item):
            return None
    if target is None and isinstance(statement, ast.Return) and facts.handed:
        outer = facts.parents.get(node)
        return (
            use_of(outer, Severity.WARNING, facts) if outer is not None and _is_default(outer, node) else None
        )
    if target is None or QUEUE.search(spell(target)):
        return None
    if any(
        isinstance(outer, ast.Call) and _TABLE.fullmatch(called_name(outer)) for outer in facts.around(node)
    ):
        return Severity.WARNING if holds_talks(f"{spell(target)}[]", facts) else None
    sure = facts.conviction(target) or of_a_table(target, facts)
    return sure if not _is_partial(node) else None


def _is_default(call: ast.AST, queue: ast.Call) -> bool:
    """``talks.setdefault(key, deque(maxlen=20))``: what is taken out of a table is a queue."""
    match call:
        case ast.Call(func=ast.Attribute(attr="setdefault"), args=[_, made]):
            return made is queue
        case _:
            return False


def _is_partial(node: ast.Call) -> bool:
    return called_name(node).rpartition(".")[2] == "partial"


def is_overtaken(node: ast.Call, facts: Facts) -> bool:
    """Whether an object's queue is read only through a window that is no longer: ``list(self.talk)[-6:]``."""
    statement, limit = facts.statement(node), _limit(node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    if target is None or limit is None:
        return False
    return outrun(target, node, amount(limit, facts), facts) is True


def _has_length(node: ast.Call) -> bool:
    limit = _limit(node)
    return limit is not None and constant(limit) is not None


def _limit(node: ast.Call) -> ast.expr | None:
    limit = next((keyword.value for keyword in node.keywords if keyword.arg == "maxlen"), None)
    at = 2 if _is_partial(node) else 1
    return node.args[at] if limit is None and len(node.args) > at else limit
