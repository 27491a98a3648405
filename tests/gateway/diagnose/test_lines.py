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

from promptcache_gateway.diagnose import lines as lines_module
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
    monkeypatch.setattr(lines_module, "_CHUNK", 3)
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
@settings(max_examples=25, deadline=None)
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
