"""canonical_json writes RFC 8785 where it applies, one fixed form beyond it, and refuses the rest by path."""

from __future__ import annotations

import dataclasses
import json
import math
import struct
import subprocess
import sys
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.canonical import canonical_json
from promptcache.errors import CanonicalJSONError
from promptcache.faithful import write_text

# RFC 8785, appendix B: IEEE 754 bits and the text they must have.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_of_the_rfc(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(number) == text.encode()
    assert canonical_json([number]) == f"[{text}]".encode()
    assert canonical_json({"a": {"b": number}}) == f'{{"a":{{"b":{text}}}}}'.encode()


def test_key_order_of_the_rfc() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    written = canonical_json(dict.fromkeys(keys, 0))
    order = ["\\r", "1", "\u0080", "ö", "€", "😀", "\ufb33"]
    assert written.decode() == "{" + ",".join(f'"{key}":0' for key in order) + "}"


def test_the_worked_example_of_the_rfc() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\u000f\u000aA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    assert canonical_json(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_escapes() -> None:
    text = "".join(map(chr, range(0x21))) + '"\\/\x7f\u0080\u2028\u2029é😀'
    escapes = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}
    controls = "".join(escapes.get(code, f"\\u{code:04x}") for code in range(0x20))
    assert canonical_json([text]).decode() == f'["{controls} \\"\\\\/\x7f\u0080\u2028\u2029é😀"]'
    assert write_text([text], strict=False).encode() == canonical_json([text])


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


class Pair(NamedTuple):
    a: int
    b: int


@dataclasses.dataclass
class Room:
    number: int
    guest: Any = None


class PydanticLike:
    def model_dump(self) -> dict[str, Any]:
        return {"b": Room(1), "a": (1, 2)}


class NumpyLike:
    def __init__(self, kind: str, value: Any) -> None:
        self.dtype = type("dtype", (), {"kind": kind})()
        self._value = value

    def tolist(self) -> Any:
        return self._value


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "another"


