"""The one member the gateway adds to a request, and every byte it leaves alone."""

import json
import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.upstreams import splice as splicing
from promptcache_gateway.upstreams.splice import (
    add_include_usage,
    remove_from_each,
    remove_member,
    set_member,
)

WEIRD = (
    b'{ "stream" :true,\r\n\t"model":"m\\u00e9",  "seed": 123456789012345678901234567890,'
    b'"temperature":1.0e0,"messages":[{"content":"a  b\\/c \\ud83d\\ude00 }","role":"user"}] \n}\n'
)


def splice(body: bytes) -> bytes | None:
    return add_include_usage(body, json.loads(body))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"stream":true}', b'{"stream":true,"stream_options":{"include_usage":true}}'),
        (b"{ }", b'{"stream_options":{"include_usage":true} }'),
        (b'{"stream_options":null,"a":1}', b'{"stream_options":{"include_usage":true},"a":1}'),
        (b'{"stream_options": {} }', b'{"stream_options": {"include_usage":true} }'),
        (
            b'{"stream_options":{"include_obfuscation":false }, "x":"}"}',
            b'{"stream_options":{"include_obfuscation":false,"include_usage":true }, "x":"}"}',
        ),
        (b'{"stream_options":{"include_usage" : null}}', b'{"stream_options":{"include_usage" : true}}'),
        (
            b'{"m":{"stream_options":{"include_usage":false}},"stream_options":null}',
            b'{"m":{"stream_options":{"include_usage":false}},"stream_options":{"include_usage":true}}',
        ),
        (
            b'{"stream\\u005foptions":{"a":[1,{"b":2}]}}',
            b'{"stream\\u005foptions":{"a":[1,{"b":2}],"include_usage":true}}',
        ),
        (
            b'{"stream_options":{"include_usage":true},"stream_options":null}',
            b'{"stream_options":{"include_usage":true},"stream_options":{"include_usage":true}}',
        ),
    ],
)
def test_the_member_is_added_where_it_is_missing(body: bytes, expected: bytes) -> None:
    assert splice(body) == expected


@pytest.mark.parametrize("options", ["true", "false", '"yes"'])
def test_what_the_caller_said_stands(options: str) -> None:
    assert splice(b'{"stream_options":{"include_usage":%s}}' % options.encode()) is None


def test_options_that_are_no_object_are_left_to_the_upstream() -> None:
    assert splice(b'{"stream_options":[1]}') is None


def test_no_other_byte_of_a_strange_body_changes() -> None:
    spliced = splice(WEIRD)
    assert spliced is not None
    member = b',"stream_options":{"include_usage":true}'
    assert spliced.count(member) == 1
    assert spliced.replace(member, b"") == WEIRD


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    body=st.dictionaries(st.sampled_from(["a", "stream", '"', "é{"]) | st.text(max_size=3), JSON, max_size=4),
    options=st.sampled_from([..., None, {}, {"include_usage": None}, {"other": [1, "}"]}]),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 0, 2]),
)
def test_the_spliced_body_means_the_same_and_the_option(
    body: dict[str, object], options: object, ascii_only: bool, indent: int | None
) -> None:
    if options is not ...:
        body["stream_options"] = options
    text = json.dumps(body, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "replace")
    payload = json.loads(text)
    spliced = add_include_usage(text, payload)
    assert spliced is not None
    wanted = payload.get("stream_options") or {}
    assert json.loads(spliced) == {**payload, "stream_options": {**wanted, "include_usage": True}}
    assert len(spliced) - len(text) <= len(b',"stream_options":{"include_usage":true}')


def test_a_long_prompt_costs_nothing_to_speak_of() -> None:
    body = orjson.dumps({"messages": [{"role": "user", "content": "x" * 1_000_000}], "stream_options": {}})
    payload = orjson.loads(body)
    begun = time.process_time()
    assert add_include_usage(body, payload) is not None
    assert time.process_time() - begun < 0.2


