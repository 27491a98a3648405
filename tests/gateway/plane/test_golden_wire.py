"""Bytes in, bytes out: what the gateway sends on is what it was sent, to the byte."""

import json

import orjson
import pytest

from tests.gateway.mock_upstream import CHAT_BYTES, DONE, USAGE_CHUNK, MockUpstream, Wire, chunk, sse
from tests.gateway.serving import Served

WEIRD_BODY = (
    b'\r\n{ "messages":[{"role":"user",'
    b'"content":"caf\\u00e9  \\/ \\ud83d\\ude00 \xf0\x9f\x98\x80","x":[]}],\t'
    b'"seed":123456789012345678901234567890,"temperature":1.0E+0,"model" :"m","z":0,"a":-0.0,'
    b'"metadata":{"promptcache":"t"}, "user":"u" ,"z":1}\n \n'
)
WEIRD_STREAM = WEIRD_BODY.replace(b'"user":"u"', b'"stream":true,"user":"u"')
SPLICED = b',"stream_options":{"include_usage":true}'


@pytest.mark.parametrize(
    ("path", "arrives_at"),
    [
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/chat/completions", "/v1/chat/completions"),
        ("/v1/completions", "/v1/completions"),
        ("/completions?api-version=1&x=%2F", "/v1/completions?api-version=1&x=%2F"),
    ],
)
def test_a_request_arrives_byte_for_byte(
    proxied: Served, mock: MockUpstream, path: str, arrives_at: str
) -> None:
    answer = proxied.post(WEIRD_BODY, path=path)
    assert answer.status_code == 200
    assert mock.last.body == WEIRD_BODY
    assert mock.last.line == f"POST {arrives_at} HTTP/1.1"


def test_an_answer_comes_back_byte_for_byte(proxied: Served) -> None:
    answer = proxied.post(WEIRD_BODY)
    assert answer.content == CHAT_BYTES
    assert answer.headers["x-request-id"] == "req_1"


def test_a_streaming_request_gains_one_member_and_nothing_else(proxied: Served, mock: MockUpstream) -> None:
    proxied.post(WEIRD_STREAM)
    assert mock.last.body.count(SPLICED) == 1
    assert mock.last.body.replace(SPLICED, b"") == WEIRD_STREAM


def test_a_caller_who_asked_for_usage_is_forwarded_as_is(proxied: Served, mock: MockUpstream) -> None:
    body = WEIRD_STREAM.replace(b'"z":0', b'"stream_options":{"include_usage":true}')
    answer = proxied.post(body)
    assert mock.last.body == body
    assert sse(USAGE_CHUNK) in answer.content


@pytest.mark.parametrize("said", [b"true", b"false"])
def test_what_the_caller_says_about_usage_is_not_touched(
    proxied: Served, mock: MockUpstream, said: bytes
) -> None:
    body = b'{"model":"m","stream":true,"messages":[],"stream_options":{"include_usage":' + said + b"}}"
    proxied.post(body)
    assert mock.last.body == body


OURS = b'"promptcache_template" : "t\\u00e9"'


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        (b'{"metadata":{%s}, "model":"m" ,"z":1} ', b'{"model":"m" ,"z":1} '),
        (b'{ "model":"m","metadata" : { %s } }', b'{ "model":"m" }'),
        (b'{"model":"m","metadata":{"a" :1, %s},"z":1}', b'{"model":"m","metadata":{"a" :1},"z":1}'),
        (b'{"model":"m","metadata":{%s , "a":1},"z":1}', b'{"model":"m","metadata":{"a":1},"z":1}'),
        (
            b'{"model":"m","metadata":{"a":1,%s,"b":{}},"z":1}',
            b'{"model":"m","metadata":{"a":1,"b":{}},"z":1}',
        ),
        (b'{"model":"m","x":{"metadata":{%s}}}', b'{"model":"m","x":{"metadata":{%s}}}'),
        (b'{"model":"m","metadata":[%s]}'.replace(b"%s", b'"promptcache_template"'), None),
        (b'{"model":"m","metadata":{}}', None),
        (
            b'{"model":"m","metadata":{"a":1, %s},"z":1,"metadata":{%s,"b" : 2}}',
            b'{"model":"m","metadata":{"a":1},"z":1,"metadata":{"b" : 2}}',
        ),
        (
            b'{"model":"m","metadata":{"a":1,%s},"metadata":{"b":2}}',
            b'{"model":"m","metadata":{"a":1},"metadata":{"b":2}}',
        ),
        (b'{"model":"m","metadata":{%s,%s},"metadata":{%s}}', b'{"model":"m"}'),
        (
            b'{"model":"m","metadata":{"a":1},"metadata":{%s}}',
            b'{"model":"m","metadata":{"a":1},"metadata":{}}',
        ),
        (b'{"model":"m","metadata":{},"user":"promptcache_template","metadata":{ }}', None),
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/embeddings"])
def test_our_own_metadata_stays_here_and_nothing_else_does(
    proxied: Served, mock: MockUpstream, path: str, sent: bytes, arrives: bytes | None
) -> None:
    sent = sent.replace(b"%s", OURS)
    proxied.post(sent, path=path, x_promptcache_template="t")
    assert mock.last.body == (sent if arrives is None else arrives.replace(b"%s", OURS))


