"""Logs of every outer form are read an entry at a time; what is no JSON is named and passed over."""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.diagnose import spanning
from promptcache_gateway.diagnose.lines import UnreadableLogError, read_log

VALUES = [{"a": 1, "text": "Grüße\u2028\U0001f600"}, {"b": [1, {"c": "]"}]}, {"d": 'quote " and \\'}]


def entries(path: Path) -> list[tuple[int, object]]:
    return [
        (line.number, line.value if line.problem is None else line.problem) for line in read_log(str(path))
    ]


def test_lines_with_a_mark_of_order_empty_and_bad_ones(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a":1}\r\n\r\n{bad\n{"b":NaN}\n[{"c":1},{"c":2}]\n{"d":1}')

    found = entries(path)

    assert [number for number, _ in found] == [1, 3, 4, 5, 5, 6]
    assert found[0] == (1, {"a": 1})
    assert found[1] == (3, "not JSON")
    assert found[5] == (6, {"d": 1})


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_is_read_in_pieces(
    tmp_path: Path, indent: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spanning, "_CHUNK", 3)
    path = tmp_path / "log.json"
    path.write_text("[\n" + json.dumps(VALUES * 3, indent=indent, ensure_ascii=False)[1:], encoding="utf-8")

    assert [value for _, value in entries(path)] == VALUES * 3


def test_an_array_that_was_cut_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text('[\n{"a": 1},\n{"b": ')
    assert entries(path) == [(2, {"a": 1}), (3, "not JSON (the array does not end)")]


def test_a_compressed_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a":1}\n{"b":2}\n'))
    assert [value for _, value in entries(path)] == [{"a": 1}, {"b": 2}]


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnreadableLogError, match="No such file"):
        entries(tmp_path / "nothing")


NUMBERS = st.integers(-(2**63), 2**63 - 1)
TREES = st.recursive(
    st.none() | st.text(max_size=9) | NUMBERS, lambda v: st.dictionaries(st.text(max_size=3), v)
)


@given(st.lists(TREES, max_size=5))
@settings(max_examples=25)
def test_what_was_written_is_read(values: list[object]) -> None:
    objects = [{"value": value} for value in values]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.json"
        path.write_text("\n".join(json.dumps(one) for one in objects))
        assert [value for _, value in entries(path)] == objects
        path.write_text(json.dumps(objects, indent=2))
        assert [value for _, value in entries(path)] == objects


