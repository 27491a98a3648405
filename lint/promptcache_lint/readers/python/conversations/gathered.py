"""Functions that run at once, each of which adds its own result to the messages when it has finished."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.facts import called_name, role_of, spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["gathered"]

_STARTS = re.compile(
    r"(?:.*\.)?(?:gather|create_task|ensure_future|start_soon|spawn|run_coroutine_threadsafe)"
    r"|(?:.*\.)?(?:pool|executor|ex|tpe|threads?)\w*\.(?:map|submit|starmap|apply_async)"
)
_SAYS = (
    "`{}` runs these at once, and each adds its own result when it has finished: a replay adds them in "
    "another order."
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def gathered(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    """PC304: ``await gather(*(one(call) for call in calls))``, where ``one`` appends to the messages."""
    if not _STARTS.fullmatch(called_name(node)):
        return
    for name, call in _started(node, facts):
        function = _definition(name, facts)
        if function is None:
            continue
        threads = not isinstance(function, ast.AsyncFunctionDef)
        added = _added(function, call, facts, threads=threads)
        if added is not None:
            yield facts.practice(
                "PC304", Severity.WARNING, added, _SAYS.format(called_name(node)), source=node.func
            )
            return


def _started(node: ast.Call, facts: Facts) -> Iterator[tuple[str, ast.Call | None]]:
    """The functions that are started several times, each with its call where that is written."""
    repeated = facts.loop(node) is not None or any(
        isinstance(outer, ast.ListComp | ast.GeneratorExp | ast.SetComp) for outer in facts.around(node)
    )
    if called_name(node).rpartition(".")[2] in {"map", "submit", "starmap", "apply_async"} and node.args:
        if repeated or called_name(node).endswith("map"):
            yield spell(node.args[0]), None
        return
    for argument in node.args:
        several = argument.value if isinstance(argument, ast.Starred) else argument
        named = _listed(spell(several), facts)
        for inner in [several, *named]:
            for call in ast.walk(inner):
                if isinstance(call, ast.Call) and (repeated or _is_made_by_comprehension(call, inner)):
                    yield spell(call.func), call


def _listed(name: str, facts: Facts) -> list[ast.expr]:
    """What a list of coroutines is given: ``jobs = [one(call) for call in calls]``."""
    if not name:
        return []
    assigned = (node for node in facts.of(ast.Assign) if isinstance(node, ast.Assign))
    return [node.value for node in assigned if name in map(spell, node.targets)]


def _is_made_by_comprehension(call: ast.Call, inside: ast.expr) -> bool:
    return any(
        isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp)
        and any(inner is call for inner in ast.walk(node.elt))
        for node in ast.walk(inside)
    )


def _definition(name: str, facts: Facts) -> _Function | None:
    """The function of that name: defined inside this one, a method of its class, or the module's."""
    last = name.rpartition(".")[2]
    if not last:
        return None
    if "." not in name:
        inner = facts.of(ast.FunctionDef, ast.AsyncFunctionDef)
        found = next((node for node in inner if getattr(node, "name", "") == last), None)
        if isinstance(found, _Function):
            return found
        known = facts.module.functions.get(last)
        return known.node if known is not None and isinstance(known.node, _Function) else None
    if not name.startswith("self."):
        return None
    for cls in facts.module.classes.values():
        method = cls.methods.get(last)
        if method is not None and any(each.node is facts.node for each in cls.methods.values()):
            return method.node if isinstance(method.node, _Function) else None
    return None


def _added(function: _Function, call: ast.Call | None, facts: Facts, *, threads: bool) -> ast.Call | None:
    """Where a function adds to the messages after it has waited, or runs in a thread of its own."""
    waits = [node for node in ast.walk(function) if isinstance(node, ast.Await)]
    given = _given(function, call)
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="append" | "extend", value=owner), args=[added]):
                listed = given.get(spell(owner), owner)
                late = threads or any(wait.lineno <= node.lineno for wait in waits)
                if late and _is_talk(listed, added, facts):
                    return node
            case _:
                continue
    return None


def _given(function: _Function, call: ast.Call | None) -> dict[str, ast.expr]:
    """The parameters of a function with what its call gives them."""
    if call is None:
        return {}
    names = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args]]
    names = names[1:] if names[:1] == ["self"] else names
    positional = dict(zip(names, call.args, strict=False))
    return positional | {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}


def _is_talk(owner: ast.expr, added: ast.expr, facts: Facts) -> bool:
    """Whether a list is that of the messages, or one of results that becomes a message."""
    if facts.conviction(owner) is not None:
        return True
    return bool(role_of(added)) and "result" in spell(owner) and facts.asks()
