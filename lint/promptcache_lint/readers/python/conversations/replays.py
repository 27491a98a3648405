"""How a model's answer is sent back.

Without its reasoning, with its arguments written anew, with other spaces.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.callers import calls_of, is_given_back, written_by_methods
from promptcache_lint.readers.python.conversations.facts import called_name, constant, role_of, spell
from promptcache_lint.readers.python.conversations.kinds_kept import keeps_some_kinds, loop_keeps_some_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["replays"]

_OPTIONS = re.compile(r"param|option|kwarg|config|setting|payload|request|(?:^|[._])(?:extra_)?body\b")
"""What a request is told beside its messages; reasoning is switched on and off there."""
_REASONING = re.compile(
    r"['\"](?:thinking|redacted_thinking|reasoning|reasoning_content|reasoning_details)['\"]"
)
_THOUGHT = re.compile(r"thinking|reasoning")
_FIELDS = {"thinking", "reasoning", "reasoning_content", "reasoning_details", "thinking_blocks"}
_SPACES = re.compile(r"(?:\\[snrt]|[ +*?{},\d()\[\]|])+")
_THINK_TAG = re.compile(r"</?think", re.IGNORECASE)
_ADDS_ANSWER = re.compile(r"(?:add|append|push|record|store)_(?:assistant|ai|model)(?:_\w+)?")
_DROPPED = (
    "`{}` leaves the reasoning out when the answer is sent back, so it is not what the model has written."
)
_WRITTEN = "`{}` writes a tool call's arguments anew: spaces and escapes differ from what the model wrote."
_STRIPPED = "`{}` respaces the model's answer before it is sent back; a server that keeps it sees other text."


def replays(facts: Facts) -> Iterator[Practice]:
    """PC206, PC505 and PC507."""
    for node in facts.of(ast.ListComp, ast.GeneratorExp, ast.Call, ast.Delete, ast.Dict, ast.For):
        match node:
            case ast.For():
                yield from _looped(node, facts)
            case ast.ListComp() | ast.GeneratorExp():
                yield from _filtered(node, facts)
            case ast.Call():
                yield from _popped(node, facts)
                yield from _tags(node, facts)
                yield from _reserialized(node, facts)
                yield from _handed_on(node, facts)
                if role_of(node) == "assistant":
                    for value in [*node.args[:1], *(k.value for k in node.keywords if k.arg == "content")]:
                        yield from _respaced(value, facts)
            case ast.Delete():
                for target in node.targets:
                    if not isinstance(target, ast.Subscript) or constant(target.slice) not in _FIELDS:
                        continue
                    if not _OPTIONS.search(spell(target.value)):
                        yield facts.practice(
                            "PC505", Severity.INFO, target, _DROPPED.format(facts.label(target))
                        )
            case ast.Dict() if role_of(node) == "assistant":
                yield from _assistant(node, facts)


def _filtered(node: ast.ListComp | ast.GeneratorExp, facts: Facts) -> Iterator[Practice]:
    """``[b for b in response.content if b.type != "thinking"]``, sent back."""
    for test in node.generators[0].ifs:
        if not _THOUGHT.search(facts.module.segment(test)):
            continue
        said = ast.unparse(test)
        if _REASONING.search(said) and ("!=" in said or "not in" in said) and _sent_back(node, facts):
            yield facts.practice("PC505", Severity.WARNING, node, _DROPPED.format(facts.label(node)))
            return
    if keeps_some_kinds(node, facts) and _sent_back(node, facts):
        yield facts.practice("PC505", Severity.WARNING, node, _DROPPED.format(facts.label(node)))


def _looped(node: ast.For, facts: Facts) -> Iterator[Practice]:
    """``for b in response.content: if b.type == "text": parts.append(b)``."""
    if loop_keeps_some_kinds(node, facts, lambda name: _used_in_message(name, facts)):
        yield facts.practice("PC505", Severity.WARNING, node.iter, _DROPPED.format(facts.label(node.iter)))


def _sent_back(node: ast.AST, facts: Facts) -> bool:
    """Whether a value becomes part of a message that is kept, here or where a caller takes it."""
    return _is_kept(node, facts) or _sent_back_by_callers(node, facts)


def _sent_back_by_callers(node: ast.AST, facts: Facts) -> bool:
    """Whether a helper gives a value back to one that puts it into a message."""
    return is_given_back(node, facts) and _is_kept_by_callers(facts)


@lru_cache(maxsize=8)  # a helper may give back many values
def _is_kept_by_callers(facts: Facts) -> bool:
    return any(_is_kept(call, caller) for caller, call in calls_of(facts))


def _is_kept(node: ast.AST, facts: Facts) -> bool:
    for outer in facts.around(node):
        if role_of(outer) == "assistant":
            return True
        if _adds(outer) and facts.conviction(outer.func.value):  # type: ignore[attr-defined]
            return True
        if isinstance(outer, ast.AugAssign):
            return facts.conviction(outer.target) is not None
        if isinstance(outer, ast.Assign):
            name = spell(outer.targets[0])
            return (
                bool(facts.conviction(outer.targets[0]))
                or name.endswith(".content")
                or (bool(name) and _used_in_message(name, facts))
            )
    return False


def _adds(node: ast.AST) -> bool:
    """``….append(…)`` or ``….extend(…)``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"append", "extend"}
    )