@pytest.mark.parametrize("damage", ["cut", "wrong", "followed"])
def test_a_damaged_archive_is_read_as_far_as_it_goes(tmp_path: Path, damage: str) -> None:
    hashes = (hashlib.sha256(str(number).encode()).hexdigest() for number in range(9000))
    log = "".join(json.dumps({"a": each}) + "\n" for each in hashes).encode()
    packed = bytearray(gzip.compress(log))
    if damage == "cut":
        del packed[len(packed) // 2 :]
    elif damage == "wrong":
        packed[len(packed) // 2 : len(packed) // 2 + 40] = b"\xff" * 40
    else:
        packed += b"no archive"
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(packed)
    lines = list(read_log(str(path)))
    read = [line.value for line in lines if line.problem is None]
    assert len(read) == 9000 if damage == "followed" else 4000 < len(read) < 9000
    sure = 4000  # behind a wrong byte other values may come out than went in, until the sum shows it
    assert read[:sure] == [json.loads(line) for line in log.splitlines()[:sure]]
    assert "damaged or cut short" in str(lines[-1].problem)


def test_an_archive_with_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a":1}\n')[:12] + b"\xff" * 40)
    with pytest.raises(UnreadableLogError, match="compressed data are damaged"):
        list(read_log(str(path)))


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
@pytest.mark.parametrize("count", [1, 3])
def test_objects_over_several_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, count: int
) -> None:
    monkeypatch.setattr(spanning, "_CHUNK", chunk)
    path = tmp_path / "log.json"
    written = [json.dumps(value, indent=2, ensure_ascii=False) for value in VALUES[:count]]
    path.write_text("\n\n" + "\n".join(written), encoding="utf-8")
    begins = [3 + sum(text.count("\n") + 1 for text in written[:number]) for number in range(count)]
    assert entries(path) == list(zip(begins, VALUES, strict=False))


BROKEN = """
[
  {"a": 1},
  {
    "b": {
      "c": 2,,
      "d": "}"
    },
    "e": [{"f": 0}]
  },
  {"g": nul},
  {
    "h": 3
  },
  {"i": "two
  lines"},
  {"j": 4}
]
"""


@pytest.mark.parametrize("chunk", [1, 5, 40, 1 << 20])
def test_a_bad_item_is_named_by_the_line_it_is_wrong_on_and_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(spanning, "_CHUNK", chunk)
    path = tmp_path / "log.json"
    path.write_text(BROKEN)
    assert entries(path) == [
        (3, {"a": 1}),
        (6, "not JSON"),
        (11, "not JSON"),
        (12, {"h": 3}),
        (15, "not JSON"),
        (17, {"j": 4}),
    ]


@pytest.mark.parametrize("first", ['{"a": {', '{"a": [1,', "[bad", '{"a": ["x", {'])
def test_a_first_line_that_was_cut_costs_no_other(tmp_path: Path, first: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f'{first}\n{{"b": 2}}\n{{"c": 3}}\n')
    found = entries(path)
    assert found == [(1, "not JSON"), (2, {"b": 2}), (3, {"c": 3})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{\n"a": 1', [(1, "not JSON (the object does not end)")]),
        ('{\n"a": "b', [(1, "not JSON (the object does not end)")]),
        ('[\n{"a": 1}', [(2, {"a": 1}), (2, "not JSON (the array does not end)")]),
        ('[\n{"a": 1},\n', [(2, {"a": 1}), (3, "not JSON (the array does not end)")]),
        ('{\n"a": bad}', [(2, "not JSON")]),
        ('{\n"a": ' + "[" * 100_000, [(1, "not JSON (nested too deeply)")]),
    ],
)
def test_what_does_not_end_says_so(tmp_path: Path, text: str, expected: list[tuple[int, object]]) -> None:
    path = tmp_path / "log.json"
    path.write_text(text)
    assert entries(path) == expected


def test_a_value_of_any_length_is_no_reason_to_hold_all_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spanning, "_CHUNK", 8)
    monkeypatch.setattr(spanning, "LONGEST", 64)
    path = tmp_path / "log.json"
    path.write_text('[\n{"a": "' + "x" * 500 + '"},\n{"b": 2}\n]')
    assert entries(path) == [
        (2, "not JSON (the value is longer than what is read at once)"),
        (3, {"b": 2}),
    ]


@pytest.mark.parametrize("chunk", [1, 5, 40, 1 << 20])
@pytest.mark.parametrize("bad", range(4))
def test_any_item_may_be_the_bad_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, bad: int
) -> None:
    monkeypatch.setattr(spanning, "_CHUNK", chunk)
    items = [{"a": number, "b": {"c": [{"d": number}]}} for number in range(4)]
    text = json.dumps(items, indent=2).replace(f'"a": {bad},', f'"a": {bad},,')
    wrong = text[: text.index(",,")].count("\n") + 1
    path = tmp_path / "log.json"
    path.write_text(text + "\n\n")
    values = [value for _, value in entries(path)]
    assert values == [item if number != bad else "not JSON" for number, item in enumerate(items)]
    assert entries(path)[bad][0] in {wrong, wrong + 1}


@pytest.mark.parametrize("chunk", [1, 5, 40, 1 << 20])
@pytest.mark.parametrize("between", ["\n", "\n\n", " ", ""])
@pytest.mark.parametrize("indent", [None, 2])
def test_what_stands_behind_an_array_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, between: str, indent: int | None
) -> None:
    monkeypatch.setattr(spanning, "_CHUNK", chunk)
    path = tmp_path / "log.json"
    second = json.dumps(VALUES[1:], indent=indent, ensure_ascii=False)
    path.write_text(json.dumps(VALUES[:1], indent=2, ensure_ascii=False) + between + second, encoding="utf-8")
    assert [value for _, value in entries(path)] == VALUES
    third = json.dumps(VALUES[0], ensure_ascii=False)
    path.write_text(f"[\n{third}\n]{between}{second} \n[\n]\n{third}\n", encoding="utf-8")
    assert [value for _, value in entries(path)] == [*VALUES, VALUES[0]]


@pytest.mark.parametrize("first", ["[12345] starting", "[2026-11-29 12:00:00] INFO", "[] x", '[{"z": 0}] x'])
def test_a_first_line_in_brackets_costs_no_other(tmp_path: Path, first: str) -> None:
    path = tmp_path / "log.jsonl"
    lines = "\n".join(json.dumps(one) for one in VALUES)
    path.write_text(f"{first}\n{lines}\n")
    found = [value for _, value in entries(path)]
    assert [value for value in found if value in VALUES] == VALUES
    assert found.count("not JSON") == 1
    assert len(found) == len(VALUES) + 1 + first.startswith("[{")


