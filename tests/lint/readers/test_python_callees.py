"""What a call makes or sends, by its name."""

from __future__ import annotations

import ast

import pytest

from promptcache_lint.readers.python.callees import kind_of_call, path_of


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("client.chat.completions.create", "request"),
        ("litellm.acompletion", "request"),
        ("langchain_core.prompts.ChatPromptTemplate.from_template", "template"),
        ("StructuredTool.from_function", "tool"),
        ("logging.getLogger", ""),
        ("self.tools.create", ""),
        ("", ""),
    ],
)
def test_a_call_is_known_by_its_name(path, kind):
    assert kind_of_call(path) == kind


@pytest.mark.parametrize(
    ("text", "path"),
    [("f()", "f"), ("a.b.c()", "a.b.c"), ("a().b()", "?.b"), ("a[0]()", "?")],
)
def test_the_path_of_what_is_called(text, path):
    assert path_of(ast.parse(text).body[0].value.func) == path
