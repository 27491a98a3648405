"""What changes between two requests of one conversation although nothing is said.

Model, parameters, tools.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.choices import (
    changes_by_turn,
    chosen_by_setting,
    in_handler,
    variants,
)
from promptcache_lint.readers.python.conversations.facts import called_name, constant, spell
from promptcache_lint.readers.python.conversations.growing import growth, moved_key
from promptcache_lint.readers.python.conversations.named import resolved
from promptcache_lint.readers.python.conversations.options import options_of
from promptcache_lint.readers.python.conversations.picking import (
    is_looked_up,
    is_made_for,
    is_picked,
    picked_in,
)

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
_OF_THE_TURN = re.compile(
    r"question|query|messages?$|text|state|step|turn|intent|topic|history|input|last|task|relevant|selected|chosen"
    r"|picked|active|current|retriev|search|match|recent|used|found",
    re.IGNORECASE,
)
_SAYS = {
    "PC302": "The tools ({}) change inside a conversation: they come first, so all of the prompt is new.",
    "PC503": "The model ({}) changes inside a conversation: another model has another cache.",
    "PC504": "`{}` ({}) changes inside a conversation, and with it the prompt the provider builds.",
}


def switches(facts: Facts) -> Iterator[Practice]:
    """PC302, PC503 and PC504."""
    for practice in _switches(facts):
        if practice.code == "PC302" and facts.function is not None:
            yield replace(practice, within=facts.module.place(facts.node))
        else:
            yield practice


def _switches(facts: Facts) -> Iterator[Practice]:
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
        yield from _options(call, facts)


def _options(call: ast.Call, facts: Facts) -> Iterator[Practice]:
    """``options["thinking"] = …`` where the turn decides on it, and then ``**options``."""
    for name, place, proven in options_of(call, facts):
        code = "PC503" if name == "model" else "PC302" if name in _TOOLS else "PC504"
        if code != "PC504" or name in _PARAMETERS:
            says = _SAYS[code].format(*([name] if code == "PC504" else []), facts.label(place))
            severity = Severity.ERROR if proven and name != "tool_choice" else Severity.WARNING
            yield facts.practice(code, severity, place, says)


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


def _model(call: ast.Call, keyword: ast.keyword, facts: Facts) -> Iterator[Practice]:
    value = resolved(keyword.value, facts)
    label = facts.label(value)
    if isinstance(value, ast.Call):
        name = called_name(value)
        if _DRAWS.fullmatch(name):
            yield facts.practice("PC503", Severity.ERROR, value, _SAYS["PC503"].format(label))
        elif (_CHOOSES.fullmatch(name) and (value.args or value.keywords)) or is_picked(value, facts):
            yield facts.practice("PC503", Severity.WARNING, value, _SAYS["PC503"].format(label))
        return
    if is_looked_up(value, facts):
        yield facts.practice("PC503", Severity.WARNING, value, _SAYS["PC503"].format(label))
        return
    chosen = variants(keyword.value, call, facts)
    if chosen is not None and not in_handler(chosen, facts):
        severity = Severity.ERROR if changes_by_turn(chosen, call, facts) else Severity.WARNING
        yield facts.practice("PC503", severity, chosen, _SAYS["PC503"].format(facts.label(chosen)))


def _parameter(call: ast.Call, keyword: ast.keyword, facts: Facts) -> Iterator[Practice]:
    chosen = variants(keyword.value, call, facts)
    picked = picked_in(keyword.value, facts) if chosen is None else None
    if picked is not None:
        says = _SAYS["PC504"].format(keyword.arg, facts.label(picked))
        yield facts.practice("PC504", Severity.WARNING, picked, says)
    if chosen is None or in_handler(chosen, facts):
        return
    changes = changes_by_turn(chosen, call, facts)
    if not changes and chosen_by_setting(chosen, facts):
        return
    # A forced tool choice touches no more than the messages, and with some providers nothing.
    severity = Severity.ERROR if changes and keyword.arg != "tool_choice" else Severity.WARNING
    says = _SAYS["PC504"].format(keyword.arg, facts.label(chosen))
    yield facts.practice("PC504", severity, chosen, says)


def _tools(call: ast.Call, given: ast.expr, facts: Facts) -> Iterator[Practice]:
    loop = facts.turns(call)
    value = resolved(given, facts)
    in_loop = loop is not None and isinstance(value, ast.ListComp) and facts.turns(value) is not None
    severity = Severity.ERROR if in_loop else Severity.WARNING  # what a call gives may be the same each time
    says = _SAYS["PC302"].format(facts.label(value))
    grown = growth(value, facts)
    if grown is not None:
        node, sure = grown
        yield facts.practice("PC302", sure, value, says, source=node)
        return
    if (moved := moved_key(value, facts)) is not None:
        yield facts.practice("PC302", Severity.WARNING, value, says, source=moved)
        return
    if isinstance(value, ast.ListComp):
        if _filters_by_turn(value, loop, facts):
            yield facts.practice("PC302", severity, value, says)
        return
    chooses = isinstance(value, ast.Call) and (
        _CHOOSES_TOOLS.fullmatch(called_name(value)) or is_made_for(value, facts)
    )
    if isinstance(value, ast.Call) and chooses and _is_given_the_turn(value, facts):
        yield facts.practice("PC302", severity, value, says)
        return
    chosen = variants(given, call, facts)
    if chosen is None or in_handler(chosen, facts):
        yield from _grown_tools(spell(given), loop, facts)
        return
    changes = changes_by_turn(chosen, call, facts)
    if changes or not chosen_by_setting(chosen, facts):
        severity = Severity.ERROR if changes else Severity.WARNING
        yield facts.practice("PC302", severity, chosen, _SAYS["PC302"].format(facts.label(chosen)))


def _is_given_the_turn(call: ast.Call, facts: Facts) -> bool:
    """Whether a function is given what may be another value in the next turn."""
    named = [each.value for each in call.keywords if each.arg is not None and _OF_THE_TURN.search(each.arg)]
    return not all(_is_constant(resolved(each, facts)) for each in [*call.args, *named])


def _is_constant(node: ast.expr) -> bool:
    """Whether a value is written out, or is a constant's."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return all(map(_is_constant, items))
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and _is_constant(key) for key in keys) and all(
                map(_is_constant, values)
            )
        case _:
            return constant(node) is not ... or (
                bool(spell(node)) and spell(node).rpartition(".")[2].isupper()
            )


def _filters_by_turn(node: ast.ListComp, loop: ast.AST | None, facts: Facts) -> bool:
    """Whether a filter looks at more than the tool itself: at the state, the question, the step."""
    own = {spell(inner) for generator in node.generators for inner in ast.walk(generator.target)}
    for test in (test for generator in node.generators for test in generator.ifs):
        if _is_of_a_list(test, loop, facts):
            continue
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


def _is_of_a_list(test: ast.expr, loop: ast.AST | None, facts: Facts) -> bool:
    """``name in allowed``: of names that last, as far as they, and what they are made of, tell."""
    match test:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]):
            pass
        case _:
            return False
    made = resolved(test.comparators[0], facts)
    if loop is not None and any(inner is made for inner in ast.walk(loop)):
        return False
    words = {name, *(spell(inner) for inner in ast.walk(made) if isinstance(inner, ast.Name | ast.Attribute))}
    return not any(_OF_THE_TURN.search(word) for word in words)


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
