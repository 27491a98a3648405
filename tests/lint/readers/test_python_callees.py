"""What a call makes or sends, by its name."""

from __future__ import annotations

import pytest

from promptcache_lint.readers.python.callees import kind_of_call


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
