"""Messages that are changed after they were sent: earlier ones, and the system prompt."""

from __future__ import annotations

import ast
import re
from itertools import takewhile
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.batches import at_times
from promptcache_lint.readers.python.conversations.changing import as_far_as_seen
from promptcache_lint.readers.python.conversations.facts import (
    called_name,
    constant,
    converts,
    role_of,
    spell,
)
from promptcache_lint.readers.python.conversations.message_loops import FIELDS, is_field, loop_of
from promptcache_lint.readers.python.conversations.overtaking import is_overtaken
from promptcache_lint.readers.python.conversations.own_lists import is_copy, is_fresh
from promptcache_lint.readers.python.conversations.rebuilding import (
    gone_through,
    mapped,
    rebuilt,
    spares_newest,
)
from promptcache_lint.readers.python.conversations.steady import is_cleaned, is_fixed, is_own

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["edits"]

_SETS = ("set_", "update_system", "change_system", "replace_system", "reset_system")
_SYSTEM_NAMES = {
    *("system", "system_prompt", "system_message", "instructions", "sys_prompt", "system_instruction"),
}
_FROM_END = re.compile(r"len\([\w.\[\]'\"]+\)\s*-\s*+(?!1\b)|\[[^\]:]*:\s*-|-\s*len\(")
_MARKS = re.compile(r"cache_?(?:control|point|mark|break)|breakpoint|mark_", re.IGNORECASE)
_EARLIER = "`{}` changes a message that was already sent: all behind it is computed again."
_SYSTEM = "`{}` changes the system prompt of a running conversation: nothing of it can be reused."


def edits(facts: Facts) -> Iterator[Practice]:
    """PC403 and PC502; a function that writes messages in another form changes nothing that is kept."""
    if converts(facts.name) or _MARKS.search(facts.name):
        return  # a breakpoint is no content
    for node in facts.of(ast.Assign, ast.AugAssign, ast.Delete, ast.Call, ast.ListComp):
        match node:
            case ast.Assign():
                for target in node.targets:
                    yield from _stored(target, node.value, facts)
            case ast.AugAssign():
                yield from _stored(node.target, None, facts)
            case ast.Delete():
                for target in node.targets:
                    yield from _deleted(target, facts)
            case ast.Call(func=ast.Attribute(attr="remove" | "pop" | "insert")):
                yield from _called(node, facts)
            case ast.Call():
                yield from mapped(node, facts)
            case ast.ListComp():
                yield from rebuilt(node, facts)


def _message_of(target: ast.expr) -> tuple[ast.expr | None, str]:
    """The message a target belongs to, and its field: ``m["content"]``, ``m.content[0]["text"]``."""
    field = ""
    at: ast.expr = target
    while True:
        match at:
            case ast.Subscript(slice=ast.Constant(value=str() as key)):
                field, at = key, at.value
            case ast.Attribute() if at.attr in FIELDS:
                field, at = at.attr, at.value
            case ast.Subscript(slice=ast.Constant(value=int())) if (
                field and isinstance(at.value, ast.Subscript | ast.Attribute) and is_field(at.value)
            ):
                at = at.value
            case _:
                return at, field


def _stored(target: ast.expr, value: ast.expr | None, facts: Facts) -> Iterator[Practice]:
    yield from _system_grown(target, value, facts)
    message, field = _message_of(target)
    if field and field not in FIELDS:
        return
    if isinstance(message, ast.Subscript) and not isinstance(message.slice, ast.Slice):
        yield from _by_index(target, message, value, facts)
    elif isinstance(message, ast.Name) and field and message is not target:
        yield from _by_loop(target, message.id, value, facts)


