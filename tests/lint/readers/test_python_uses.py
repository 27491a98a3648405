"""Which calls of a module's functions stand in it."""

from __future__ import annotations

from pathlib import Path

from promptcache_lint.places import Source
from promptcache_lint.readers.python.modules import parse_module

TEXT = '''
def greet(name):
    """Call greet(name) to greet."""
    return f"Hello {name}"


def part(name):
    return greet(name) + greet("Ada")


HANDLER = greet
other.greet("nobody")
'''


def test_uses_are_names_and_the_calls_among_them():
    module = parse_module(Path("greetings.py"), Source("greetings.py", TEXT))
    count, calls = module.uses_of("greet")
    assert count == 3  # two calls, and the function itself given another name
    assert sorted(call.lineno for call in calls) == [8, 8]
    assert module.uses_of("part") == (0, [])
    assert module.uses_of("unknown") == (0, [])
