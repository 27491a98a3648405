"""Lists of messages that are built anew for a request, the older ones in another form than they were sent."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.facts import called_name, spell
from promptcache_lint.readers.python.conversations.tables import entry
from promptcache_lint.readers.python.conversations.uses import use_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["gone_through", "iterated", "mapped", "rebuilt", "spares_newest", "takes_older_along"]

_EARLIER = "`{}` changes a message that was already sent: all behind it is computed again."
_COPIES = {"copy", "deepcopy", "dict", "model_dump", "to_dict", "dump", "asdict", "str", "model_copy"}


def iterated(node: ast.expr) -> tuple[ast.expr, bool]:
    """The list a loop goes through, and whether it is a part chosen from the end."""
    match node:
        case ast.Call(func=ast.Name(id="enumerate" | "reversed" | "list"), args=[inner, *_]):
            return iterated(inner)
        case ast.Subscript(slice=ast.Slice(upper=ast.UnaryOp() | ast.BinOp())):
            return node.value, True
        case ast.Subscript(slice=ast.Slice()):
            return node.value, False
        case _:
            return node, False


def gone_through(node: ast.expr, facts: Facts) -> tuple[ast.expr, bool]:
    """The list of messages a loop goes through, also by a name that is given some of its messages themselves.

    ``results = [m for m in messages if m["role"] == "tool"]`` and then ``for m in results[:-3]``.
    """
    iterable, aged = iterated(node)
    name = iterable.id if isinstance(iterable, ast.Name) else ""
    if not name or facts.conviction(iterable) == Severity.ERROR:
        return iterable, aged
    given = [
        each.value
        for each in facts.of(ast.Assign)
        if isinstance(each, ast.Assign) and any(spell(target) == name for target in each.targets)
    ]
    match given:
        case [
            ast.ListComp(
                elt=ast.Name(id=elt), generators=[ast.comprehension(target=ast.Name(id=own)) as all_]
            )
        ]:
            chosen = all_.iter if elt == own else None
        case [ast.Subscript(slice=ast.Slice()) as part]:
            chosen = part
        case _:
            chosen = None
    if chosen is None:
        return iterable, aged
    inner, earlier = iterated(chosen)
    return (inner, aged or earlier) if facts.conviction(inner) is not None else (iterable, aged)


def spares_newest(loop: ast.For, owner: ast.expr, facts: Facts) -> bool:
    """Whether a loop leaves the newest message alone: ``if index == len(messages) - 1: continue``."""
    last = f"len({spell(owner)}) - 1"
    named = {
        spell(target)
        for node in facts.of(ast.Assign)
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == last
        for target in node.targets
    } - {""}
    ends = {last, f"{spell(owner)}[-1]", *named}
    for statement in loop.body:
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Continue):
            tests = statement.test.values if isinstance(statement.test, ast.BoolOp) else [statement.test]
            if any(_is_one_of(test, ends) for test in tests):
                return True
    return False


def _is_one_of(test: ast.expr, ends: set[str]) -> bool:
    match test:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.GtE()], comparators=[right]):
            return ast.unparse(left) in ends or ast.unparse(right) in ends
        case _:
            return False


def rebuilt(node: ast.ListComp, facts: Facts) -> Iterator[Practice]:
    """``[shorten(m) if i < len(messages) - 4 else m for i, m in enumerate(messages)]``.

    Older ones that go through a function while the newest do not, and tool results left out.
    """
    iterable, aged = iterated(node.generators[0].iter)
    sure = facts.conviction(iterable)
    if sure is None:
        return
    if isinstance(node.elt, ast.IfExp) and "len(" in ast.unparse(node.elt.test):
        yield facts.practice("PC502", sure, node, _EARLIER.format(facts.label(node)))
        return
    if aged and _is_changed(node.elt) and _goes_on_with(node, iterable, facts):
        yield from _found(node, node.elt, sure, facts)
        return
    said = " ".join(ast.unparse(test) for test in node.generators[0].ifs)
    statement = facts.statement(node)
    kept = isinstance(statement, ast.Assign) and facts.conviction(statement.targets[0]) is not None
    if (
        kept
        and ("'tool'" in said or "'function'" in said or "ToolMessage" in said)
        and ("!=" in said or "not " in said)
    ):
        yield facts.practice("PC502", Severity.WARNING, node, _EARLIER.format(facts.label(node)))


def mapped(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    """``[*map(clean, messages[:-1]), messages[-1]]``."""
    match node:
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name() | ast.Attribute() as function, given]):
            iterable, aged = iterated(given)
            sure = facts.conviction(iterable)
            copies = spell(function).rpartition(".")[2] in _COPIES
            if aged and sure is not None and not copies and _goes_on_with(node, iterable, facts):
                yield from _found(node, function, sure, facts)


def takes_older_along(owner: ast.expr, lower: ast.expr, facts: Facts) -> bool:
    """Whether what stands in front of ``messages[-n:]`` is sent too, each message in another form."""
    cut = ast.unparse(lower)
    for node in facts.of(ast.ListComp, ast.Call):
        match node:
            case ast.ListComp(generators=[ast.comprehension(iter=given, ifs=[])]):
                pass
            case ast.Call(func=ast.Name(id="map"), args=[_, given]):
                pass
            case _:
                continue
        match given:
            case ast.Subscript(slice=ast.Slice(upper=ast.expr() as upper)) if ast.unparse(upper) == cut:
                if entry(given.value) == entry(owner):
                    return True
            case _:
                continue
    return False


def _found(node: ast.expr, changed: ast.expr, sure: Severity, facts: Facts) -> Iterator[Practice]:
    severity = use_of(node, sure, facts)
    if severity is not None:
        written = isinstance(changed, ast.Dict)  # what a function does to them is not seen
        severity = severity if written else min(severity, Severity.WARNING)
        yield facts.practice("PC502", severity, node, _EARLIER.format(facts.label(node)))


def _is_changed(element: ast.expr) -> bool:
    """Whether an item is made of a message in another form, and is not a mere copy."""
    match element:
        case ast.Dict():
            return True
        case ast.Call():
            return called_name(element).rpartition(".")[2] not in _COPIES
        case _:
            return False


def _goes_on_with(node: ast.expr, owner: ast.expr, facts: Facts) -> bool:
    """Whether the rest of the same list follows as it is: ``… + messages[-1:]``."""
    inside = {id(inner) for inner in ast.walk(node)}
    statement = facts.statement(node)
    names = {spell(node) for node in getattr(statement, "targets", ())} - {""}
    for other in facts.of(ast.Subscript):
        assert isinstance(other, ast.Subscript)
        if id(other) in inside or spell(other.value) != spell(owner) or not _is_tail(other.slice):
            continue
        if facts.statement(other) is statement:
            return True
        around = facts.statement(other)
        if around is not None and any(spell(inner) in names for inner in ast.walk(around)):
            return True  # ``older = […]``, and then ``older + messages[-1:]``
    return False


def _is_tail(index: ast.expr) -> bool:
    match index:
        case ast.Slice(lower=ast.UnaryOp() | ast.BinOp() | ast.Name(), upper=None):
            return True
        case ast.UnaryOp(op=ast.USub()):
            return True
        case _:
            return False