def test_words_in_brackets_between_objects_open_no_array(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text('{\n"a": 1\n}\n[INFO] x\n{\n"b": 2\n}\n')
    assert [value for _, value in entries(path)] == [{"a": 1}, "not JSON", {"b": 2}]


@pytest.mark.parametrize("chunk", [1, 40, 1 << 20])
def test_objects_over_several_lines_may_follow_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(spanning, "_CHUNK", chunk)
    path = tmp_path / "log.json"
    parts = [json.dumps(value, ensure_ascii=False) for value in VALUES]
    parts += [json.dumps(value, indent=2, ensure_ascii=False) for value in VALUES]
    parts += [json.dumps(VALUES, indent=2, ensure_ascii=False), parts[0]]
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    found = entries(path)
    assert [value for _, value in found] == [*VALUES * 3, VALUES[0]]
    assert found[3][0] == 4


@pytest.mark.parametrize("cut", ['{"a": {', '{"a": [1,', "[{", "[bad"])
def test_a_line_in_the_middle_that_was_cut_costs_no_other(tmp_path: Path, cut: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f'{{"x": 1}}\n{cut}\n{{"b": 2}}\n{{"c": 3}}\n')
    assert entries(path)[:4] == [(1, {"x": 1}), (2, "not JSON"), (3, {"b": 2}), (4, {"c": 3})]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("indent", [None, 2])
def test_logs_of_utf_16_with_a_mark_of_order(tmp_path: Path, encoding: str, indent: int | None) -> None:
    path = tmp_path / "log.json"
    text = "\n".join(json.dumps(value, indent=indent, ensure_ascii=False) for value in VALUES * 2_000)
    path.write_bytes(f"\ufeff{text}\n".encode(encoding))
    assert [value for _, value in entries(path)] == VALUES * 2_000


@pytest.mark.parametrize(
    ("log", "mended"),
    [
        (b'{"a":"x\xffy"}\n{"a":"\xef\xbf\xbd"}\n', [True, False]),
        (b'{"a":"x\xc3"}\n{"a":"\\udc80"}\n', [True, False]),
        (b'[{"a":"x\xff"},{"a":"y"}]\n{"a":"\xed\xa0\x80"}\n', [True, False, False]),
        (b'[\n{"a":"\xef\xbf\xbd"},\n{"a":"x\xe2\x82"},\n{"a":"y"}\n]\n', [False, True, False]),
        (b'{\n "a": "x\xff\xfey"\n}\n{\n "a": "\\udc80"\n}\n', [True, False]),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_bytes_that_are_no_utf_8_cost_no_entry(
    tmp_path: Path, log: bytes, mended: list[bool], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spanning, "_CHUNK", chunk)
    path = tmp_path / "log.jsonl"
    path.write_bytes(log)

    lines = list(read_log(str(path)))

    assert [line.problem for line in lines] == [None] * len(mended)
    assert [line.mended for line in lines] == mended
    assert all("\ufffd" in line.value["a"] for line in lines if line.mended)


def test_what_is_no_json_with_a_bad_byte_is_no_json(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a":"x\xff}\n{"b":1}\n')
    assert entries(path) == [(1, "not JSON"), (2, {"b": 1})]


def test_joined_files_have_marks_of_order_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a":1}\n\xef\xbb\xbf{"b":2}\n')
    assert entries(path) == [(1, {"a": 1}), (2, {"b": 2})]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_compressed_logs_of_any_encoding(tmp_path: Path, encoding: str, times: int) -> None:
    data = '{"a":"Grüße"}\n{"b":2}\n'.encode(encoding)
    for _ in range(times):
        data = gzip.compress(data)
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(data)
    assert entries(path) == [(1, {"a": "Grüße"}), (2, {"b": 2})]


@pytest.mark.parametrize(
    ("start", "name"),
    [(b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh91AY", "bzip2"), (b"\xfd7zXZ\0", "xz"), (b"PK\x03\x04", "zip")],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_compressed_otherwise_is_named(tmp_path: Path, start: bytes, name: str, packed: bool) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(gzip.compress(start + b"rest") if packed else start + b"rest")
    with pytest.raises(UnreadableLogError, match=f"compressed with {name}") as raised:
        entries(path)
    assert raised.value.remedy is not None
    assert "diagnose -" in raised.value.remedy
