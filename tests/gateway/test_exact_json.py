"""JSON that goes through a translation: integers of any length stay what they were."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.exact_json import dumps, exact, loads, read

LONG = 2**64
INTEGERS = (
    st.integers()
    | st.integers(-(10**300), 10**300)
    | st.sampled_from([-(2**63) - 1, -(2**63), LONG - 1, LONG])
)
VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES, st.booleans())
def test_what_is_read_is_what_was_written(value: Any, ascii_: bool) -> None:
    written = json.dumps(value, ensure_ascii=ascii_)
    assert loads(written) == loads(written.encode()) == value
    assert loads(dumps(value)) == json.loads(dumps(value)) == value


@given(VALUES)
def test_a_payload_is_made_exact_only_where_it_must_be(value: Any) -> None:
    body = json.dumps({"a": value}).encode()
    payload = orjson.loads(body)
    assert exact(payload, body) == {"a": value}
    if payload == {"a": value} and not any(character.isdigit() for character in body.decode()):
        assert exact(payload, body) is payload


def test_orjson_alone_would_round() -> None:
    """Else nothing of this is needed any more."""
    assert isinstance(orjson.loads(str(LONG)), float)
    with pytest.raises(TypeError):
        orjson.dumps(LONG)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[1,]", b"18446744073709551616,", b"\xff1234567890123456789", b"NaN"]
)
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        loads(text)


def test_what_cannot_be_written_is_refused_as_by_orjson() -> None:
    for value in ({1, 2}, "\ud800", [LONG, "\ud800"], [LONG, object()]):
        with pytest.raises(TypeError):
            dumps(value)


def test_deep_nesting_is_read_all_the_same() -> None:
    deep = b"[" * 1000 + str(LONG).encode() + b"]" * 1000
    value = loads(deep)
    for _ in range(1000):
        (value,) = value
    assert value == pytest.approx(LONG)


def test_half_a_surrogate_pair_is_one_character_that_stands_for_it() -> None:
    body = b'{"a": "\\ud83d", "b": [18446744073709551616, 0.5]}'
    told = {"a": "\ufffd", "b": [LONG, 0.5]}
    assert read(body) == exact({"a": "\ufffd", "b": [float(LONG), 0.5]}, body) == told
    rounded = read(body, orjson.loads)["b"]
    assert (rounded, type(rounded[0])) == ([float(LONG), 0.5], float)
    for wrong in (b'{"\\ud83d": NaN}', b'"\\ud83d'):
        with pytest.raises(ValueError):
            read(wrong)


@pytest.mark.parametrize("as_", [str, str.encode])
def test_half_of_a_surrogate_pair_is_one_character(as_: Any) -> None:
    written = r'["\ud83d", "\ud83d\ude00", 18446744073709551616, 1.5]'
    assert read(as_(written)) == ["\ufffd", "\U0001f600", LONG, 1.5]
    for text in (r'["\ud83d",]', r'["\ud83d", 1e400]', r'["\ud83d", NaN]', r'"\ud83d"' + "[" * 5_000):
        with pytest.raises(orjson.JSONDecodeError):
            read(as_(text))
