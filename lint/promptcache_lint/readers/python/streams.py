"""Texts written bit by bit into a stream in memory, an `io.StringIO`: the list of what it was given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Text
from promptcache_lint.readers.python import strings
from promptcache_lint.readers.python.values import Seq, Str, Thing

if TYPE_CHECKING:
    import ast

    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["printed", "written_out"]


def written_out(machine: Interpreter, stream: Seq, node: ast.Call, frame: Frame) -> Value:
    """``stream.getvalue()``."""
    return strings.join(machine, Str(()), stream, node, frame)


def printed(machine: Interpreter, made: Call, frame: Frame) -> Value:
    """``print(…, file=stream)``: what is printed goes on in the stream, if that is in memory."""
    stream, expression = made.named["file"]
    spelling = machine.spelling(expression)
    if isinstance(stream, Seq) and spelling:
        place = frame.module.place(made.node)
        line: list[Part] = []
        for value, given in made.arguments:
            line += [Text(" ", place)] if line else []
            line += strings.parts_of(machine, value, given, frame)
        said = Str((*line, Text("\n", place)))
        frame.store(spelling, replace(stream, items=(*stream.items[-199:], said)))
    return Thing(constant="None")
