"""What can flow out of a function, and what stays in it; and the quick walk through a tree."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from promptcache_lint.places import Source
from promptcache_lint.readers.python.modules import parse_module
from promptcache_lint.readers.python.walking import kinds_of, nodes_of, stored_among
from promptcache_lint.readers.python.yields import flow_of

EVERYTHING = """
import a
async def f(x, *y, z: int = 1, **k) -> str:
    global g
    async with a as b, c: d[0] += -1 if not x else x ** 2
    for e, *h in y: yield [i async for i in e if i]
    try: return
    except* (A, B) as err: raise err from None
    match x:
        case [P(q=1), *rest] | {"r": rest, **more} if rest > 0 < 1: del rest
        case other: lambda m: (n := m)
"""


def flow(body, parameters="self, items"):
    text = f"def run({parameters}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    module = parse_module(Path("/a.py"), Source("a.py", text))
    return flow_of(module.functions["run"])


@pytest.mark.parametrize(
    "body",
    [
        "return time()",
        "yield time()",
        "yield from time()",
        "now = time()\nreturn now",
        "now: int = time()\nreturn [now]",
        "text = ''\ntext += str(time())\nreturn text",
        "first, (second, *rest) = time()\nreturn rest",
        "found = {}\nfound['now'] = time()\nreturn found",
        "found = []\nfound.append(time())\nreturn found",
        "found = []\nfill(found, time())\nreturn found",
        "for now in time():\n    text = now\nreturn text",
        "with time() as now:\n    return now",
        "match time():\n    case [first, *_]:\n        return first",
        "if (now := time()):\n    return now",
        "def inner():\n    return time()\nreturn inner()",
        "self.now = time()",
        "self.seen['now'] = time()",
        "self.note(time())",
        "items.append(time())",
        "items[0] = time()",
        "global last\nlast = time()",
        "return client.messages.append(time())",
    ],
)
def test_what_flows_out(body):
    assert "time" in flow(body).called


@pytest.mark.parametrize(
    "body",
    [
        "log.info('took', time())\nreturn items",
        "start = time()\nwork()\nlog.info(time() - start)\nreturn items",
        "if time() > 3:\n    return items",
        "print(time())\nreturn items",
        "'''Calls time().'''\nreturn 'time()'",
        "while time():\n    items = 3\nreturn items",
        "found = []\nfound.append(time())\nreturn items",
        "return client.messages.create(model='m', max_tokens=time())",
        "client = make(time())\nreturn client.chat.completions.create(messages=items).choices[0]",
    ],
)
def test_what_stays(body):
    assert "time" not in flow(body).called


def test_defaults_flow_in_and_sets_are_told():
    assert "time" in flow("return items", "items=time()").called
    assert flow("return {1, 2}").sets
    assert not flow("seen = {1, 2}\nreturn {1: 2}").sets


def test_the_walk_meets_what_the_standard_one_meets():
    tree = ast.parse(EVERYTHING)
    signs = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
    met = nodes_of(tree)
    assert set(met) == {node for node in ast.walk(tree) if not isinstance(node, signs)}
    assert len(met) == len(set(met))
    place = {node: index for index, node in enumerate(met)}
    for node in met:
        children = [child for child in ast.iter_child_nodes(node) if child in place]
        assert all(place[child] > place[node] for child in children)


def test_stored_names():
    assert stored_among(nodes_of(ast.parse("a = b\nfor c in d: e.f = 1\n(g := 2)"))) == {"a", "c", "g"}


def test_nodes_by_their_kind_are_all_of_them_in_order():
    nodes = nodes_of(ast.parse(EVERYTHING))
    kinds = kinds_of(nodes)
    assert sum(map(len, kinds.values())) == len(nodes)
    assert all(found == [node for node in nodes if type(node) is kind] for kind, found in kinds.items())
