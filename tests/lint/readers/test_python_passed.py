"""What a value's way passes is known by its places: functions of the same name elsewhere are others."""

from __future__ import annotations

import ast
from pathlib import Path

from promptcache_lint.places import Source
from promptcache_lint.readers.python.modules import Module, parse_module
from promptcache_lint.readers.python.passed import Passed
from promptcache_lint.readers.python.walking import nodes_of

CLOCK = """
import time

def stamp():
    return time.ctime()

class Agent:
    def stamp(self):
        return time.ctime()

    def send(self):
        call = lambda: stamp()
        return call()
"""
OTHER = """
def stamp():
    return "now"
"""


def parsed(text: str, name: str) -> Module:
    return parse_module(Path(name), Source(name, text))


def calls(module: Module) -> list[ast.Call]:
    return [node for node in nodes_of(module.tree) if isinstance(node, ast.Call)]


def made_in(row: int, module: Module) -> ast.Call:
    return next(call for call in calls(module) if call.lineno == row)


def test_only_functions_that_a_place_lies_in_are_passed() -> None:
    clock, other = parsed(CLOCK, "clock.py"), parsed(OTHER, "other.py")
    made = clock.place(made_in(5, clock))

    passed = Passed((made,), [other, clock])

    assert [(f.lineno, m) for f, m in passed.functions("stamp")] == [(4, clock)]
    assert list(passed.functions("stamp", of_a_class=True)) == []
    assert list(passed.functions("send")) == []


def test_methods_and_lambdas_are_passed_too() -> None:
    clock = parsed(CLOCK, "clock.py")
    passed = Passed((clock.place(made_in(9, clock)), clock.place(made_in(12, clock))), [clock])

    assert [f.lineno for f, _ in passed.functions("stamp", of_a_class=True)] == [8]
    assert [type(f) for f, _ in passed.functions("call")] == [ast.Lambda]


def test_the_origin_is_one_node_of_one_file() -> None:
    clock, copy = parsed(CLOCK, "clock.py"), parsed(CLOCK, "copy.py")
    made = made_in(5, clock)
    passed = Passed((clock.place(made),), [clock, copy])

    assert [call for call in calls(clock) if passed.is_origin(call, clock)] == [made]
    assert not any(passed.is_origin(call, copy) for call in calls(copy))


def test_a_node_is_run_by_the_innermost_function_around_it() -> None:
    clock = parsed(CLOCK, "clock.py")
    passed = Passed((clock.place(made_in(5, clock)),), [clock])

    inner = passed.function_of(made_in(12, clock), clock)
    outer = passed.function_of(made_in(13, clock), clock)

    assert isinstance(inner, ast.Lambda)
    assert isinstance(outer, ast.FunctionDef)
    assert outer.name == "send"
    assert passed.function_of(clock.tree.body[0], clock) is None
