"""Arguments that were cut off: what a client makes of them as a stream, and nothing else."""

import json

import jiter
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.translate.cut_json import arguments_object


def test_half_of_a_surrogate_pair_costs_no_argument() -> None:
    assert arguments_object(r'{"x":"a \ud83d","b":18446744073709551616}') == {"x": "a \ufffd", "b": 2**64}
    assert arguments_object(r'{"b":1,"x":"a \uD83D') == {"b": 1}
    assert arguments_object(r'{"b":1,"x":["\ud83d"') == {"b": 1, "x": ["\ufffd"]}


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(max_size=8)
    | st.sampled_from(['\\"', "{[", "}],"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=4)


@settings(max_examples=200)
@given(OBJECTS, st.sampled_from([None, 1]), st.booleans(), st.floats(0, 1))
def test_as_the_client_of_a_stream_reads_them(
    value: dict, indent: int | None, ascii_: bool, share: float
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_)
    assert arguments_object(text) == value
    cut = text[: 1 + int(share * (len(text) - 1))]
    assert arguments_object(cut) == jiter.from_json(cut.encode(), partial_mode=True)


@pytest.mark.parametrize(
    "text", [None, "", " ", "[1", '"x"', "12", "no JSON", "{]}", '{"a" 1, "b": 2', 3, "[" * 5000]
)
def test_what_writes_no_object_gives_none(text: object) -> None:
    assert arguments_object(text) == {}