def test_that_it_was_taken_out_is_named(proxied: Served) -> None:
    answer = proxied.post(b'{"model":"m","messages":[],"metadata":{%s}}' % OURS)
    assert answer.headers["x-promptcache-template"] == "t%C3%A9"
    assert proxied.record(answer)["changes"] == [
        {"name": "template", "paths": ["metadata.promptcache_template"], "skipped": []}
    ]
    assert proxied.record(proxied.post(WEIRD_BODY))["changes"] == []


ODD_EVENTS = [
    b": ping\n\n",
    b'event: message\nid: 7\nretry: 10\ndata: {"x_odd" : 123456789012345678901,"choices":[]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"caf\\u00e9"}}]}\r\n\r\n',
    b"data: [DONE]\n\n",
]


def test_events_are_relayed_byte_for_byte_and_one_comment_follows(
    proxied: Served, mock: MockUpstream
) -> None:
    async def script(wire: Wire) -> None:
        await wire.events(*ODD_EVENTS)

    mock.script = script
    answer = proxied.post(WEIRD_STREAM)
    relayed, _, comment = answer.content.rpartition(b": promptcache ")
    assert relayed == b"".join(ODD_EVENTS)
    assert comment.endswith(b"\n\n")
    assert json.loads(comment)["request_id"] == answer.headers["x-promptcache-request-id"]


def test_the_usage_chunk_nobody_asked_for_is_withheld_but_recorded(proxied: Served) -> None:
    answer = proxied.post(WEIRD_STREAM)
    relayed, _, comment = answer.content.rpartition(b": promptcache ")
    assert relayed == sse(chunk("Hello")) + b": keep-alive\n\n" + sse(chunk(" there.")) + DONE
    assert json.loads(comment)["cached_tokens"] == 1920
    usage = proxied.record(answer)["usage"]
    assert (usage["prompt_tokens"], usage["cached_tokens"], usage["reported"]) == (2006, 1920, True)


def test_streamed_usage_equals_buffered_usage(proxied: Served) -> None:
    buffered = proxied.record(proxied.post(WEIRD_BODY))["usage"]
    streamed = proxied.record(proxied.post(WEIRD_STREAM))["usage"]
    assert buffered == streamed


def test_an_upstream_that_reports_no_cache_is_unreported_not_zero(
    proxied: Served, mock: MockUpstream
) -> None:
    async def script(wire: Wire) -> None:
        await wire.respond(b'{"id":"x","usage":{"prompt_tokens":9,"completion_tokens":1}}')

    mock.script = script
    answer = proxied.post(WEIRD_BODY)
    usage = proxied.record(answer)["usage"]
    assert usage["cached_tokens"] is None
    assert usage["prompt_tokens"] == 9
    assert "x-promptcache-cached-tokens" not in answer.headers


def test_zero_cached_tokens_are_zero_and_present(proxied: Served, mock: MockUpstream) -> None:
    async def script(wire: Wire) -> None:
        await wire.respond(
            b'{"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":0}}}'
        )

    mock.script = script
    answer = proxied.post(WEIRD_BODY)
    assert answer.headers["x-promptcache-cached-tokens"] == "0"
    assert proxied.record(answer)["usage"]["cached_tokens"] == 0