def test_members_of_one_name_are_taken_out_in_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    plain = splicing._member_spans
    monkeypatch.setattr(splicing, "_member_spans", lambda *given: read.append(1) or plain(*given))
    body = b'{"keep":1,' + b",".join([b'"d":"a"'] * 1000) + b"}"
    assert remove_member(body, ("d",)) == b'{"keep":1}'
    assert len(read) == 1


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        (b'{"a":1,"d":{"x":2},"b":3}', ("d",), b'{"a":1,"b":3}'),
        (b'{ "d" : null , "b":3}', ("d",), b'{ "b":3}'),
        (b'{"b":3 ,\n "d":[1,{"d":2}] }', ("d",), b'{"b":3 }'),
        (b'{"d":1}', ("d",), b"{}"),
        (b'{"d":1,"a":"d","d":2}', ("d",), b'{"a":"d"}'),
        (b'{ "d":1, "d":{"x":[2]}, "a":3, "d":4 ,"d":5, "b":6 }', ("d",), b'{ "a":3, "b":6 }'),
        (b'{"a":1,"d":1,"d":2}', ("d",), b'{"a":1}'),
        (b'{"d":1,"d":2}', ("d",), b"{}"),
        (b'{"a":{"d":1}}', ("d",), b'{"a":{"d":1}}'),
        (b'{"o":{ "ttl":"30m", "c":"x" },"c":1}', ("o", "c"), b'{"o":{ "ttl":"30m" },"c":1}'),
        (b'{"o":{"c":"x","ttl":"30m"}}', ("o", "c"), b'{"o":{"ttl":"30m"}}'),
        (b'{"\\u0064":"\\"}","e":1}', ("d",), b'{"e":1}'),
    ],
)
def test_a_member_is_taken_out(body: bytes, path: tuple[str, ...], expected: bytes) -> None:
    assert remove_member(body, path) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"m":{"t":1},"a":1}', b'{"a":1}'),
        (b'{"m":{"t":1 , "u":2},"a":1,"m" : {"v":3, "t":4}}', b'{"m":{"u":2},"a":1,"m" : {"v":3}}'),
        (b'{"m":{"u":2},"m":{ "t":4 }}', b'{"m":{"u":2},"m":{  }}'),
        (b'{"m":{"t":4},"m":{"u":2}}', b'{"m":{},"m":{"u":2}}'),
        (b'{"m":{"t":4},"a":[{"m":{"t":5}}],"m":{ }}', b'{"a":[{"m":{"t":5}}]}'),
        (b'{"m":{"t":4},"m":null}', b'{"m":{},"m":null}'),
        (b'{"m":"t","m":["t"],"m":{"t":{"t":"}"},"t":1}}', b'{"m":"t","m":["t"],"m":{}}'),
        (b'{"m":{"\\u0074":1},"\\u006d":{"t":2},"a":1}', b'{"a":1}'),
        (b'{"m":{"u":{"t":1}}}', b'{"m":{"u":{"t":1}}}'),
        (b'{"m":{},"a":"t","m":{ }}', b'{"m":{},"a":"t","m":{ }}'),
    ],
)
def test_a_member_is_taken_out_of_every_object_of_a_name(body: bytes, expected: bytes) -> None:
    assert remove_from_each(body, "m", "t") == expected


def test_many_of_a_name_are_taken_out_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    plain = splicing._cut_out
    monkeypatch.setattr(splicing, "_cut_out", lambda *given: made.append(1) or plain(*given))
    body = b'{"a":1,' + b",".join([b'"m":{"t":1,"u":2}'] * 1000) + b"}"
    assert remove_from_each(body, "m", "t") == body.replace(b'"t":1,', b"")
    assert len(made) == 1


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        (b'{"o":{"a":1},"x":[ ]}', ("o", "c"), b'{"o":{"a":1,"c":7},"x":[ ]}'),
        (b'{"o":{"c":null }}', ("o", "c"), b'{"o":{"c":7 }}'),
        (b"{}", ("c",), b'{"c":7}'),
        (b'{"\\ud800":1,"c":null,"\\udc00x":2}', ("c",), b'{"\\ud800":1,"c":7,"\\udc00x":2}'),
    ],
)
def test_a_member_is_put_in(body: bytes, path: tuple[str, ...], expected: bytes) -> None:
    assert set_member(body, path, b"7") == expected


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), _JSON, max_size=5), st.sampled_from([None, 1]))
def test_taking_out_what_was_put_in_changes_nothing(body: dict, indent: int | None) -> None:
    body.pop("new", None)
    written = json.dumps(body, indent=indent).encode()
    added = set_member(written, ("new",), b'{"x":[1,"}"]}')
    assert json.loads(added) == {**body, "new": {"x": [1, "}"]}}
    assert remove_member(added, ("new",)) == written
    for name in body:
        rest = {key: value for key, value in body.items() if key != name}
        assert json.loads(remove_member(written, (name,))) == rest
