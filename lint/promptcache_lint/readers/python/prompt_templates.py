"""Templates of LangChain and its like, filled: by values, by functions they call, and in chains.

A text, or a list of messages, is such a template. A function given to ``partial``, or put in front of it in a
chain (``{"now": clock} | prompt | model``), is called each time the template is filled. What comes out of a
chain is an answer, which has nothing of the prompt in it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Text, Trait
from promptcache_lint.readers.placeholders import has_placeholder
from promptcache_lint.readers.python import templates
from promptcache_lint.readers.python.modules import Function
from promptcache_lint.readers.python.values import (
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    element_of,
    map_traits,
    traits_of,
)

if TYPE_CHECKING:
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

    Given = dict[str, tuple[Value, ast.expr]]

__all__ = ["FILLING", "has_open_fields", "made_template", "method_of_chain", "piped", "template_filled"]

FILLING = {
    *("partial", "invoke", "ainvoke", "format_messages", "aformat_messages", "format_prompt"),
    *("aformat_prompt", "stream", "astream"),
}
"""Methods of a template that fill it."""
_ASKING = {
    "invoke",
    "ainvoke",
    "stream",
    "astream",
    "batch",
    "abatch",
    "astream_events",
    "run",
    "arun",
    "predict",
}
_SAME_CHAIN = {"with_config", "with_retry", "with_fallbacks", "bind", "with_types", "with_listeners", "pipe"}
_TEMPLATE = re.compile(r"(?:.*\.)?(?:Chat)?PromptTemplate(?:\.from_(?:template|messages))?")
_MESSAGE = re.compile(r"(?:.*\.)?(?P<speaker>System|Human|AI)MessagePromptTemplate(?:\.from_template)?")
_STEPS = re.compile(r"(?:.*\.)?(?:RunnablePassthrough\.assign|RunnableParallel|RunnableMap)")
_CALLED = ("partial_variables", "function_mappings")


@dataclass(frozen=True, eq=False)
class _Chain:
    """A template and what it is handed to."""

    template: Value


def made_template(machine: Interpreter, made: Call, frame: Frame) -> Value | None:
    """The template that a call makes, or a step in front of one; None for any other call."""
    name = made.dotted
    if _STEPS.fullmatch(name):
        steps = next((value for value in made.values if isinstance(value, Map)), Map(()))
        return replace(steps, pairs=(*steps.pairs, *((key, value) for key, (value, _) in made.named.items())))
    if name.endswith("RunnableLambda") and made.arguments:
        return made.values[0]
    if name.endswith("LLMChain") and (prompt := made.argument(1, "prompt")) is not None:
        return Ref("chain", _Chain(prompt)) if _is_template(prompt) else None
    if message := _MESSAGE.fullmatch(name):
        template = made.argument(0, "template") or made.argument(0, "prompt")
        speaker = ast.copy_location(ast.Constant(message["speaker"].lower()), made.node)
        said = machine.evaluate(speaker, frame)
        return Seq((said, template), kind="tuple") if isinstance(template, Str) else None
    if not _TEMPLATE.fullmatch(name):
        return None
    template = made.argument(0, "template") or made.argument(0, "messages")
    if not isinstance(template, Str | Seq):
        return None
    for keyword in _CALLED:
        value, expression = made.named.get(keyword, (Map(()), made.node))
        if isinstance(value, Map) and value.pairs:
            given = {key: (inner, expression) for key, inner in value.pairs if key is not None}
            template = _with_called(machine, template, given, made.node, frame)
    return template


def template_filled(machine: Interpreter, made: Call, template: Str | Seq, name: str, frame: Frame) -> Value:
    """What a method in `FILLING` makes of a template."""
    given = _given(made)
    if name == "partial":
        return _with_called(machine, template, given, made.node, frame)
    filled = _fill(machine, template, given, made.node, frame)
    if isinstance(template, Seq):
        _tell(machine, filled, given, made.node, frame)
    return filled


def piped(machine: Interpreter, node: ast.BinOp, left: Value, right: Value, frame: Frame) -> Value | None:
    """``left | right`` where one of them is a template or a chain; None where neither is."""
    for value in (left, right):
        chain = value.target if isinstance(value, Ref) else None
        template = chain.template if isinstance(chain, _Chain) else value
        if not _is_template(template) or not isinstance(template, Str | Seq):
            continue
        if value is right and isinstance(left, Map):
            given = {key: (inner, node.left) for key, inner in left.pairs if key is not None}
            template = _with_called(machine, template, given, node, frame)
        return Ref("chain", _Chain(template))
    return None


def method_of_chain(machine: Interpreter, made: Call, receiver: Ref, name: str, frame: Frame) -> Value | None:
    """What a method of a chain gives; None if the receiver is none."""
    chain = receiver.target
    if not isinstance(chain, _Chain):
        return None
    if name in _SAME_CHAIN:
        return receiver
    if name in _ASKING and isinstance(chain.template, Str | Seq):
        given = _given(made)
        _tell(machine, _fill(machine, chain.template, given, made.node, frame), given, made.node, frame)
    return Thing(frame.module.label(made.node))


def has_open_fields(value: Value) -> bool:
    """Whether a template, or a chain that begins with one, has fields that are still to be filled."""
    if isinstance(value, Ref) and isinstance(value.target, _Chain):
        return has_open_fields(value.target.template)
    if isinstance(value, Seq):
        return any(map(has_open_fields, value.items))
    parts = value.parts if isinstance(value, Str) else ()
    return any(isinstance(part, Text) and part.open and has_placeholder(part.text) for part in parts)


def _is_template(value: Value) -> bool:
    """Whether a value is a text, or a list of messages: texts, or pairs of a speaker and a text."""
    if isinstance(value, Str):
        return True
    return isinstance(value, Seq) and value.kind != "set" and any(map(_is_said, value.items))


def _is_said(item: Value) -> bool:
    return isinstance(item, Str) or (isinstance(item, Seq) and item.kind == "tuple" and len(item.items) == 2)


def _given(made: Call) -> Given:
    """What a call fills a template with, by name: its keywords, and the items of a dict."""
    given: Given = {}
    for value, expression in made.arguments[:1]:
        item = element_of(value) if isinstance(value, Seq) and value.kind == "list" else value
        if isinstance(item, Map):
            given |= {key: (inner, expression) for key, inner in item.pairs if key is not None}
    return given | made.named


def _with_called(
    machine: Interpreter, template: Str | Seq, given: Given, node: ast.expr, frame: Frame
) -> Str | Seq:
    """A template some of whose fields are filled, by functions each time it is used."""
    called = {name: _result(machine, *pair, frame) for name, pair in given.items()}
    filled = _fill(machine, template, called, node, frame)
    anew = {name: pair for name, pair in called.items() if pair[0] is not given[name][0]}
    if anew:
        _tell(machine, filled, anew, node, frame, anew=True)
    return filled


def _result(machine: Interpreter, value: Value, node: ast.expr, frame: Frame) -> tuple[Value, ast.expr]:
    """What a function gives when the template calls it; any other value as it is."""
    if not isinstance(value, Ref):
        return value, node
    place = frame.module.place(node)
    if isinstance(value.target, Function):
        parameters = value.target.node.args.args
        given: list[Value] = [Thing(settled=True)] if len(parameters) == 1 and value.bound is None else []
        result, _ = machine.invoke(
            value.target, given, {}, frame, place, bound=value.bound, outer=value.closure
        )
        return map_traits(result, lambda trait: replace(trait, built=True)), node
    mark = machine.vocabulary.call(value.dotted)
    if mark is None:
        return value, node
    return Thing(value.dotted, (Trait(mark, place, f"{value.dotted}()", built=True),)), node


def _fill(machine: Interpreter, template: Value, given: Given, node: ast.expr, frame: Frame) -> Str | Seq:
    use = templates.Use(machine, node, frame)

    def filled(item: Value) -> Value:
        match item:
            case Str():
                return templates.template_fields(use, item, [], given)
            case Seq(items=(speaker, Str() as text), kind="tuple"):
                return replace(item, items=(speaker, templates.template_fields(use, text, [], given)))
            case _:
                return item

    if isinstance(template, Seq):
        return replace(template, items=tuple(map(filled, template.items)))
    made = filled(template)
    assert isinstance(made, Str)
    return made


def _tell(
    machine: Interpreter,
    filled: Str | Seq,
    given: Given,
    node: ast.expr,
    frame: Frame,
    *,
    anew: bool = False,
) -> None:
    """The filled template becomes a prompt here; one with nothing volatile in it is one as it is written."""
    if any(not trait.guessed for value, _ in given.values() for trait in traits_of(value)):
        machine.sinks.filled(filled, node, frame, anew=anew)
