"""What changes between two requests of one conversation although nothing is said.

Model, parameters, tools.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.facts import called_name, constant, spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["switches"]

_PARAMETERS = {
    *("tool_choice", "thinking", "reasoning", "reasoning_effort", "response_format", "output_config"),
    *("text_format", "effort", "speed", "verbosity", "chat_template_kwargs", "enable_thinking"),
    *("parallel_tool_calls", "betas", "output_format", "text"),
}
_TOOLS = {"tools", "functions"}
_MESSAGES = {"messages", "input", "contents", "message_history"}
_DRAWS = re.compile(r"(?:random\.)?(?:choice|choices|sample|randint)|next")
_CHOOSES = re.compile(
    r"(?:.*\.)?_?(?:pick|choose|select|route|decide|best|get)\w*model\w*|(?:.*\.)?_?model_for\w*"
)
_CHOOSES_TOOLS = re.compile(
    r"(?:.*\.)?_?(?:select|filter|pick|choose|retrieve|search|relevant|rank|match|find|available|active|enabled|"
    r"allowed|get_relevant|get_available|get_active|load)\w*(?:tool|function)s?\w*"
)
_SAYS = {
    "PC302": "The tools ({}) change inside a conversation: they come first, so all of the prompt is new.",
    "PC503": "The model ({}) changes inside a conversation: another model has another cache.",
    "PC504": "`{}` ({}) changes inside a conversation, and with it the prompt the provider builds.",
}


def switches(facts: Facts) -> Iterator[Practice]:
    """PC302, PC503 and PC504."""
    yield from _bound(facts)
    for call in facts.calls:
        if not _converses(call, facts):
            continue
        for keyword in call.keywords:
            if keyword.arg == "model":
                yield from _model(call, keyword, facts)
            elif keyword.arg in _PARAMETERS:
                yield from _parameter(call, keyword, facts)
            elif keyword.arg in _TOOLS:
                yield from _tools(call, keyword.value, facts)


def _bound(facts: Facts) -> Iterator[Practice]:
    """``llm.bind_tools(chosen).invoke(state["messages"])``."""
    for node in facts.of(ast.Call):
        if isinstance(node, ast.Call) and called_name(node).endswith(".bind_tools") and node.args:
            talks = any(facts.conviction(other) for other in facts.of(ast.Name, ast.Attribute, ast.Subscript))
            if talks:
                yield from _tools(node, node.args[0], facts)


def _converses(call: ast.Call, facts: Facts) -> bool:
    """Whether the call carries on a conversation.

    Its messages are kept, or it stands in a loop that adds to them.
    """
    names = {
        name
        for keyword in call.keywords
        if keyword.arg in _MESSAGES
        for inner in ast.walk(keyword.value)
        if (name := spell(inner)) and name in facts.sure
    }
    if not names:
        return False
    if any("." in name or "history" in name or "conversation" in name for name in names):
        return True
    parameters = {node.arg for node in facts.nodes if isinstance(node, ast.arg)}
    if names & parameters:
        return True
    loop = facts.turns(call)
    return loop is not None and any(_grows(node, names) for node in ast.walk(loop))


def _grows(node: ast.AST, names: set[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="append" | "extend")):
            return spell(node.func.value) in names  # type: ignore[attr-defined]
        case ast.AugAssign():
            return spell(node.target) in names
        case _:
            return False


def _variants(value: ast.expr, call: ast.Call, facts: Facts) -> ast.expr | None:
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
    found = _reaching(found, call, facts)
    chosen = next(
        (node for node in found if isinstance(node, ast.IfExp) and not _asks_for_default(node)), None
    )
    if chosen is not None:
        return chosen
    loop = facts.turns(call)
    later = [node for node in found if loop is not None and facts.turns(node) is loop]
    different = {ast.unparse(node) for node in found}
    if len(different) > 1 and (later or all(_in_branch(node, facts) for node in found[1:])):
        return (later or found)[-1]
    return None


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
    """``x if x else DEFAULT``: decided by the caller, the same all along."""
    tested = {spell(inner) for inner in ast.walk(node.test) if spell(inner)}
    return spell(node.body) in tested or spell(node.orelse) in tested


def _in_branch(node: ast.AST, facts: Facts) -> bool:
    return any(isinstance(outer, ast.If | ast.Match) for outer in facts.around(node))


def _changes(chosen: ast.expr, call: ast.Call, facts: Facts) -> bool:
    """Whether what decides is known to change from turn to turn.

    The loop's own names, or the conversation's length.
    """
    decider: ast.AST = chosen.test if isinstance(chosen, ast.IfExp) else chosen
    if not isinstance(chosen, ast.IfExp):
        decider = next((o.test for o in facts.around(chosen) if isinstance(o, ast.If)), chosen)
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


def _model(call: ast.Call, keyword: ast.keyword, facts: Facts) -> Iterator[Practice]:
    value = _resolved(keyword.value, facts)
    label = facts.label(value)
    if isinstance(value, ast.Call):
        name = called_name(value)
        if _DRAWS.fullmatch(name):
            yield facts.practice("PC503", Severity.ERROR, value, _SAYS["PC503"].format(label))
        elif _CHOOSES.fullmatch(name) and (value.args or value.keywords):
            yield facts.practice("PC503", Severity.WARNING, value, _SAYS["PC503"].format(label))
        return
    chosen = _variants(keyword.value, call, facts)
    if chosen is not None and not _in_handler(chosen, facts):
        severity = Severity.ERROR if _changes(chosen, call, facts) else Severity.WARNING
        yield facts.practice("PC503", severity, chosen, _SAYS["PC503"].format(facts.label(chosen)))


def _in_handler(node: ast.AST, facts: Facts) -> bool:
    """A fallback after an error is no ordinary traffic."""
    return any(isinstance(outer, ast.ExceptHandler) for outer in facts.around(node))


def _parameter(call: ast.Call, keyword: ast.keyword, facts: Facts) -> Iterator[Practice]:
    chosen = _variants(keyword.value, call, facts)
    if chosen is None or _in_handler(chosen, facts):
        return
    changes = _changes(chosen, call, facts)
    if not changes and _chosen_by_setting(chosen):
        return
    # A forced tool choice touches no more than the messages, and with some providers nothing.
    severity = Severity.ERROR if changes and keyword.arg != "tool_choice" else Severity.WARNING
    says = _SAYS["PC504"].format(keyword.arg, facts.label(chosen))
    yield facts.practice("PC504", severity, chosen, says)


def _chosen_by_setting(chosen: ast.expr) -> bool:
    """``… if self.thinking else …``: a setting of the object, not of the turn."""
    return isinstance(chosen, ast.IfExp) and all(
        (name := spell(inner)) == ""
        or name.startswith(("self", "cls", "settings", "config"))
        or name.isupper()
        for inner in ast.walk(chosen.test)
        if isinstance(inner, ast.Name | ast.Attribute)
    )


def _resolved(value: ast.expr, facts: Facts) -> ast.expr:
    """A name's only assignment in the function, where there is one."""
    name = spell(value)
    if not name or "." in name:
        return value
    found = [
        node.value
        for node in facts.of(ast.Assign)
        if isinstance(node, ast.Assign) and any(spell(target) == name for target in node.targets)
    ]
    return found[0] if len(found) == 1 else value


