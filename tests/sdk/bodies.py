"""Small request bodies for the tests of segments and divergence, and strategies for random ones."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

RULES = "You are a careful assistant. Follow the house rules and answer briefly. " * 20
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} looks something up",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["path", "limit"],
            },
        },
    }
    for name in ("alpha", "beta", "gamma", "delta")
]
sampled = settings(max_examples=60)
"""For properties: enough examples to find a slip, and no clock, since machines differ."""

MARK = {"cache_control": {"type": "ephemeral"}}


def chat(system: str, *turns: Any, **fields: Any) -> dict[str, Any]:
    """An OpenAI chat body: turns are messages, or texts of user and assistant in alternation."""
    messages: list[Any] = [{"role": "system", "content": system}]
    for number, turn in enumerate(turns):
        role = "assistant" if number % 2 else "user"
        messages.append(turn if isinstance(turn, dict) else {"role": role, "content": turn})
    return {"model": "m", "messages": messages, **fields}


def anthropic(system: Any, *turns: Any, **fields: Any) -> dict[str, Any]:
    """An Anthropic body with the system prompt in its own field."""
    return {**chat("", *turns, **fields), "system": system, "messages": chat("", *turns)["messages"][1:]}


def text(value: str, *, marked: bool = False) -> dict[str, Any]:
    """A text block, with or without a breakpoint."""
    return {"type": "text", "text": value, **(MARK if marked else {})}


words = st.text(alphabet="abcdefgh ijk.\né", min_size=1, max_size=40)
blocks = st.one_of(
    st.builds(text, words, marked=st.booleans()),
    st.builds(lambda data: {"type": "image", "source": {"type": "base64", "data": data}}, words),
)
contents = st.one_of(words, st.lists(blocks, min_size=1, max_size=3))


@st.composite
def conversations(draw: st.DrawFn) -> dict[str, Any]:
    """A random request in one of the two chat dialects."""
    count = draw(st.integers(1, 5)) * 2 - 1
    turns = [
        {"role": "assistant" if number % 2 else "user", "content": draw(contents)} for number in range(count)
    ]
    body: dict[str, Any] = {"model": "m", "messages": turns}
    system = draw(st.one_of(st.none(), words, st.lists(st.builds(text, words), min_size=1, max_size=3)))
    if isinstance(system, list):
        body["system"] = system
    elif system is not None:
        body["messages"] = [{"role": "system", "content": system}, *turns]
    if draw(st.booleans()):
        body["tools"] = TOOLS[: draw(st.integers(1, 4))]
    return body


# Bodies that are JSON and hardly requests, for what must hold of any input.
names = st.sampled_from(
    [
        "messages",
        "role",
        "content",
        "type",
        "text",
        "tools",
        "system",
        "input",
        "prompt",
        "x",
        "tool_calls",
        "function",
        "name",
    ]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
wild_messages = st.fixed_dictionaries(
    {"role": st.just("user") | json_values}, optional={"content": json_values, "tool_calls": json_values}
)
wild_bodies = json_values | st.fixed_dictionaries(
    {},
    optional={
        name: json_values | st.lists(wild_messages, max_size=2) for name in ("messages", "input", "tools")
    },
)