GOLDEN: list[tuple[Any, str]] = [
    ({}, "{}"),
    ([], "[]"),
    ((), "[]"),
    (set(), "[]"),
    (None, "null"),
    (True, "true"),
    ("é", '"é"'),
    (10**30, "1" + "0" * 30),
    (-(2**63) - 1, "-9223372036854775809"),
    ({"b": 1, "a": [2, {"d": 0, "c": None}]}, '{"a":[2,{"c":null,"d":0}],"b":1}'),
    (
        {"x": -0.0, "y": 1.0, "s": "-0.0,1.0,", "t": 'a",1.0]'},
        '{"s":"-0.0,1.0,","t":"a\\",1.0]","x":0,"y":1}',
    ),
    ({"s": "\\", "y": 1e16, "z": "x\\\\,1e16,"}, '{"s":"\\\\","y":10000000000000000,"z":"x\\\\\\\\,1e16,"}'),
    ({1: "a", None: "b", 1.5: "d"}, '{"1":"a","1.5":"d","null":"b"}'),
    ({True: "c"}, '{"true":"c"}'),
    ({Colour.RED: Colour.RED, Word.YES: Level.HIGH}, '{"red":"red","yes":3}'),
    ({"b", "a", "c"}, '["a","b","c"]'),
    (frozenset({3, 20, 100}), "[100,20,3]"),
    ({("b", 1), ("a", 2)}, '[["a",2],["b",1]]'),
    (Pair(1, 2), "[1,2]"),
    (Room(4, Room(5)), '{"guest":{"guest":null,"number":5},"number":4}'),
    (PydanticLike(), '{"a":[1,2],"b":{"guest":null,"number":1}}'),
    (MappingProxyType({"b": 1, "a": 2}), '{"a":2,"b":1}'),
    (datetime(2031, 3, 4, 18, 4, 11), '"2031-03-04T18:04:11"'),
    (datetime(2031, 3, 4, 18, 4, 11, 5, tzinfo=UTC), '"2031-03-04T18:04:11.000005Z"'),
    (datetime(2031, 3, 4, 18, 4, tzinfo=timezone(timedelta(hours=-5))), '"2031-03-04T18:04:00-05:00"'),
    (date(2031, 3, 4), '"2031-03-04"'),
    (time(18, 4), '"18:04:00"'),
    (Decimal("1.10"), '"1.10"'),
    (Decimal("1E+3"), '"1000"'),
    (uuid.UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
    (
        {"when": {date(2031, 3, 4): uuid.UUID(int=5)}},
        '{"when":{"2031-03-04":"00000000-0000-0000-0000-000000000005"}}',
    ),
    (NumpyLike("f", 0.5), "0.5"),
    (NumpyLike("i", [1, 2]), "[1,2]"),
    (Text("own"), '"own"'),
    ({"😀": 1, "\ufe0f": 2}, '{"😀":1,"\ufe0f":2}'),
    ({"a": "😀\ufe0f"}, '{"a":"😀\ufe0f"}'),
    ("<script>/", '"<script>/"'),
]


@pytest.mark.parametrize(("value", "text"), GOLDEN, ids=[text[:32] for _, text in GOLDEN])
def test_golden_bytes(value: Any, text: str) -> None:
    assert canonical_json(value) == text.encode()
    assert canonical_json([value, {"k": value}]) == f'[{text},{{"k":{text}}}]'.encode()


def test_real_numpy_and_pydantic_where_present() -> None:
    numpy = pytest.importorskip("numpy")
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        b: int
        a: set[str]

    assert canonical_json({"m": Model(b=1, a={"y", "x"})}) == b'{"m":{"a":["x","y"],"b":1}}'
    value = {"i": numpy.int64(3), "f": numpy.float32(0.5), "b": numpy.bool_(True), "a": numpy.arange(3)}
    assert canonical_json(value) == b'{"a":[0,1,2],"b":true,"f":0.5,"i":3}'
    with pytest.raises(CanonicalJSONError, match="nan is not a number"):
        canonical_json({"x": numpy.array([1.0, math.nan])})
    with pytest.raises(CanonicalJSONError, match="datetime64"):
        canonical_json(numpy.datetime64("2031-03-04"))


def loop() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


REFUSED: list[tuple[Any, str, str]] = [
    ({"a": [1, math.nan]}, "$.a[1]", "nan"),
    ({"a": {"b c": -math.inf}}, '$.a["b c"]', "-inf"),
    ([None, math.inf], "$[1]", "inf"),
    (math.nan, "$", "nan"),
    ({"a": "x\ud800"}, "$.a", "U+D800"),
    ({"x": {"\ud83d": 1}}, '$.x["\\ud83d"]', "U+D83D"),
    ({1: "a", "1": "b"}, "$", "two keys"),
    ({"x": [{True: 1, "true": 2}]}, "$.x[0]", "two keys"),
    ({"a": b"bytes"}, "$.a", "bytes"),
    ({"a": {(1, 2): 3}}, "$.a", "a key is a tuple"),
    ([object()], "$[0]", "object"),
    ({"when": timedelta(1)}, "$.when", "timedelta"),
    ({"d": Decimal("NaN")}, "$.d", "NaN"),
    ({"t": Room}, "$.t", "type"),
    (loop(), "$", "contains itself"),
    ({"n": 10**5000}, "$.n", "thousands of digits"),
    ({"a": {"x", math.nan}}, "$.a", "nan"),
]


@pytest.mark.parametrize(
    ("value", "path", "words"), REFUSED, ids=[f"{path} {words}" for _, path, words in REFUSED]
)
def test_refuses_by_path(value: Any, path: str, words: str) -> None:
    with pytest.raises(CanonicalJSONError) as caught:
        canonical_json(value)
    assert caught.value.path == path
    assert words in caught.value.problem
    assert caught.value.remedy


def test_strictness_refuses_integers_that_doubles_lose() -> None:
    assert canonical_json({"n": 2**53}) == b'{"n":9007199254740992}'
    assert canonical_json({"n": 2**53 - 1}, strict=True) == b'{"n":9007199254740991}'
    for value in (2**53, -(2**53), 2**70):
        with pytest.raises(CanonicalJSONError, match=r"\$\.n.*RFC 8785"):
            canonical_json({"n": value}, strict=True)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["1.0,", '",1.0]', ":1e16}", "\\", '\\"', "a:-0.0,", "0.0000001", "e-5", "😀", "\ufe0f"]
)
exact = st.none() | st.booleans() | st.integers() | texts | st.integers(-50, 50).map(float) | st.floats(-1, 1)
scalars = exact | st.floats(allow_nan=False, allow_infinity=False)


