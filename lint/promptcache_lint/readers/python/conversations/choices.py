"""Values that a function chooses between: where, and whether the next turn can choose otherwise."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import constant, spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["OF_THE_TURN", "changes_by_turn", "chosen_by_setting", "in_handler", "variants"]

OF_THE_TURN = re.compile(
    r"(?:\w+_)?(?:text|question|message|messages|history|query|input|utterance|content|prompt|turn|turns|step|steps)"
)
"""Names of what a turn brings, and of how far the conversation is."""
_BOUND = re.compile(r"(?:^|[_.])(?:max|maximum|last|limit|final|total|budget)(?:_|$)", re.IGNORECASE)


def variants(value: ast.expr, call: ast.Call, facts: Facts) -> ast.expr | None:
    """Where a value is chosen: a conditional expression, or two different assignments of the name."""
    if isinstance(value, ast.IfExp):
        if ast.unparse(value.body) == ast.unparse(value.orelse) or _asks_for_default(value):
            return None
        return value
    name = spell(value)
    if not name or "." in name:
        return None
    found = [
        node.value
        for node in facts.of(ast.Assign)
        if isinstance(node, ast.Assign) and any(spell(target) == name for target in node.targets)
    ]
    found = sorted(_reaching(found, call, facts), key=lambda node: (node.lineno, node.col_offset))
    chosen = next(
        (node for node in found if isinstance(node, ast.IfExp) and not _asks_for_default(node)), None
    )
    if chosen is not None:
        return chosen
    loop = facts.turns(call)
    later = [node for node in found if loop is not None and facts.turns(node) is loop]
    different = {ast.unparse(node) for node in found}
    if len(different) < 2:
        return None
    decided = _in_branch(found[0], facts) or _by_what_is_said(found[-1], name, facts)
    if later or (decided and all(_in_branch(node, facts) for node in found[1:])):
        return (later or [node for node in found if _in_branch(node, facts)])[0]
    return None


def _by_what_is_said(node: ast.expr, name: str, facts: Facts) -> bool:
    """Whether another value than the usual one is taken for what the turn says, or how far the talk is."""
    test = next((outer.test for outer in facts.around(node) if isinstance(outer, ast.If)), None)
    words = {said for inner in ast.walk(test) if (said := spell(inner))} if test is not None else set()
    if name in words or any(spell(inner) == name for inner in ast.walk(node)):
        return False  # a name that is completed: ``if "/" not in model: model = …``
    return bool(words & facts.sure) or any(OF_THE_TURN.fullmatch(word.rpartition(".")[2]) for word in words)


def _reaching(values: list[ast.expr], call: ast.Call, facts: Facts) -> list[ast.expr]:
    """Of the values assigned to a name, those that a call outside loops can see.

    ``if a: model = x; ask(model) / else: model = y; ask(model)`` are two calls with one model each.
    """
    if facts.loop(call) is not None:
        return values
    inner: ast.AST = call
    for outer in facts.around(call):
        block = next((b for b in _blocks(outer) if inner in b), [])
        before = [v for v in values if facts.parents[v] in block[: block.index(inner)]] if block else []
        if before:
            return [v for v in values if before[-1].lineno <= v.lineno <= call.lineno]
        inner = outer
    return values


def _blocks(node: ast.AST) -> Iterator[list[ast.AST]]:
    return (
        block for name in ("body", "orelse", "finalbody") if isinstance(block := getattr(node, name, 0), list)
    )


def _asks_for_default(node: ast.IfExp) -> bool:
    """``x if x else DEFAULT``, ``convert(x) if x else None``: decided by the caller, the same all along."""
    tested = {spell(inner) for inner in ast.walk(node.test) if spell(inner)}
    if constant(node.orelse) is None and isinstance(node.body, ast.Call):
        return any(spell(argument) in tested for argument in node.body.args)
    return spell(node.body) in tested or spell(node.orelse) in tested


def _in_branch(node: ast.AST, facts: Facts) -> bool:
    return any(isinstance(outer, ast.If | ast.Match) for outer in facts.around(node))


def changes_by_turn(chosen: ast.expr, call: ast.Call, facts: Facts) -> bool:
    """Whether what decides is known to change from turn to turn.

    The loop's own names, or the conversation's length.
    """
    decider: ast.AST = chosen.test if isinstance(chosen, ast.IfExp) else chosen
    if not isinstance(chosen, ast.IfExp):
        decider = next((o.test for o in facts.around(chosen) if isinstance(o, ast.If)), chosen)
    if _is_in_one_round(decider):
        return False
    words = {name for inner in ast.walk(decider) if (name := spell(inner))}
    if words & facts.sure:
        return True
    loop = facts.turns(call)
    if loop is None:
        return False
    set_there: set[str] = set()
    for node in ast.walk(loop):
        match node:
            case ast.Assign():
                set_there |= {spell(target) for target in node.targets}
            case ast.AugAssign() | ast.For():
                set_there |= {spell(inner) for inner in ast.walk(node.target)}
    return bool(words & set_there)


def _is_in_one_round(test: ast.AST) -> bool:
    """``step == max_steps``, ``i == 0``, ``step >= limit``: the first round, or the last that is allowed.

    ``step % 3 == 0`` comes again.
    """
    match test:
        case ast.Compare(left=ast.Name() | ast.Attribute(), ops=[ast.Eq()], comparators=[bound]):
            return isinstance(constant(bound), int) or _is_bound(bound)
        case ast.Compare(left=ast.Name() | ast.Attribute(), ops=[ast.GtE() | ast.Gt()], comparators=[bound]):
            return _is_bound(bound)
        case _:
            return False


def _is_bound(node: ast.AST) -> bool:
    return any(_BOUND.search(spell(inner)) for inner in ast.walk(node))


def in_handler(node: ast.AST, facts: Facts) -> bool:
    """A fallback after an error is no ordinary traffic."""
    return any(isinstance(outer, ast.ExceptHandler) for outer in facts.around(node))


def chosen_by_setting(chosen: ast.expr, facts: Facts) -> bool:
    """``… if self.thinking else …``: a setting of the object, which no turn is seen to change."""
    changed = {
        spell(target)
        for node in facts.of(ast.Assign)
        if isinstance(node, ast.Assign) and _in_branch(node, facts)
        for target in node.targets
    }
    return isinstance(chosen, ast.IfExp) and all(
        (name := spell(inner)) == ""
        or (name.startswith(("self", "cls", "settings", "config")) and name not in changed)
        or name.isupper()
        for inner in ast.walk(chosen.test)
        if isinstance(inner, ast.Name | ast.Attribute)
    )
