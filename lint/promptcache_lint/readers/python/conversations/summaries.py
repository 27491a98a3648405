"""A history that is compacted under another prefix than the conversation's own."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.facts import called_name, constant, role_of, spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["summaries"]

_SUMMARY = re.compile(r"summar|condens|compact|compress", re.IGNORECASE)
_CLASSES = {
    "ConversationSummaryMemory", "ConversationSummaryBufferMemory", "ChatSummaryMemoryBuffer",
    "ChatHistorySummarizationReducer", "SummarizingConversationManager", "SummarizationNode",
    "SummarizationMiddleware",
}  # fmt: skip
_SAYS = "`{}` sends the history under another prefix, so that none of it is read from the cache; {}"
_CURE = "ask for the summary in a last message, behind the same tools and system prompt."


def summaries(facts: Facts) -> Iterator[Practice]:
    """PC506."""
    for node in facts.of(ast.Call):
        if isinstance(node, ast.Call):
            last = called_name(node).rpartition(".")[2]
            if last in _CLASSES and not _is_tool_box(node, facts) and not _asks_another(node, facts):
                yield facts.practice("PC506", Severity.WARNING, node, _SAYS.format(last, _CURE))
    for call in facts.calls:
        history = _history(call, facts)
        system = _own_system(call, facts)
        if history is not None and system is not None:
            yield facts.practice("PC506", Severity.WARNING, call, _SAYS.format(facts.label(system), _CURE))


def _is_tool_box(node: ast.Call, facts: Facts) -> bool:
    """Whether only the methods of what is made are called here, or some that are its own business."""
    statement = facts.parents.get(node)
    name = spell(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    used = [
        facts.parents.get(inner)
        for inner in facts.of(ast.Name)
        if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load)
    ]
    asked = [outer.attr for outer in used if isinstance(outer, ast.Attribute)]
    return bool(asked) and (len(asked) == len(used) or any(name.startswith("_") for name in asked))


def _asks_another(node: ast.Call, facts: Facts) -> bool:
    """Whether the summary is written by another model than the agent's own, which has no prefix in common."""
    own = _model(node)
    agents = (outer for outer in facts.around(node) if isinstance(outer, ast.Call))
    return own is not None and any(_model(agent) not in {None, own} for agent in agents)


def _model(call: ast.Call) -> str | None:
    """The model that a call names."""
    given = [*(keyword.value for keyword in call.keywords if keyword.arg == "model"), *call.args[:1]]
    return next((name for name in map(constant, given) if isinstance(name, str)), None)


def _arguments(call: ast.Call, facts: Facts) -> dict[str, ast.expr]:
    found = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if "messages" not in found and call.args and isinstance(call.args[0], ast.List | ast.Name | ast.BinOp):
        found["messages"] = call.args[0]
    messages = found.get("messages")
    if isinstance(messages, ast.Name):
        made = [
            node.value
            for node in facts.of(ast.Assign)
            if isinstance(node, ast.Assign) and any(spell(target) == messages.id for target in node.targets)
        ]
        if len(made) == 1 and isinstance(made[0], ast.List | ast.BinOp):
            found["messages"] = made[0]
    return found


def _history(call: ast.Call, facts: Facts) -> ast.AST | None:
    """The conversation's messages among those of the call, as messages or flattened into a text."""
    messages = _arguments(call, facts).get("messages")
    if messages is None:
        return None
    for inner in ast.walk(messages):
        if (
            facts.conviction(inner)
            and isinstance(inner, ast.Name | ast.Attribute)
            and _is_passed_on(inner, messages, facts)
        ):
            return inner
    return None


def _is_passed_on(inner: ast.AST, messages: ast.expr, facts: Facts) -> bool:
    if inner is messages or isinstance(messages, ast.BinOp):
        return True
    return any(isinstance(outer, ast.Starred | ast.FormattedValue) for outer in facts.around(inner))


def _own_system(call: ast.Call, facts: Facts) -> ast.expr | None:
    """A system prompt that asks for a summary, and so is not the conversation's."""
    arguments = _arguments(call, facts)
    for name in ("system", "instructions", "system_prompt"):
        value = arguments.get(name)
        if value is not None and _asks_summary(value):
            return value
    messages = arguments.get("messages")
    first = _first(messages)
    if first is not None and role_of(first) in {"system", "developer", "user"} and _asks_summary(first):
        return first
    return None


def _first(messages: ast.expr | None) -> ast.expr | None:
    match messages:
        case ast.List(elts=[first, *_]):
            return first
        case ast.BinOp(op=ast.Add()):
            return _first(messages.left)
        case _:
            return None


def _asks_summary(node: ast.expr) -> bool:
    """Whether a text, or the name of one, speaks of summaries."""
    for inner in ast.walk(node):
        text = constant(inner)
        if isinstance(text, str) and _SUMMARY.search(text):
            return True
        if isinstance(inner, ast.Name) and _SUMMARY.search(inner.id) and inner.id.isupper():
            return True
    return False