def trees(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
        max_leaves=12,
    )


def careful(value: Any, *, strict: bool = False) -> bytes | str:
    try:
        return write_text(value, strict=strict).encode()
    except CanonicalJSONError as error:
        return f"{error.path} {error.problem}"


def quick(value: Any, *, strict: bool = False) -> bytes | str:
    try:
        return canonical_json(value, strict=strict)
    except CanonicalJSONError as error:
        return f"{error.path} {error.problem}"


wide_floats = st.floats() | st.builds(lambda m, e: m * 10.0**e, st.integers(-99, 99), st.integers(-30, 30))
odd_keys = st.sampled_from(
    ["😀", "\ufe0f", "😀\ufe0f", "\ue000", 'q"', 'q"😀', '😀"', "\\", "b", "\ud7ff", "é"]
)
hashable = st.none() | st.booleans() | st.integers() | texts | wide_floats
rich = (
    hashable
    | st.integers(-(2**70), 2**70)
    | st.sets(hashable, max_size=3)
    | st.builds(Room, st.integers(), wide_floats | texts)
    | st.builds(lambda value: (value, value), hashable)
    | st.sampled_from([Word.YES, Level.HIGH, Colour.RED, Text("own"), "x\ud800", date(2031, 3, 4)])
)


def rich_trees() -> st.SearchStrategy[Any]:
    keys = odd_keys | texts | st.integers(-3, 3) | st.sampled_from(["1", None, True, "true", Word.YES, 0.5])
    return st.recursive(
        rich,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=10,
    )