def _tools(call: ast.Call, given: ast.expr, facts: Facts) -> Iterator[Practice]:
    loop = facts.turns(call)
    value = _resolved(given, facts)
    severity = Severity.ERROR if loop is not None else Severity.WARNING
    says = _SAYS["PC302"].format(facts.label(value))
    if isinstance(value, ast.ListComp):
        if _filters_by_turn(value):
            yield facts.practice("PC302", severity, value, says)
        return
    chooses = isinstance(value, ast.Call) and _CHOOSES_TOOLS.fullmatch(called_name(value))
    if isinstance(value, ast.Call) and chooses and any(not _is_constant(arg) for arg in value.args):
        yield facts.practice("PC302", severity, value, says)
        return
    chosen = _variants(given, call, facts)
    if chosen is None or _in_handler(chosen, facts):
        yield from _grown_tools(spell(given), loop, facts)
        return
    changes = _changes(chosen, call, facts)
    if changes or not _chosen_by_setting(chosen):
        severity = Severity.ERROR if changes else Severity.WARNING
        yield facts.practice("PC302", severity, chosen, _SAYS["PC302"].format(facts.label(chosen)))


def _is_constant(node: ast.expr) -> bool:
    return constant(node) is not ... or (bool(spell(node)) and spell(node).rpartition(".")[2].isupper())


def _filters_by_turn(node: ast.ListComp) -> bool:
    """Whether a filter looks at more than the tool itself: at the state, the question, the step."""
    own = {spell(inner) for generator in node.generators for inner in ast.walk(generator.target)}
    for test in (test for generator in node.generators for test in generator.ifs):
        for inner in ast.walk(test):
            name = spell(inner) if isinstance(inner, ast.Name) else ""
            if (
                name
                and name not in own
                and not name.isupper()
                and name not in {"isinstance", "getattr", "len", "callable", "self"}
            ):
                return True
            if (
                isinstance(inner, ast.Attribute)
                and spell(inner).startswith("self.")
                and "state" in spell(inner)
            ):
                return True
    return False


def _grown_tools(name: str, loop: ast.AST | None, facts: Facts) -> Iterator[Practice]:
    """``tools.append(…)`` between two turns."""
    if loop is None or not name:
        return
    for node in ast.walk(loop):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="append" | "remove" | "extend" | "pop" | "insert" | "clear")
            ):
                changed = spell(node.func.value)  # type: ignore[attr-defined]
            case ast.AugAssign():
                changed = spell(node.target)
            case _:
                continue
        if changed == name:
            label = facts.label(node)
            yield facts.practice("PC302", Severity.ERROR, node, _SAYS["PC302"].format(label))
            return
