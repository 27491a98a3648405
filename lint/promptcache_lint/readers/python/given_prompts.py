"""System prompts that a call is given: by a keyword, in its options, as a text, a list or a function.

A class of agents calls a function it is given for each run. The program's own functions and classes are
followed by the interpreter, and what they do with a function shows there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.modules import Function
from promptcache_lint.readers.python.requests import SYSTEM_KEYWORDS, said_in
from promptcache_lint.readers.python.values import Map, Ref, Str, Thing

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["given_prompts"]

_MAKES_AGENT = re.compile(r"(?:.*\.)?create_(?:\w+_)?agent")
_OF_AN_AGENT = ("prompt", "state_modifier", "messages_modifier")
_REWORDS = ".with_instructions"
"""A method that gives a signature (DSPy's) other instructions."""
_CLASS = re.compile(r"(?:.*\.)?[A-Z]\w*")


def given_prompts(
    machine: Interpreter, made: Call, frame: Frame
) -> Iterator[tuple[str, Str, ast.expr, bool]]:
    """The system prompts in a call, each with its keyword, and whether a function makes it for each run."""
    agent = _MAKES_AGENT.fullmatch(made.path) is not None
    for keyword in (*SYSTEM_KEYWORDS, *(_OF_AN_AGENT if agent else ())):
        if keyword not in made.named or (keyword == "instruction" and "Agent" not in made.path):
            continue  # of a class of agents ``instruction`` is the system prompt, of a function the task
        given, expression = made.named[keyword]
        result = _result(machine, given, expression, frame) if agent or _is_class(made) else None
        text = said_in(given if result is None else result)
        if text is not None:
            yield keyword, text, expression, result is not None
    if made.path.endswith(_REWORDS) and made.arguments:
        given, expression = made.arguments[0]
        text = said_in(given)
        if text is not None:
            yield "instructions", text, expression, False
    options, expression = made.named.get("config", (Thing(), made.node))
    if isinstance(options, Map) and made.path.endswith((".create", ".connect")):
        text = said_in(options.get("system_instruction") or Thing())
        if text is not None:
            yield "system_instruction", text, expression, False


def _is_class(made: Call) -> bool:
    return isinstance(made.callee, Ref) and made.callee.target is None and bool(_CLASS.fullmatch(made.path))


def _result(machine: Interpreter, given: Value, node: ast.expr, frame: Frame) -> Value | None:
    """What a function gives that is called for each run; None where the value is no function."""
    if not isinstance(given, Ref) or not isinstance(given.target, Function):
        return None
    parameters = given.target.node.args
    told: list[Value] = [Thing(parameter.arg) for parameter in (*parameters.posonlyargs, *parameters.args)]
    told = told[1:] if given.bound is not None else told
    place = frame.module.place(node)
    return machine.invoke(given.target, told, {}, frame, place, bound=given.bound, outer=given.closure)[0]