def _used_in_message(name: str, facts: Facts) -> bool:
    """Whether a name stands in a message of the assistant, or is added to the messages."""
    for node in facts.nodes:
        if role_of(node) == "assistant" and any(spell(inner) == name for inner in ast.walk(node)):
            return True
        match node:
            case ast.Call(func=ast.Attribute(attr="append" | "extend", value=owner), args=[inner]) if (
                spell(inner) == name
            ):
                return facts.conviction(owner) is not None
            case ast.AugAssign() if spell(node.value) == name:
                return facts.conviction(node.target) is not None
    return False


def _popped(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    """``message.pop("reasoning_content", None)``: some APIs demand it, so it is worth knowing only."""
    popped = isinstance(node.func, ast.Attribute) and node.func.attr == "pop" and node.args
    if popped and constant(node.args[0]) in _FIELDS and facts.about_models:
        yield facts.practice("PC505", Severity.INFO, node, _DROPPED.format(facts.label(node)))


def _tags(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    """``re.sub(r"<think>.*?</think>", "", answer)``, kept as the assistant's message."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in {"sub", "split"}:
        return
    pattern = next((str(constant(a)) for a in node.args if isinstance(constant(a), str)), "")
    if _THINK_TAG.search(pattern) and _sent_back(node, facts):
        yield facts.practice("PC505", Severity.WARNING, node, _DROPPED.format(facts.label(node)))


def _reserialized(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    """``json.dumps(json.loads(call.function.arguments))``, also over a name in between."""
    if not node.args or not _last_name(node).endswith("dumps"):
        return
    parsed = node.args[0]
    if not isinstance(parsed, ast.Call):
        parsed = _assigned(spell(parsed), facts) or parsed
    loads = isinstance(parsed, ast.Call) and called_name(parsed).endswith("loads") and parsed.args
    changed = _is_changed(spell(node.args[0]), facts)  # then it is another text on purpose
    written = loads and "arguments" in ast.unparse(parsed) and not changed and _under_arguments(node, facts)
    if written and (_handles_messages(facts) or _sent_back_by_callers(node, facts)):
        yield facts.practice("PC507", Severity.WARNING, node, _WRITTEN.format(facts.label(node)))


def _handles_messages(facts: Facts) -> bool:
    """Whether a function has to do with messages itself; a helper for one call shows nothing of them."""
    function = facts.function
    return function is None or any(
        word in function.text for word in ("essage", "istory", "onversation", "ranscript")
    )


def _last_name(node: ast.Call) -> str:
    func = node.func
    if isinstance(func, ast.Attribute):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""


def _is_changed(name: str, facts: Facts) -> bool:
    """Whether something is stored in what has the name: ``arguments["text"] = …``."""
    targets = (t for node in facts.of(ast.Assign) if isinstance(node, ast.Assign) for t in node.targets)
    return bool(name) and any(isinstance(t, ast.Subscript) and spell(t.value) == name for t in targets)


def _assigned(name: str, facts: Facts) -> ast.expr | None:
    if not name:
        return None
    for node in facts.of(ast.Assign):
        if isinstance(node, ast.Assign) and any(spell(target) == name for target in node.targets):
            return node.value
    return None


def _under_arguments(node: ast.AST, facts: Facts) -> bool:
    """Whether a text becomes a call's ``arguments`` again."""
    inner = node
    for outer in facts.around(node):
        match outer:
            case ast.Dict():
                keys = [constant(k) for k, v in zip(outer.keys, outer.values, strict=True) if v is inner]
                return keys == ["arguments"]
            case ast.keyword():
                return outer.arg == "arguments"
            case ast.Assign(targets=[target]):
                last = target.slice if isinstance(target, ast.Subscript) else None
                if spell(target).endswith(".arguments") or constant(last) == "arguments":
                    return True
                name = spell(target)
                return bool(name) and _stands_as_arguments(name, facts)
        inner = outer
    return False


def _stands_as_arguments(name: str, facts: Facts) -> bool:
    return any(
        isinstance(node, ast.Dict)
        and any(
            constant(k) == "arguments" and spell(v) == name
            for k, v in zip(node.keys, node.values, strict=True)
        )
        for node in facts.nodes
    )


def _assistant(node: ast.Dict, facts: Facts) -> Iterator[Practice]:
    """The assistant's message as it is sent back: its calls, and the spaces of its text."""
    for key, value in zip(node.keys, node.values, strict=True):
        if constant(key) == "content":
            yield from _respaced(value, facts)
        if constant(key) == "tool_calls":
            named = _assigned(value.id, facts) if isinstance(value, ast.Name) else None
            yield from _tool_calls(named or value, facts)


def _handed_on(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    """``add_assistant_message(messages, text, calls)``: the calls of a message that a helper writes."""
    if _ADDS_ANSWER.fullmatch(_last_name(node)) is None:
        return
    for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
        named = _assigned(value.id, facts) if isinstance(value, ast.Name) else None
        if isinstance(named or value, ast.List | ast.ListComp):
            yield from _tool_calls(named or value, facts)


def _respaced(value: ast.expr, facts: Facts) -> Iterator[Practice]:
    """An answer whose spaces or characters are written otherwise, here or where its name is given."""
    name = spell(value) if isinstance(value, ast.Name) else ""
    written = (_assigned(name, facts) or value) if name else value
    if _respaces(written):
        yield facts.practice("PC206", Severity.INFO, written, _STRIPPED.format(facts.label(written)))


def _respaces(value: ast.expr) -> bool:
    """``x.strip()``, ``" ".join(x.split())``, ``re.sub(" +", " ", x)``, ``unicodedata.normalize(…, x)``."""
    if not isinstance(value, ast.Call):
        return False
    last = called_name(value).rpartition(".")[2]
    match last, value.args:
        case ("strip" | "rstrip" | "lstrip", []):
            return isinstance(value.func, ast.Attribute)
        case ("join", [ast.Call(func=ast.Attribute(attr="split" | "splitlines"))]):
            return True
        case ("sub", [pattern, *_]):
            return _SPACES.fullmatch(str(constant(pattern))) is not None
        case ("dedent" | "fill" | "normalize", [_, *_]):
            return called_name(value).startswith(("textwrap.", "unicodedata.")) or last == "dedent"
        case _:
            return False


def _tool_calls(value: ast.expr, facts: Facts) -> Iterator[Practice]:
    """Calls of tools whose arguments are a parsed value that is written out here."""
    for inner in [*ast.walk(value), *written_by_methods(value, facts)]:
        if not isinstance(inner, ast.Dict):
            continue
        for key, argument in zip(inner.keys, inner.values, strict=True):
            dumped = (
                constant(key) == "arguments"
                and isinstance(argument, ast.Call)
                and called_name(argument).endswith("dumps")
                and argument.args
            )
            if dumped and isinstance(argument, ast.Call) and _is_parsed(argument.args[0]):
                yield facts.practice(
                    "PC507", Severity.WARNING, argument, _WRITTEN.format(facts.label(argument))
                )


def _is_parsed(node: ast.expr) -> bool:
    """``call.args``, ``block.input``: what a library has parsed from the model's own text."""
    return isinstance(node, ast.Attribute | ast.Subscript) and spell(node).rpartition(".")[2] in {
        "args", "arguments", "input", "kwargs", "parameters", "tool_input", "tool_args",
    }  # fmt: skip
