"""Requests are caught at the door of the real clients, sync and async, with helpers and streams."""

from __future__ import annotations

import pytest

from promptcache_lint.errors import RenderError
from promptcache_lint.verify.render import Target, render
from promptcache_lint.verify.worlds import USUAL

SOURCE = """
import asyncio

TALK = [{"role": "user", "content": "Hello."}]


def openai_chat():
    import openai
    try:
        openai.OpenAI().chat.completions.create(model="m", messages=TALK)
    except Exception:
        return "another"


def openai_responses():
    import openai
    with openai.OpenAI().responses.stream(model="m", instructions="A", input="Hello.") as stream:
        return stream.get_final_response()


async def anthropic_async():
    import anthropic
    async with anthropic.AsyncAnthropic() as client:
        one = client.messages.create(model="m", max_tokens=9, system="A", messages=TALK)
        await asyncio.gather(one)


def anthropic_stream():
    import anthropic
    with anthropic.Anthropic().messages.stream(model="m", max_tokens=9, system="A", messages=TALK) as stream:
        return stream.get_final_text()


def other_request():
    import httpx
    return httpx.get("http://example.com/prompt").text
"""


@pytest.fixture
def body(tmp_path):
    (tmp_path / "app.py").write_text(SOURCE)
    return lambda name: render(Target(f"app:{name}", (), {}, tmp_path, 60.0), USUAL, [USUAL])[0]


def test_openai_chat(body):
    sent = body("openai_chat")
    assert (sent["model"], sent["messages"]) == ("m", [{"role": "user", "content": "Hello."}])


def test_openai_responses(body):
    assert body("openai_responses")["instructions"] == "A"


@pytest.mark.parametrize("name", ["anthropic_async", "anthropic_stream"])
def test_anthropic(body, name):
    sent = body(name)
    assert (sent["system"], sent["messages"][0]["content"]) == ("A", "Hello.")


def test_what_carries_no_prompt_is_refused(body):
    with pytest.raises(RenderError, match="no network calls"):
        body("other_request")