def _by_index(
    target: ast.expr, message: ast.Subscript, value: ast.expr | None, facts: Facts
) -> Iterator[Practice]:
    sure = facts.conviction(message.value)
    index = constant(message.slice)
    if sure is None or index == -1 or _counts_last(message.slice) or isinstance(index, str):
        return
    if index == 0:
        if message is target and role_of(value) not in {"system", "developer"}:
            return
        if not (is_fresh(message.value, target, facts) or is_fixed(value) or is_cleaned(target, value)):
            severity = as_far_as_seen(_weight(message.value, target, sure, facts), target, value, facts)
            is_setter = facts.name.startswith(_SETS) and not facts.calls  # it is wanted by who calls it
            severity = Severity.INFO if is_setter else severity
            another = _begins_with_another(message.value, facts)
            code, says = ("PC502", _EARLIER) if another else ("PC403", _SYSTEM)
            yield facts.practice(code, severity, target, says.format(facts.label(target)))
        return
    if is_fresh(message.value, target, facts):
        return
    severity = Severity.INFO  # which message an unknown index means, nobody can say
    if isinstance(index, int):
        prepares = index < 0 and not facts.calls and not spell(message.value).startswith("self.")
        severity = sure if index < 0 else _weight(message.value, target, sure, facts)
        severity = min(severity, Severity.WARNING) if prepares else severity
    elif _is_aged(target, facts):
        severity = sure if message is not target else Severity.WARNING
    yield facts.practice("PC502", severity, target, _EARLIER.format(facts.label(target)))


def _begins_with_another(owner: ast.expr, facts: Facts) -> bool:
    """Whether the first message of a list is seen to be no system message, but somebody else's."""
    name = spell(owner)
    for node in facts.of(ast.Assign, ast.Call):
        match node:
            case ast.Assign(targets=[target], value=ast.List(elts=[first, *_])) if spell(target) == name:
                return role_of(first) in {"user", "assistant"}
            case ast.Call(
                func=ast.Attribute(value=list_, attr="extend"), args=[ast.List(elts=[first, *_])]
            ) if spell(list_) == name:
                return role_of(first) in {"user", "assistant"}
            case _:
                continue
    return False


def _weight(owner: ast.expr, at: ast.AST, sure: Severity, facts: Facts) -> Severity:
    """How grave an edit is: between turns, or of a kept list, it costs; else it may prepare a copy."""
    if facts.turns(at) or any(caller.turns(call) for caller, call in facts.handed):
        return sure
    name = spell(owner)
    if name.startswith(("self.", "cls.")):
        return sure if facts.calls else Severity.WARNING
    given = {node.arg for node in facts.of(ast.arg) if isinstance(node, ast.arg)}
    return Severity.WARNING if name in given and facts.asks() else Severity.INFO


def _is_aged(node: ast.AST, facts: Facts) -> bool:
    """Whether what is edited is chosen by its distance from the end: ``[:-4]``, ``range(len(m) - 4)``."""
    for outer in facts.around(node):
        said = ""
        if isinstance(outer, ast.If | ast.While):
            said = ast.unparse(outer.test)
        elif isinstance(outer, ast.For):
            said = ast.unparse(outer.iter)
        if _FROM_END.search(said):
            return True
    return False


def _counts_last(index: ast.expr) -> bool:
    """``len(messages) - 1``: the newest message, which is new anyway."""
    return isinstance(index, ast.BinOp) and isinstance(index.op, ast.Sub) and constant(index.right) == 1


def _by_loop(target: ast.expr, name: str, value: ast.expr | None, facts: Facts) -> Iterator[Practice]:
    """``for m in messages[:-4]: m["content"] = …``."""
    loop = loop_of(name, target, facts)
    if loop is None:
        return
    iterable, aged = gone_through(loop.iter, facts)
    sure = facts.conviction(iterable)
    if sure is None:
        return
    tests = [ast.unparse(outer.test) for outer in facts.around(target) if isinstance(outer, ast.If)]
    said = " ".join(tests)
    if "'system'" in said or "SystemMessage" in said or "'developer'" in said:
        if is_cleaned(target, value) or (is_copy(iterable, facts) and is_own(target, value)):
            return
        if not is_fixed(value) and not ast.unparse(target).endswith(("['role']", ".role")):
            severity = sure if facts.turns(target) else Severity.WARNING
            severity = as_far_as_seen(severity, target, value, facts)
            yield facts.practice("PC403", severity, target, _SYSTEM.format(facts.label(target)))
        return
    if isinstance(loop.iter, ast.Call) and called_name(loop.iter) == "reversed" and _breaks(loop):
        return
    aged = aged or _is_aged(target, facts) or spares_newest(loop, iterable, facts)
    severity = sure if aged and not at_times(target, iterable, facts) else Severity.INFO
    if not aged and (_is_for_this_call(target, loop, iterable, facts) or is_overtaken(loop, iterable, facts)):
        severity = Severity.WARNING
    if aged or not is_copy(iterable, facts):
        yield facts.practice("PC502", severity, target, _EARLIER.format(facts.label(target)))


