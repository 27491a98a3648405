"""The real client through the gateway, in front of a server that is not ours."""

import asyncio

import openai
import orjson
import pytest

from tests.gateway.mock_upstream import DONE, MockUpstream, Wire, chunk, sse
from tests.gateway.serving import Served

MESSAGES = [{"role": "user", "content": "Hi"}]


def test_chat(client: openai.OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(model="m", messages=MESSAGES)
    answer = raw.parse()
    assert answer.choices[0].message.content == "café  / ok"
    assert answer.usage.prompt_tokens_details.cached_tokens == 1920
    assert raw.headers["x-promptcache-cached-tokens"] == "1920"
    assert raw.headers["x-promptcache-prompt-tokens"] == "2006"
    assert raw.headers["x-promptcache-template"]


def test_a_stream_without_usage(client: openai.OpenAI) -> None:
    chunks = list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))
    assert "".join(chunk.choices[0].delta.content for chunk in chunks) == "Hello there."
    assert all(chunk.usage is None for chunk in chunks)


def test_a_stream_with_usage(client: openai.OpenAI) -> None:
    options = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(model="m", messages=MESSAGES, stream=True, stream_options=options)
    )
    assert chunks[-1].choices == []
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == 1920


def test_the_async_client_many_at_once(proxied: Served) -> None:
    async def ask(client: openai.AsyncOpenAI, stream: bool) -> str:
        if not stream:
            answer = await client.chat.completions.create(model="m", messages=MESSAGES)
            return answer.choices[0].message.content
        chunks = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        return "".join([chunk.choices[0].delta.content async for chunk in chunks])

    async def main() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{proxied.url}/v1", api_key="k", max_retries=0) as client:
            return await asyncio.gather(*[ask(client, index % 2 == 0) for index in range(40)])

    answers = asyncio.run(main())
    assert answers == ["Hello there.", "café  / ok"] * 20


def test_a_template_is_named_by_header_or_body(client: openai.OpenAI, mock: MockUpstream) -> None:
    raw = client.chat.completions.with_raw_response.create(
        model="m", messages=MESSAGES, extra_headers={"x-promptcache-template": "by-header"}
    )
    assert raw.headers["x-promptcache-template"] == "by-header"
    raw = client.chat.completions.with_raw_response.create(
        model="m", messages=MESSAGES, metadata={"promptcache_template": "by-body"}
    )
    assert raw.headers["x-promptcache-template"] == "by-body"
    assert b"metadata" not in mock.last.body


def test_a_strange_template_name_cannot_break_a_header(client: openai.OpenAI) -> None:
    name = "naïve\r\nx-evil: 1 \u202e😀" + "x" * 500
    raw = client.chat.completions.with_raw_response.create(
        model="m", messages=MESSAGES, metadata={"promptcache_template": name}
    )
    assert "x-evil" not in raw.headers
    value = raw.headers["x-promptcache-template"]
    assert value.isascii()
    assert value.startswith("na%C3%AFve")
    assert len(value) <= 256


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("429 Too Many Requests", openai.RateLimitError),
        ("500 Internal Server Error", openai.InternalServerError),
        ("529 Overloaded", openai.InternalServerError),
        ("401 Unauthorized", openai.AuthenticationError),
    ],
)
def test_the_upstream_s_own_errors_arrive_as_they_are(
    client: openai.OpenAI,
    proxied: Served,
    mock: MockUpstream,
    status: str,
    error: type[openai.APIStatusError],
) -> None:
    body = b'{"error": {"message":"slow down","type":"tokens","param":null,"code":"rate_limit_exceeded"} }'

    async def script(wire: Wire) -> None:
        await wire.respond(body, status=status, headers=("retry-after: 7", "x-ratelimit-limit-tokens: 1"))

    mock.script = script
    for stream in (False, True):
        with pytest.raises(error, match="slow down") as caught:
            client.chat.completions.create(model="m", messages=MESSAGES, stream=stream)
        response = caught.value.response
        assert response.content == body
        assert response.headers["retry-after"] == "7"
        assert response.headers["x-ratelimit-limit-tokens"] == "1"
        record = proxied.record(response)
        assert (record["status"], record["error"]) == (int(status[:3]), "rate_limit_exceeded")


@pytest.mark.parametrize("stream", [False, True])
def test_a_clock_is_named_in_front_of_any_upstream(
    proxied: Served, client: openai.OpenAI, mock: MockUpstream, stream: bool
) -> None:
    """A server that read nothing from its cache: the cause is in the headers of both kinds of answer."""
    usage = {"prompt_tokens": 2000, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}}

    async def script(wire: Wire) -> None:
        if stream:
            await wire.events(sse(chunk("Hi", usage=usage)), DONE)
        else:
            await wire.respond(orjson.dumps({"id": "x", "choices": [], "usage": usage}))

    mock.script = script
    rules = "Answer in two sentences and cite the section. " * 180
    for second in (11, 52):
        system = {"role": "system", "content": f"It is 2026-11-29T15:03:{second}Z.\n{rules}"}
        raw = client.chat.completions.with_raw_response.create(
            model="m", messages=[system, *MESSAGES], stream=stream
        )
        content = raw.http_response.read()
    assert raw.headers["x-promptcache-cause"] == "PC101"
    assert raw.headers["x-promptcache-path"] == "messages[0]"
    assert raw.headers["x-promptcache-char-offset"] == "23"
    assert raw.headers["x-promptcache-remedy"].isascii()
    assert b"2026-11-29" not in content
    record = proxied.record(raw.http_response)
    assert (record["diagnosis"]["cause"], record["diagnosis"]["char_offset"]) == ("PC101", 23)
    assert record["diagnosis"]["lost_tokens"] > 1500
