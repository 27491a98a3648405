"""Answers of which only some kinds of blocks are sent back, where the model has been asked to think."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import called_name, constant, spell

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["keeps_some_kinds", "loop_keeps_some_kinds"]

_THINKS = re.compile(
    r"budget_tokens|thinking\s*=\s*(?!None|False)|[\"']thinking[\"']\]?\s*[:=]\s*(?!None|False)|adaptive_thinking"
    r"|reasoning(?:_effort)?\s*=\s*(?!None|False)"
)
_KEPT = {"text", "tool_use", "server_tool_use", "output_text", "function_call", "message"}
_CLASSES = re.compile(r"(?:.*\.)?(?:Text|ToolUse)(?:Block|Content|Part)\w*")
_COPIES = {"model_dump", "to_dict", "dict", "copy", "asdict"}


def keeps_some_kinds(node: ast.ListComp | ast.GeneratorExp, facts: Facts) -> bool:
    """Whether only text and calls are taken over: ``[b for b in r.content if b.type == "text"]``."""
    generator = node.generators[0]
    block = spell(generator.target)
    if not block or not _is_itself(node.elt, block) or not _is_content(generator.iter):
        return False
    return any(_names_kinds(test, block) for test in generator.ifs) and _thinks(facts)


def loop_keeps_some_kinds(loop: ast.For, facts: Facts, sent_back: Callable[[str], bool]) -> bool:
    """The same in a loop: ``if b.type == "text": parts.append(b)``, where the parts are sent back."""
    block = spell(loop.target)
    if not block or not _is_content(loop.iter) or not _thinks(facts):
        return False
    lists = {
        spell(node.func.value)
        for node in ast.walk(loop)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append"
        if any(_is_of(argument, block) for argument in node.args)
        if any(_lets_pass_some(outer, block) for outer in facts.around(node))
    }
    if not lists - {""} or _takes_the_rest(loop, block):
        return False
    written = ast.unparse(loop)
    if "thinking" in written or "reasoning" in written:
        return False
    return any(sent_back(name) for name in sorted(lists - {""}))


def _lets_pass_some(node: ast.AST, block: str) -> bool:
    """Whether only some kinds come past a test, or into the cases of a match."""
    match node:
        case ast.If(test=test):
            return _names_kinds(test, block)
        case ast.Match(subject=subject, cases=cases):
            return _is_kind(subject, block) and any(_kinds_of(case.pattern) for case in cases)
        case _:
            return False


def _kinds_of(pattern: ast.pattern) -> set[object]:
    """The kinds that a case names; none where it takes any."""
    match pattern:
        case ast.MatchValue(value=value):
            return {constant(value)}
        case ast.MatchOr(patterns=patterns):
            return set().union(*map(_kinds_of, patterns))
        case _:
            return set()


def _takes_the_rest(loop: ast.For, block: str) -> bool:
    """Whether blocks are taken whatever their kind: behind a last ``else``, or outside of tests."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Match) and _is_kind(node.subject, block):
            others = [case for case in node.cases if not _KEPT >= _kinds_of(case.pattern) > set()]
            return any(_is_of(inner, block) for case in others for inner in case.body)
        if isinstance(node, ast.If) and _names_kinds(node.test, block):
            rest = node.orelse
            if rest and not (len(rest) == 1 and isinstance(rest[0], ast.If)):
                return any(_is_of(inner, block) for inner in rest)
    return False


def _thinks(facts: Facts) -> bool:
    text = facts.module.source.text
    return ("thinking" in text or "reasoning" in text or "budget_tokens" in text) and _says_think(text)


@lru_cache(maxsize=4)  # asked for each loop of a module, one module after another
def _says_think(text: str) -> bool:
    return _THINKS.search(text) is not None


def _is_content(node: ast.expr) -> bool:
    return spell(node).rpartition(".")[2] in {"content", "output", "blocks"}


def _is_itself(node: ast.expr, block: str) -> bool:
    """The block, or a copy of it."""
    match node:
        case ast.Name(id=name):
            return name == block
        case ast.Call():
            return called_name(node).rpartition(".")[2] in _COPIES and _is_of(node, block)
        case _:
            return False


def _is_of(node: ast.AST, block: str) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id == block for inner in ast.walk(node))


def _names_kinds(test: ast.expr, block: str) -> bool:
    """Whether a test lets pass no more than some kinds that are named: by comparison, or by class."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=values):
            return all(_names_kinds(value, block) for value in values)
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_names_kinds(value, block) for value in values)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[kind]):
            return _is_kind(left, block) and constant(kind) in _KEPT
        case ast.Compare(
            left=left, ops=[ast.In()], comparators=[ast.Tuple() | ast.List() | ast.Set() as kinds]
        ):
            named = [constant(kind) for kind in kinds.elts]
            return _is_kind(left, block) and bool(named) and all(kind in _KEPT for kind in named)
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), given]):
            classes = given.elts if isinstance(given, ast.Tuple) else [given]
            return name == block and all(_CLASSES.fullmatch(spell(each)) for each in classes)
        case _:
            return False


def _is_kind(node: ast.expr, block: str) -> bool:
    """``b.type``, ``b["type"]``, ``b.get("type")``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return spell(node.func.value) == block and bool(node.args) and constant(node.args[0]) == "type"
    return spell(node) == f"{block}.type"
