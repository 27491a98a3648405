"""Tools and their results.

Results in the order in which they finish, and listings that are fetched each time.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.facts import (
    called_name,
    constant,
    is_model_call,
    role_of,
    spell,
)
from promptcache_lint.readers.python.conversations.gathered import gathered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["results"]

_COMPLETION = re.compile(r"(?:.*\.)?(?:as_completed|imap_unordered)")
_LISTING = re.compile(
    r".*\.(?:list_tools|get_tools|load_mcp_tools)|(?:.*\.)?(?:load_mcp_tools|mcp_server_tools)"
)
_MCP_CLASS = re.compile(r"(?:.*\.)?MCPServer(?:Stdio|Sse|StreamableHttp)")
_FINISHED = (
    "Results are added in the order in which they finish (`{}`); a retry or a replay adds them in another."
)
_UNPINNED = (
    "`{}` takes the tools as the server lists them now: when it adds or reorders one, every prompt is new."
)


def results(facts: Facts) -> Iterator[Practice]:
    """PC304 and PC305."""
    for node in facts.of(ast.For, ast.AsyncFor, ast.Call, ast.Dict):
        match node:
            case ast.For() | ast.AsyncFor():
                yield from _finished(node, facts)
            case ast.Call():
                yield from _listed(node, facts)
                yield from gathered(node, facts)
            case ast.Dict():
                yield from _remote(node, facts)


def _finished(node: ast.For | ast.AsyncFor, facts: Facts) -> Iterator[Practice]:
    source = _completion_source(node.iter, facts)
    if source is None:
        return
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Call) or not isinstance(inner.func, ast.Attribute) or not inner.args:
            continue
        if inner.func.attr != "append":
            continue
        if not _is_result(inner.args[0], node):
            if _becomes_message(spell(inner.func.value), facts):
                yield facts.practice("PC304", Severity.WARNING, source, _FINISHED.format(facts.label(source)))
                return
            continue
        is_list = facts.conviction(inner.func.value) is not None or role_of(inner.args[0])
        if is_list or "result" in spell(inner.func.value):
            yield facts.practice("PC304", Severity.WARNING, source, _FINISHED.format(facts.label(source)))
            return


def _becomes_message(name: str, facts: Facts) -> bool:
    """Whether a list of results is sent: as the content of a message that is added, or as messages."""
    for node in facts.of(ast.Call) if name else ():
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if node.func.attr not in {"append", "extend"} or facts.conviction(node.func.value) is None:
            continue
        added = node.args[0]
        if isinstance(added, ast.Dict):
            pairs = zip(added.keys, added.values, strict=True)
            added = next((value for key, value in pairs if constant(key) in {"content", "parts"}), added)
        if spell(added) == name:
            return True
    return False


def _is_result(node: ast.expr, loop: ast.AST) -> bool:
    """Whether what is added is the result of a tool."""
    if isinstance(node, ast.Name):
        made = [
            inner.value
            for inner in ast.walk(loop)
            if isinstance(inner, ast.Assign) and any(spell(target) == node.id for target in inner.targets)
        ]
        return any(_is_result(value, loop) for value in made if not isinstance(value, ast.Name))
    if isinstance(node, ast.Call):
        return role_of(node) == "tool"
    if not isinstance(node, ast.Dict):
        return False
    keys = {constant(key) for key in node.keys}
    said = {constant(value) for value in node.values}
    return bool(keys & {"tool_call_id", "tool_use_id", "call_id", "toolUseId", "toolResult"}) or bool(
        said & {"tool", "tool_result", "function_call_output"}
    )


def _completion_source(node: ast.expr, facts: Facts) -> ast.expr | None:
    """The call that yields things as they finish: ``as_completed``, or the ``done`` of `asyncio.wait`."""
    if isinstance(node, ast.Await):
        return _completion_source(node.value, facts)
    if isinstance(node, ast.Call):
        return node if _COMPLETION.fullmatch(called_name(node)) else None
    name = spell(node)
    for other in facts.of(ast.Assign) if name else ():
        if isinstance(other, ast.Assign) and isinstance(other.targets[0], ast.Tuple):
            value = other.value.value if isinstance(other.value, ast.Await) else other.value
            first = other.targets[0].elts[0]
            waits = isinstance(value, ast.Call) and called_name(value) in {
                "asyncio.wait",
                "concurrent.futures.wait",
                "wait",
            }
            if waits and spell(first) == name:
                return value
    return None


def _listed(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    name = called_name(node)
    if _MCP_CLASS.fullmatch(name):
        cached = any(k.arg == "cache_tools_list" and constant(k.value) is not False for k in node.keywords)
        if not cached and "agents" in facts.module.imports.get(name.split(".")[0], ""):
            yield facts.practice("PC305", Severity.INFO, node, _UNPINNED.format(name))
        return
    if not _LISTING.fullmatch(name):
        return
    reaches = facts.turns(node) is not None or any(
        is_model_call(call) and any(k.arg == "tools" for k in call.keywords) for call in facts.calls
    )
    if reaches and not _is_sorted(node, facts):
        yield facts.practice("PC305", Severity.WARNING, node, _UNPINNED.format(facts.label(node)))


def _is_sorted(node: ast.AST, facts: Facts) -> bool:
    """Whether the listing is put in an order of one's own before it is used."""
    if any(isinstance(o, ast.Call) and called_name(o) == "sorted" for o in facts.around(node)):
        return True
    statement = facts.statement(node)
    if not isinstance(statement, ast.Assign):
        return False
    name = spell(statement.targets[0])
    return any(
        isinstance(other, ast.Call)
        and called_name(other) == "sorted"
        and any(spell(inner).split(".")[0] == name for inner in ast.walk(other))
        for other in facts.nodes
    )


def _remote(node: ast.Dict, facts: Facts) -> Iterator[Practice]:
    """A tool that is a whole MCP server, without the list of the tools that are wanted."""
    fields = {constant(key): constant(value) for key, value in zip(node.keys, node.values, strict=True)}
    is_server = fields.get("type") == "mcp" and "server_url" in fields
    if is_server and "allowed_tools" not in fields:
        yield facts.practice("PC305", Severity.INFO, node, _UNPINNED.format("mcp"))
