"""What decides an attribute is run for it, and nothing else: the value is that of the whole method."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_lint.declared import vocabulary_of
from promptcache_lint.places import Source
from promptcache_lint.readers.python.interpreter import Interpreter
from promptcache_lint.readers.python.modules import parse_module
from promptcache_lint.readers.python.program import Program
from promptcache_lint.readers.python.sinks import Sinks
from promptcache_lint.readers.python.slices import Slices
from promptcache_lint.readers.reading import Workspace
from promptcache_lint.settings import Settings


def method_of(lines):
    body = "".join(f"        {line}\n" for line in lines)
    text = f"import time\nclass Clerk:\n    def work(self, a, b):\n{body}"
    return parse_module(Path("/a.py"), Source("a.py", text)).classes["Clerk"].methods["work"]


def rows(lines, attribute="x", assigned=()):
    """The lines of a method that decide an attribute; a call of any other method sets ``assigned``."""
    only = Slices(lambda _method, _name: assigned).deciding(method_of(lines), attribute)
    return {lines[node.lineno - 4] for node in only}


def test_only_what_leads_to_the_attribute_is_taken():
    lines = ["first = a + 1", "second = b + 1", "log(second)", "self.y = second", "self.x = first"]
    assert rows(lines) == {"first = a + 1", "self.x = first"}
    assert rows(lines, "y") == {"second = b + 1", "log(second)", "self.y = second"}
    assert rows(lines, "z") == set()


@pytest.mark.parametrize(
    "line",
    [
        "items.append(1)",
        "items['k'] = 1",
        "items += [1]",
        "fill(items)",
        "fill(into=items)",
        "await fill(items)",
        "for items in b: pass",
        "with b as items: pass",
        "import items",
        "from b import c as items",
        "def items(): return b",
        "del items",
        "if (items := b): pass",
        "items.name = b",
        "items, c = b",
    ],
)
def test_whatever_may_change_a_variable_that_leads_there_is_taken(line):
    assert line in rows(["items = []", line, "self.x = items"])
    assert line not in rows(["items = []", line, "self.x = a"])


def test_a_method_of_the_same_object_counts_where_it_sets_the_attribute():
    assert "self.renew()" in rows(["self.x = a", "self.renew()"], assigned={"x"})
    assert "self.renew()" not in rows(["self.x = a", "self.renew()"], assigned={"y"})


def test_what_stands_around_is_taken_with_the_jumps_inside_it():
    lines = ["if a:", "    self.x = b", "    return", "if b:", "    return"]
    assert rows(lines) == {"if a:", "    self.x = b", "    return"}
    lines = ["order = list(b)", "for a in order:", "    self.x.append(1)", "    print(a)"]
    assert rows(lines) == set(lines[:3])


def test_a_method_that_calls_its_object_something_else_is_not_cut():
    text = "class Clerk:\n    def work(this):\n        this.x = 1\n"
    method = parse_module(Path("/a.py"), Source("a.py", text)).classes["Clerk"].methods["work"]
    assert Slices(lambda _method, _name: ()).deciding(method, "x") is None


expressions = st.sampled_from(
    [
        "a",
        "b",
        "self.x",
        "self.y",
        "[a, 'k']",
        "time.time()",
        "f'{a}-{self.y}'",
        "[]",
        "{'k': b}",
        "'t'",
        "a or b",
    ]
)
targets = st.sampled_from(["a", "b", "self.x", "self.y"])
leaves = st.one_of(
    st.builds("{} = {}".format, targets, expressions).map(lambda line: [line]),
    st.builds("{} += {}".format, targets, expressions).map(lambda line: [line]),
    st.builds("{}.append({})".format, targets, expressions).map(lambda line: [line]),
    st.builds("{}['k'] = {}".format, targets, expressions).map(lambda line: [line]),
    st.builds("if a: {} = {}; return".format, targets, expressions).map(lambda line: [line]),
    st.just(["if b: return"]),
)


def indented(block):
    return [f"    {line}" for line in block]


def joined(blocks):
    return [line for lines in blocks for line in lines]


def compounds(blocks):
    body = st.lists(blocks, min_size=1, max_size=3).map(joined)
    return st.one_of(
        st.tuples(body, body).map(lambda two: ["if a:", *indented(two[0]), "else:", *indented(two[1])]),
        st.tuples(targets, expressions, body).map(lambda o: [f"for {o[0]} in {o[1]}:", *indented(o[2])]),
        st.tuples(targets, expressions, body).map(lambda o: [f"with {o[1]} as {o[0]}:", *indented(o[2])]),
        st.tuples(body, body).map(lambda two: ["try:", *indented(two[0]), "except E:", *indented(two[1])]),
        body.map(lambda block: ["while b:", *indented(block)]),
    )


bodies = st.lists(st.recursive(leaves, compounds, max_leaves=6), min_size=1, max_size=6).map(joined)


def machine():
    workspace = Workspace(vocabulary_of(Settings()), (), Path("/"))
    sinks = Sinks()
    sinks.machine = made = Interpreter(Program(workspace), workspace.vocabulary, sinks)
    return made


@given(lines=bodies)
@settings(max_examples=80)
def test_an_attribute_is_what_it_is_after_the_whole_method(lines):
    method = method_of(lines)
    whole = machine().run_alone(method)
    for attribute in "xy":
        only = Slices(lambda _method, _name: ()).deciding(method, attribute)
        part = machine().run_only(method, only)
        assert part.names.get(f"self.{attribute}") == whole.names.get(f"self.{attribute}")
