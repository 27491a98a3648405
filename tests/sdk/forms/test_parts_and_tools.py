"""Parts and tools read the same in every dialect, and pass untouched in their own."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache.errors import ConversationError
from promptcache.forms import parts, tools

DATA = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": DATA}},
        {"type": "input_image", "image_url": DATA},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        b"\x89PNG\r\n\x1a\n",
    ],
)
def test_an_image_is_the_same_image_everywhere(part: Any) -> None:
    part = parts.as_part(part)
    assert parts.to_openai(part) == {"type": "image_url", "image_url": {"url": DATA}}
    assert parts.to_responses(part) == {"type": "input_image", "image_url": DATA}
    assert parts.to_anthropic(part)["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "iVBORw0KGgo=",
    }


def test_a_link_and_its_detail_are_kept() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}
    assert parts.to_openai(part) == part
    assert parts.to_responses(part) == {
        "type": "input_image",
        "image_url": "https://x/y.png",
        "detail": "low",
    }
    assert parts.to_anthropic(part) == {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}


def test_unknown_parts_pass_untouched() -> None:
    part = {"type": "document", "source": {"type": "text", "data": "x"}}
    assert parts.to_anthropic(parts.as_part(part)) == part


@pytest.mark.parametrize("part", [b"GIF", 3, {"text": "x"}, None])
def test_what_is_no_part_is_refused(part: Any) -> None:
    with pytest.raises(ConversationError):
        parts.as_part(part)


SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
CHAT = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}
RESPONSES = {"type": "function", "name": "f", "description": "d", "parameters": SCHEMA}
ANTHROPIC = {"name": "f", "description": "d", "input_schema": SCHEMA}


@pytest.mark.parametrize("tool", [CHAT, RESPONSES, ANTHROPIC], ids=["chat", "responses", "anthropic"])
def test_a_function_reads_the_same_everywhere(tool: dict[str, Any]) -> None:
    assert tools.to_openai(tool) == CHAT
    assert tools.to_responses(tool) == RESPONSES
    assert tools.to_anthropic(tool) == ANTHROPIC


@pytest.mark.parametrize(
    "tool", [{"type": "web_search_20250305", "name": "web_search"}, {"type": "web_search"}]
)
def test_a_providers_own_tool_passes_untouched(tool: dict[str, Any]) -> None:
    assert tools.to_openai(tool) == tools.to_responses(tool) == tools.to_anthropic(tool) == tool