def _is_for_this_call(target: ast.expr, loop: ast.For, owner: ast.expr, facts: Facts) -> bool:
    """Whether kept messages are changed that match what the function is given: ``if m["path"] == path``."""
    own = {spell(inner) for inner in ast.walk(loop.target)}
    anew = any(  # ``message = message.copy()``
        isinstance(node, ast.Assign) and own & set(map(spell, node.targets)) for node in ast.walk(loop)
    )
    if anew or not spell(owner).startswith(("self.", "cls.")):
        return False
    given = {node.arg for node in facts.of(ast.arg) if isinstance(node, ast.arg)} - {"self", "cls"}
    around = takewhile(lambda outer: outer is not loop, facts.around(target))
    tests = [outer.test for outer in around if isinstance(outer, ast.If)]
    compared = [inner for test in tests for inner in ast.walk(test) if isinstance(inner, ast.Compare)]
    return any(
        isinstance(side, ast.Name) and side.id in given
        for each in compared
        for side in (each.left, *each.comparators)
    )


def _breaks(loop: ast.For) -> bool:
    return any(isinstance(inner, ast.Break | ast.Return) for inner in ast.walk(loop))


def _system_grown(target: ast.expr, value: ast.expr | None, facts: Facts) -> Iterator[Practice]:
    """``system += …`` between two calls of the model."""
    name = spell(target)
    if name.rpartition(".")[2] not in _SYSTEM_NAMES or isinstance(target, ast.Subscript):
        return
    loop = facts.turns(target)
    grows = value is None or any(spell(inner) == name for inner in ast.walk(value))
    if loop is None or not grows:
        return
    sent = any(spell(keyword.value) == name for call in facts.calls for keyword in call.keywords) or any(
        role_of(node) in {"system", "developer"} and _mentions(node, name) for node in ast.walk(loop)
    )
    if sent:
        yield facts.practice("PC403", Severity.ERROR, target, _SYSTEM.format(name))


def _mentions(node: ast.AST, name: str) -> bool:
    return any(spell(inner) == name for inner in ast.walk(node))


def _deleted(target: ast.expr, facts: Facts) -> Iterator[Practice]:
    if not isinstance(target, ast.Subscript) or (sure := facts.conviction(target.value)) is None:
        return
    index = constant(target.slice)
    if not isinstance(index, int) or index in {0, 1, 2, -1}:
        return
    yield facts.practice("PC502", sure, target, _EARLIER.format(f"del {facts.label(target)}"))


def _called(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    assert isinstance(node.func, ast.Attribute)
    sure = facts.conviction(node.func.value)
    if sure is None or not node.args:
        return
    first = node.args[0]
    match node.func.attr:
        case "remove" if isinstance(facts.parents.get(node), ast.Expr):
            yield facts.practice("PC502", Severity.INFO, node, _EARLIER.format(facts.label(node)))
        case "pop" if isinstance(index := constant(first), int) and index < -1:
            yield facts.practice("PC502", sure, node, _EARLIER.format(facts.label(node)))
        case "insert" if len(node.args) > 1 and facts.turns(node):
            yield from _inserted(node, first, sure, facts)


def _inserted(node: ast.Call, index: ast.expr, sure: Severity, facts: Facts) -> Iterator[Practice]:
    at = constant(index)
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if not isinstance(at, int) or at < 0 or owner is None or is_fresh(owner, node, facts):
        return
    code, says = ("PC403", _SYSTEM) if at == 0 and role_of(node.args[1]) == "system" else ("PC502", _EARLIER)
    yield facts.practice(code, sure, node, says.format(facts.label(node)))
