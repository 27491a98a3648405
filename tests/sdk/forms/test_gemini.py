"""A conversation as Gemini takes it, from answers of any provider."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache.conversation import Conversation
from promptcache.errors import ConversationError, ReplayError
from tests.sdk.answers import anthropic_message, openai_completion

TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
DECLARED = {"name": "f", "description": "d", "parametersJsonSchema": {"type": "object"}}


def test_the_whole_form() -> None:
    chat = Conversation("Be kind.", tools=[TOOL, {"googleSearch": {}}], template="t")
    chat.user("See", b"\xff\xd8\xffa", {"type": "image", "source": {"type": "url", "url": "https://x/y"}})
    chat.assistant(openai_completion("Let me look.", ("c1", "f", '{"z": 1, "a": 2}'), ("c2", "f", "")))
    chat.tool_result("c2", "broken", failed=True)
    chat.tool_result("c1", {"b": 1, "a": 2})
    assert chat.to_gemini("gemini-3", temperature=0) == {
        "model": "gemini-3",
        "config": {
            "temperature": 0,
            "tools": [{"functionDeclarations": [DECLARED]}, {"googleSearch": {}}],
            "systemInstruction": {"parts": [{"text": "Be kind."}]},
            "httpOptions": {"headers": {"x-promptcache-template": "t"}},
        },
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "See"},
                    {"inlineData": {"mimeType": "image/jpeg", "data": "/9j/YQ=="}},
                    {"fileData": {"fileUri": "https://x/y"}},
                ],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "Let me look."},
                    {"functionCall": {"id": "c1", "name": "f", "args": {"z": 1, "a": 2}}},
                    {"functionCall": {"id": "c2", "name": "f", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c1", "name": "f", "response": {"result": '{"a":2,"b":1}'}}},
                    {"functionResponse": {"id": "c2", "name": "f", "response": {"error": "broken"}}},
                ],
            },
        ],
    }


def test_a_providers_own_tool_stands_beside_the_functions() -> None:
    search: dict[str, Any] = {"googleSearch": {}}
    assert Conversation(tools=[search]).to_gemini("m")["config"]["tools"] == [search]
    assert "tools" not in Conversation().to_gemini("m")["config"]


def test_answers_of_gemini_read_elsewhere() -> None:
    parts = [
        {"text": "Hm", "thought": True},
        {"text": "Look."},
        {"functionCall": {"id": "g1", "name": "f", "args": {"z": 1, "a": 2}}},
    ]
    chat = Conversation()
    chat.user("Hi")
    chat.assistant({"candidates": [{"content": {"role": "model", "parts": parts}}]})
    chat.tool_result("g1", "ok")
    assert chat.to_gemini("m")["contents"][1]["parts"] == parts
    said = chat.to_openai("m")["messages"][1]
    assert said["content"] == "Look."
    assert said["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"z":1,"a":2}'}
    assert chat.to_anthropic("m")["messages"][1]["content"][1]["input"] == {"z": 1, "a": 2}
    twin = Conversation()
    twin.user("Hi")
    twin.assistant({"role": "model", "parts": parts})
    twin.tool_result("g1", "ok")
    assert twin.to_gemini("m") == chat.to_gemini("m")


def test_answers_of_anthropic_read_at_gemini() -> None:
    chat = Conversation()
    chat.user("Hi")
    thought = {"type": "thinking", "thinking": "x", "signature": "s"}
    chat.assistant(anthropic_message(thought, {"type": "text", "text": "Hello"}))
    assert chat.to_gemini("m")["contents"][1] == {"role": "model", "parts": [{"text": "Hello"}]}


def test_what_cannot_be_written_is_refused() -> None:
    chat = Conversation()
    chat.user("Hi")
    with pytest.raises(ReplayError, match="no candidate"):
        chat.assistant({"candidates": []})
    with pytest.raises(ConversationError, match="'contents'"):
        chat.to_gemini("m", contents=[])
    chat.assistant(openai_completion(None, ("c1", "f", "not json")))
    chat.tool_result("c1", "ok")
    with pytest.raises(ConversationError, match="no JSON object, which Gemini requires"):
        chat.to_gemini("m")