@pytest.mark.parametrize("few", [0, 200], ids=["searched", "looked at"])
@settings(max_examples=300)
@given(value=trees(scalars | wide_floats))
def test_the_fast_way_and_the_careful_way_agree(few: int, value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("promptcache.canonical._FEW", few)
        assert quick(value) == careful(value)


@pytest.mark.parametrize("strict", [False, True])
@settings(max_examples=400)
@given(value=rich_trees())
def test_they_agree_on_rich_values_and_on_what_they_refuse(value: Any, *, strict: bool) -> None:
    assert quick(value, strict=strict) == careful(value, strict=strict)


@settings(max_examples=200)
@given(st.lists(st.dictionaries(odd_keys | texts, wide_floats | texts | st.none(), max_size=5), max_size=5))
def test_they_agree_on_keys_of_any_script(value: Any) -> None:
    assert quick(value) == careful(value)


def test_no_float_is_overlooked_in_a_large_document() -> None:
    bits = [
        0x7FF0 << 48,
        0xFFF0 << 48,
        (0x7FF8 << 48) + 1,
        0xFFFF << 48,
        0x7FEF << 48,
        0x7F << 56,
        0xFF << 56,
    ]
    for number in struct.unpack(f">{len(bits)}d", struct.pack(f">{len(bits)}Q", *bits)):
        value = [{"row": row, "none": None, "text": "\x7f\xff é" * 3} for row in range(300)] + [{"n": number}]
        assert quick(value) == careful(value)


@settings(max_examples=150)
@given(trees(exact))
def test_reads_back_as_the_same_value_and_is_stable(value: Any) -> None:
    written = canonical_json(value)
    assert json.loads(written) == value
    assert canonical_json(json.loads(written)) == written


@settings(max_examples=100)
@given(st.dictionaries(texts, scalars, min_size=2, max_size=8), st.randoms())
def test_the_order_of_a_mapping_never_shows(value: dict[str, Any], random: Any) -> None:
    items = list(value.items())
    random.shuffle(items)
    assert canonical_json(dict(items)) == canonical_json(value)


PROGRAM = """
from promptcache.canonical import canonical_json
value = {"s": {"b", "a", "ü", "z", "q"}, "f": [0.1, 1e22, 5e-324], "d": {"é": 1, "e": {2, 3}}, "o": ["x"] * 2}
import sys; sys.stdout.buffer.write(canonical_json(value))
"""


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_the_same_bytes_in_every_process(seed: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
    )
    golden = '{"d":{"e":[2,3],"é":1},"f":[0.1,1e+22,5e-324],"o":["x","x"],"s":["a","b","q","z","ü"]}'
    assert run.stdout.decode() == golden


@pytest.mark.parametrize(
    ("offset", "written"),
    [
        (timedelta(hours=1, seconds=30), "+01:00:30"),
        (timedelta(seconds=30), "+00:00:30"),
        (timedelta(seconds=30, microseconds=5), "+00:00:30.000005"),
        (-timedelta(hours=1, seconds=30), "-01:00:30"),
        (timedelta(0), "Z"),
    ],
)
def test_an_offset_keeps_its_seconds(offset: timedelta, written: str) -> None:
    moment = datetime(2031, 3, 4, 5, 6, 7, tzinfo=timezone(offset))
    assert canonical_json([moment]).decode() == f'["2031-03-04T05:06:07{written}"]'
    assert datetime.fromisoformat(json.loads(canonical_json(moment))) == moment


@dataclasses.dataclass
class HalfSet:
    there: int
    later: int = dataclasses.field(init=False)


@dataclasses.dataclass(slots=True)
class HalfSetSlots:
    there: int
    later: int = dataclasses.field(init=False)


@pytest.mark.parametrize("kind", [HalfSet, HalfSetSlots])
def test_a_field_that_was_never_set_is_named_with_its_place(kind: Any) -> None:
    value = kind(1)
    with pytest.raises(CanonicalJSONError, match=rf"\$\.a\[0\] .* 'later' of a {kind.__name__} is not set"):
        canonical_json({"a": [value]})
    value.later = 2
    assert canonical_json(value) == b'{"later":2,"there":1}'


def test_numpy_keys_are_treated_alike() -> None:
    numpy = pytest.importorskip("numpy")
    keys = {numpy.int64(3): 1, numpy.float64(1.5): 2, numpy.float32(0.5): 3, numpy.bool_(True): 4}
    assert canonical_json(keys) == b'{"0.5":3,"1.5":2,"3":1,"true":4}'
    assert canonical_json(keys) == write_text(keys, strict=False).encode()
    with pytest.raises(CanonicalJSONError, match="both written '3'"):
        canonical_json({numpy.int64(3): 1, "3": 2})
    with pytest.raises(CanonicalJSONError, match="beyond"):
        canonical_json({numpy.int64(2**60): 1}, strict=True)


def test_a_long_double_is_refused_with_its_place() -> None:
    numpy = pytest.importorskip("numpy")
    value = numpy.longdouble("1.5")
    for holder in ({"a": value}, {"a": {value: 1}}, {"a": numpy.array([value])}):
        with pytest.raises(CanonicalJSONError, match=r"\$\.a.* a longdouble may hold more digits"):
            canonical_json(holder)


def test_members_of_a_set_stand_in_the_order_of_their_text() -> None:
    assert canonical_json({2, 10, "a", 1.5}) == b'["a",1.5,10,2]'
