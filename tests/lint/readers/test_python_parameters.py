"""What annotations and callers say of a parameter, and orders of sets that come by a loop or a message."""

from __future__ import annotations

import pytest

CLERK = "You sell goods, and you are polite. Always answer in English, and in one sentence at most."


@pytest.mark.parametrize(
    ("annotation", "written", "expected"),
    [
        ("set[str]", "', '.join(tags)", ["PC202"]),
        ("frozenset[str] | None", "', '.join(list(tags))", ["PC202"]),
        ("Optional[typing.Set[str]]", "', '.join(tag.upper() for tag in tags)", ["PC202"]),
        ("set[str]", "', '.join(sorted(tags))", []),
        ("set[str]", "len(tags)", []),
        ("set[int]", "', '.join(map(str, tags))", []),
        ("list[str]", "', '.join(tags)", []),
        ("dict[str, set[str]]", "', '.join(tags)", []),
    ],
)
def test_a_parameter_annotated_as_a_set_of_texts(codes, annotation, written, expected):
    text = f"""
    import typing
    from typing import Optional
    def system_prompt(tags: {annotation}):
        return f"{CLERK} {{{written}}}"
    """
    assert [code for code, _ in codes(text)] == expected


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ('build_system({"ham": 1, "egg": 2})', []),
        ('build_system(catalogue={"ham": 1})', []),
        ('[build_system({"ham": 1}), build_system({"egg": [2, 3]})]', []),
        ('[build_system({"ham": 1}), build_system(load())]', ["PC201"]),
        ('[build_system({"ham": 1}), map(build_system, load())]', ["PC201"]),
        ('build_system({**load(), "ham": 1})', ["PC201"]),
        ("None", ["PC201"]),
    ],
)
def test_a_literal_from_each_caller_has_its_own_order(codes, calls, expected):
    text = f"""
    import json
    from shop import load
    def build_system(catalogue):
        return "{CLERK} " + json.dumps(catalogue)
    def main():
        return {calls}
    """
    assert [code for code, _ in codes(text)] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [('"noon"', []), ("moment()", ["PC101"]), ('"noon"), build_system(moment()', ["PC101"])],
)
def test_a_literal_from_each_caller_convicts_no_name(codes, given, expected):
    text = f"""
    def build_system(current_time):
        return f"{CLERK} It is {{current_time}}."
    def main(moment):
        return (build_system({given}), 1)
    """
    assert [code for code, _ in codes(text)] == expected


TOOLS = """
import openai
R = {{}}
def tools_for(extra):
    allowed = {{"a", "b"}} | set(extra)
    return [R[name] for name in allowed]
def ask(messages, extra):
    tools = []
    {body}
    return openai.chat.completions.create(model="m", messages=messages, tools={tools})
"""


@pytest.mark.parametrize(
    ("body", "tools", "expected"),
    [
        ("pass", "tools_for(extra)", ["PC301"]),
        ('for name in {"a", "b"}: tools.append(R[name])', "tools", ["PC301"]),
        ("for name in set(extra): tools.append(R[name])", "tools", ["PC301"]),
        ('for name in sorted({"a", "b"}): tools.append(R[name])', "tools", []),
        ('for name in {"a", "b"}: print(name)', "tools", []),
        ("for name in extra: tools.append(R[name])", "tools", []),
    ],
)
def test_tools_gathered_from_a_set(codes, body, tools, expected):
    text = TOOLS.format(body=body, tools=tools)
    assert [code for code, _ in codes(text)] == expected


def test_a_list_that_was_sorted_after_the_loop(codes):
    text = """
    def system_prompt():
        lines = []
        for name in {"ham", "egg"}:
            lines.append(name)
        lines.sort()
        return "You sell goods, and you are polite: " + ", ".join(lines)
    """
    assert codes(text) == []


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('ChatMessage(role="system", content=text)', ["PC101"]),
        ("ChatMessage(role=MessageRole.SYSTEM, content=text)", ["PC101"]),
        ("ChatMessage.from_str(text, MessageRole.SYSTEM)", ["PC101"]),
        ('ChatMessage.from_str(text, role="system")', ["PC101"]),
        ("ChatMessage.from_str(text)", []),
        ("ChatMessage.from_str(text, MessageRole.USER)", []),
        ('ChatMessage.from_str("system", text)', []),
    ],
)
def test_messages_of_llama_index(codes, message, expected):
    text = f"""
    from datetime import datetime
    from llama_index.core.llms import ChatMessage, MessageRole
    def ask(llm, question):
        text = f"It is {{datetime.now()}}. Name the goods of the shop in one sentence."
        return llm.chat([{message}, ChatMessage(role="user", content=question)])
    """
    assert [code for code, _ in codes(text)] == expected
