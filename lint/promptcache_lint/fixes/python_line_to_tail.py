"""Moving a line with a volatile value to the tail of the last user message, in Python code.

Both must stand in the same function, so that the names in the line mean the same in its new place. The line
is cut out of its string literal and added to the content of the message as a literal of its own.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import TYPE_CHECKING

from promptcache_lint.fixes.edits import insertion, node_range, place_range, replacement
from promptcache_lint.fixes.fix import Edit, Fix
from promptcache_lint.fixes.line_to_tail import MESSAGE
from promptcache_lint.prompts import flatten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptcache_lint.findings import Finding
    from promptcache_lint.places import Source
    from promptcache_lint.prompts import Prompt

__all__ = ["propose"]

_LITERAL = re.compile(r"(?P<prefix>[A-Za-z]*)(?P<quote>\"\"\"|'''|\"|')")
_BREAK = re.compile(r"(?<!\\)(?:\\\\)*\\n|\n")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FSTRING_START = getattr(tokenize, "FSTRING_START", -1)
_FSTRING_END = getattr(tokenize, "FSTRING_END", -1)


def propose(finding: Finding, source: Source, tree: ast.Module, prompts: Sequence[Prompt]) -> Iterator[Fix]:
    """At most one change for each request that holds the finding and ends in a message of the user."""
    if finding.place.path != source.path:
        return
    where = place_range(source, finding.place)
    for prompt in prompts:
        if not any(p.place == finding.place for segment in prompt.segments for p in flatten(segment.parts)):
            continue
        request = place_range(source, prompt.place)
        content = _user_content(source, tree, request)
        if content is None or _function_at(source, tree, where[0]) is not _function_at(
            source, tree, request[0]
        ):
            continue
        cut = _cut(source, *where)
        if cut is not None:
            edit, literal = cut
            yield Fix(MESSAGE, safe=False, edits=(edit, _added(source, content, literal)))


def _user_content(source: Source, tree: ast.Module, request: tuple[int, int]) -> ast.expr | None:
    """The content of the last message in the request, if it is the user's and a text."""
    row = source.position(request[0])[0]
    for node in _over_row(tree, row):
        if isinstance(node, ast.Call) and node.lineno == row and node_range(source, node) == request:
            for keyword in node.keywords:
                if keyword.arg in {"messages", "input"} and isinstance(keyword.value, ast.List):
                    return _content(keyword.value)
    return None


def _content(messages: ast.List) -> ast.expr | None:
    last = messages.elts[-1] if messages.elts else None
    if not isinstance(last, ast.Dict):
        return None
    fields = {
        key.value: value
        for key, value in zip(last.keys, last.values, strict=True)
        if isinstance(key, ast.Constant)
    }
    role, content = fields.get("role"), fields.get("content")
    is_user = isinstance(role, ast.Constant) and role.value == "user"
    return content if is_user and not isinstance(content, ast.List | ast.Tuple) else None


def _over_row(tree: ast.Module, row: int) -> Iterator[ast.AST]:
    """The nodes of a tree, outer ones first, but for statements that end before a row or begin behind it."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
            if not first <= row <= (node.end_lineno or node.lineno):
                continue
        yield node
        pending += ast.iter_child_nodes(node)


def _function_at(source: Source, tree: ast.Module, offset: int) -> ast.AST:
    found: ast.AST = tree
    row = source.position(offset)[0]
    for node in _over_row(tree, row):
        if isinstance(node, _FUNCTIONS) and node.lineno <= row <= (node.end_lineno or node.lineno):
            found = node  # walked from the outside in
    return found


def _added(source: Source, content: ast.expr, literal: str) -> Edit:
    start, end = node_range(source, content)
    text = source.text[start:end]
    simple = isinstance(
        content, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant | ast.JoinedStr
    )
    several = isinstance(content, ast.Constant | ast.JoinedStr) and "\n" in text
    if simple and not several:
        return insertion(source, end, f" + {literal}")
    return replacement(source, start, end, f"({text}) + {literal}")


def _cut(source: Source, start: int, end: int) -> tuple[Edit, str] | None:
    """The edit that takes the line around ``[start, end)`` out of its literal, and the line as a literal."""
    for first, last in _literals(source):
        if not (first < start and end < last):
            continue
        match = _LITERAL.match(source.text, first)
        if match is None or set(match["prefix"].lower()) - {"f"}:
            return None
        body, close = match.end(), last - len(match["quote"])
        begin = max((found.end() for found in _BREAK.finditer(source.text, body, start)), default=body)
        found = _BREAK.search(source.text, end, close)
        if found is None and begin == body:
            return None  # the whole literal is one line: what would be left?
        line = source.text[begin : found.start() if found else close]
        if found is None:
            begin = max(earlier.start() for earlier in _BREAK.finditer(source.text, body, start))
        edit = replacement(source, begin, found.end() if found else close, "")
        line = line.strip()
        quote = match["quote"] if match["quote"][0] in line else match["quote"][0]
        return edit, f"{match['prefix']}{quote}\\n\\n{line}{quote}"
    return None


def _literals(source: Source) -> Iterator[tuple[int, int]]:
    """The ranges of the string literals, each piece of a concatenation by itself."""
    open_: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            start = source.offset(token.start[0], token.start[1] + 1)
            end = source.offset(token.end[0], token.end[1] + 1)
            if token.type == _FSTRING_START:
                open_.append(start)
            elif token.type == _FSTRING_END:
                first = open_.pop()
                if not open_:
                    yield first, end
            elif token.type == tokenize.STRING and not open_:
                yield start, end
    except (tokenize.TokenError, SyntaxError):
        return