def test_the_body_may_carry_the_diagnosis(proxied: Served) -> None:
    answer = proxied.post(WEIRD_BODY, x_promptcache_diagnose="body")
    head, _, tail = answer.content.partition(b',"promptcache":')
    assert head + b"}\n" == CHAT_BYTES
    summary = json.loads(tail[:-2])
    assert summary["request_id"] == answer.headers["x-promptcache-request-id"]
    assert (summary["prompt_tokens"], summary["cached_tokens"]) == (2006, 1920)


def test_headers_travel_but_those_of_one_hop_and_our_own(proxied: Served, mock: MockUpstream) -> None:
    proxied.post(
        WEIRD_BODY,
        authorization="Bearer sk-caller",
        openai_organization="org-1",
        x_custom="v",
        x_promptcache_template="t",
        x_promptcache_cache="off",
        te="trailers",
        connection="x-hop",
        x_hop="1",
    )
    seen = mock.last.headers
    assert (seen["authorization"], seen["openai-organization"], seen["x-custom"]) == (
        "Bearer sk-caller",
        "org-1",
        "v",
    )
    assert not [name for name in seen if name.startswith("x-promptcache")]
    assert {"te", "x-hop", "transfer-encoding"}.isdisjoint(seen)
    assert seen["host"] in mock.url


def test_an_x_api_key_becomes_the_bearer_token_openai_s_api_expects(
    proxied: Served, mock: MockUpstream
) -> None:
    proxied.post(WEIRD_BODY, x_api_key="sk-other")
    assert mock.last.headers["authorization"] == "Bearer sk-other"


def test_a_compressed_request_is_read_and_forwarded_plain(proxied: Served, mock: MockUpstream) -> None:
    import gzip

    answer = proxied.post(gzip.compress(WEIRD_BODY), content_encoding="gzip")
    assert answer.status_code == 200
    assert mock.last.body == WEIRD_BODY
    assert "content-encoding" not in mock.last.headers


def test_a_compressed_answer_is_read_and_arrives_readable(proxied: Served, mock: MockUpstream) -> None:
    import gzip

    async def script(wire: Wire) -> None:
        await wire.respond(gzip.compress(CHAT_BYTES), headers=("content-encoding: gzip",))

    mock.script = script
    answer = proxied.post(WEIRD_BODY)
    assert answer.content == CHAT_BYTES
    assert proxied.record(answer)["usage"]["cached_tokens"] == 1920


def test_a_large_body_arrives_whole(proxied: Served, mock: MockUpstream) -> None:
    body = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * 900_000}]})
    assert proxied.post(body).status_code == 200
    assert mock.last.body == body


def test_models_are_the_upstream_s_own(proxied: Served, mock: MockUpstream) -> None:
    async def script(wire: Wire) -> None:
        await wire.respond(b'{"object":"list","data":[{"id":"a/b"} ]}')

    mock.script = script
    assert proxied.get("/v1/models").content == b'{"object":"list","data":[{"id":"a/b"} ]}'
    assert proxied.get("/models/a%2Fb").status_code == 200
    assert mock.last.line == "GET /v1/models/a/b HTTP/1.1"


@pytest.mark.parametrize(("stream", "said"), [(False, "Caf"), (True, "Hello")])
def test_half_a_surrogate_pair_is_forwarded_as_it_came(
    proxied: Served, mock: MockUpstream, stream: bool, said: str
) -> None:
    body = b'{"model":"m","stream":%s,"messages":[{"role":"user","content":"cut \\ud83d"}]}' % (
        b"true" if stream else b"false"
    )
    answer = proxied.post(body)
    assert said.encode().lower() in answer.content.lower()
    assert mock.last.body.replace(SPLICED, b"") == body


def test_half_a_surrogate_pair_in_a_name_is_forwarded_where_a_member_is_put_in(
    proxied: Served, mock: MockUpstream
) -> None:
    body = b'{"model":"m","stream":true,"stream_options":{"\\udc00":2},"\\ud800":1,"messages":[]}'
    answer = proxied.post(body)
    assert answer.status_code == 200
    assert mock.last.body == body.replace(b'{"\\udc00":2}', b'{"\\udc00":2,"include_usage":true}')
