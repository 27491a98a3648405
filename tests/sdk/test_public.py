"""The public names are complete, lazy, and cheap to import."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import promptcache

PACKAGE = Path(promptcache.__file__).parent


def test_every_public_name_resolves_to_what_its_module_defines() -> None:
    assert promptcache.__all__ == sorted(promptcache.__all__)
    for name in promptcache.__all__:
        value = getattr(promptcache, name)
        assert getattr(value, "__module__", "promptcache").startswith("promptcache")
    assert set(promptcache.__all__) <= set(dir(promptcache))


def test_types_are_declared_for_exactly_the_lazy_names() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {
        (alias.name, node.module)
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == set(promptcache._HOME_OF.items())
    assert {name for name, _ in declared} == set(promptcache.__all__) - {"__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Conversatoin'"):
        promptcache.Conversatoin  # noqa: B018


def run(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_importing_promptcache_loads_nothing_heavy() -> None:
    program = "import sys, json, promptcache; print(json.dumps(sorted(sys.modules)))"
    loaded = run(program)
    heavy = {
        "yaml",
        "jinja2",
        "torch",
        "numpy",
        "orjson",
        "promptcache.canonical",
        "promptcache.conversation",
    }
    assert heavy.isdisjoint(loaded)
    assert len([name for name in loaded if name.startswith("promptcache")]) <= 2


def test_a_conversation_needs_no_jinja_and_no_yaml() -> None:
    program = """
import sys, json
from promptcache import Conversation
chat = Conversation("Rules."); chat.user("Hi", now=1); chat.to_anthropic("m")
print(json.dumps(sorted(sys.modules)))
"""
    loaded = {name.partition(".")[0] for name in run(program)}
    assert {"jinja2", "yaml", "torch", "numpy", "openai", "anthropic", "pydantic"}.isdisjoint(loaded)


def test_importing_promptcache_takes_little_time() -> None:
    program = """
import json, time
began = time.process_time(); import promptcache; bare = time.process_time() - began
from promptcache import Conversation, canonical_json, find_volatile
print(json.dumps([bare, time.process_time() - began]))
"""
    bare, used = min(run(program) for _ in range(3))
    # About 1 ms and 60 ms of CPU; the bounds leave room for a busy machine.
    assert bare < 0.05
    assert used < 0.4


def test_the_sdk_imports_only_what_it_may() -> None:
    allowed = {*sys.stdlib_module_names, "orjson", "jinja2", "promptcache"}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.partition(".")[0] in allowed, f"{path} imports {name}"
