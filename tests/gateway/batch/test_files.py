"""The input and the output file: what is refused before anything is sent, and what is mended."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.batch.answer import Answer, Failure, read_line, write_line
from promptcache_gateway.batch.errors import InputError, JournalError
from promptcache_gateway.batch.index import InputIndex
from promptcache_gateway.batch.journal import Journal

BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'


def index_of(path: Path, *lines: bytes) -> InputIndex:
    path.write_bytes(b"\n".join(lines))
    index = InputIndex(path)
    try:
        index.build()
    except BaseException:
        index.close()
        raise
    return index


def line(name: str, url: str = "/v1/chat/completions", method: str = "POST") -> bytes:
    return b'{"custom_id":%s,"method":"%s","url":"%s","body":%s}' % (
        orjson.dumps(name),
        method.encode(),
        url.encode(),
        BODY,
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "holds no request"),
        ([b"", b"  "], "holds no request"),
        ([BODY, b"{"], "line 2: is no JSON"),
        ([b"[1]"], "line 1: is no JSON object"),
        ([b'{"a":1}'], "neither a batch request nor a request body"),
        ([line("a"), line("b"), line("a")], "line 3: its custom_id is that of line 1"),
        ([line("a", method="GET")], "'GET', not POST"),
        ([line("a", url="https://elsewhere.example/v1/chat/completions")], "is --upstream"),
        ([line("a", url="//elsewhere.example/v1")], "is --upstream"),
        ([line("a", url="/v1/../admin")], "is --upstream"),
        ([line("a").replace(b'"a"', b"7")], "custom_id is no text"),
        ([b"\x1f\x8b\x08"], "is compressed"),
        ([b'{"messages":[],"model":"\xff"}'], "is no JSON"),
        ([b"[" * 100_000], "is no JSON"),
        ([line("a").decode().encode("utf-16")], "line 1: is UTF-16"),
        ([b"\xfe\xff" + line("a").decode().encode("utf-16-be")], "line 1: is UTF-16"),
        ([BODY, line("a").decode().encode("utf-16")], "line 2: is no JSON"),
        ([line("a").decode().encode("utf-16-le")], "line 1: is no JSON"),
        ([line("a").decode().encode("utf-16-be")], "line 1: is no JSON"),
    ],
)
def test_a_file_that_cannot_be_sent_is_refused(tmp_path: Path, lines: list[bytes], said: str) -> None:
    with pytest.raises(InputError) as caught:
        index_of(tmp_path / "in.jsonl", *lines)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_what_is_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        InputIndex(tmp_path / name)


def test_an_index_finds_each_request_again(tmp_path: Path) -> None:
    index = index_of(
        tmp_path / "in.jsonl", b"\xef\xbb\xbf" + line("a"), b"", b"  " + BODY + b" ", line("\u00e9")
    )
    found = [index.request(at) for at in range(3)]
    assert [request.custom_id for request in found] == ["a", "line-3", "\u00e9"]
    assert [request.body for request in found] == [BODY] * 3
    assert [index.find(name) for name in ("a", "line-3", "\u00e9", "b")] == [0, 1, 2, None]
    (tmp_path / "in.jsonl").write_bytes((tmp_path / "in.jsonl").read_bytes().replace(b"hi", b"ho"))
    with pytest.raises(InputError, match="was changed"):
        index.request(0)
    index.close()


def opened(out: Path, index: InputIndex) -> tuple[list[str], bytes]:
    names: list[str] = []
    journal = Journal(out, index, lambda noted: names.append(noted.custom_id))
    finished = bytes(journal.finished)
    journal.close()
    return names, finished


def test_a_torn_last_line_is_mended(tmp_path: Path) -> None:
    index, out = index_of(tmp_path / "in.jsonl", line("a"), line("b")), tmp_path / "out.jsonl"
    first = write_line("a", index.fingerprint(0), Answer(200, b"{}"))
    second = write_line("b", index.fingerprint(1), Answer(200, b'{"t":"' + b"x" * 3_000_000 + b'"}'))
    for cut in (*range(len(second) - 30, len(second)), *range(30), 1_500_000):
        out.write_bytes(first + second[:cut])
        whole = cut == len(second) - 1  # only the end of the line is missing
        assert opened(out, index) == ((["a", "b"], b"\x01\x01") if whole else (["a"], b"\x01\x00"))
        assert out.read_bytes() == (first + second if whole else first)
    index.close()


@pytest.mark.parametrize("zeros", [1, 511, 4096, 3_000_000])
def test_zeros_that_a_lost_power_left_are_mended(tmp_path: Path, zeros: int) -> None:
    index, out = index_of(tmp_path / "in.jsonl", *map(line, "abc")), tmp_path / "out.jsonl"
    written = [write_line(name, index.fingerprint(at), Answer(200, b"{}")) for at, name in enumerate("abc")]
    for cut in (0, 5, 40, len(written[1]) - 1, len(written[1])):
        out.write_bytes(written[0] + written[1][:cut] + bytes(zeros))
        whole = cut >= len(written[1]) - 1
        assert opened(out, index) == ((["a", "b"], b"\1\1\0") if whole else (["a"], b"\1\0\0"))
        assert out.read_bytes() == (written[0] + written[1] if whole else written[0])
    for cut in (0, 5, len(written[1]) - 1):  # what came later was written, what came before was not
        out.write_bytes(written[0] + written[1][:cut] + bytes(zeros) + written[2][7:] + written[2])
        assert opened(out, index) == (["a", "c"], b"\1\0\1")
        assert out.read_bytes() == written[0] + written[2]
    out.write_bytes(written[0][:9] + bytes(zeros))
    assert opened(out, index) == ([], b"\0\0\0")
    index.close()


@pytest.mark.parametrize(
    "held",
    [
        b"my notes\n",
        b"my notes",
        b'{"a":1}\n',
        BODY + b"\n",
        b'{"id":"batch_req_1"}\n',
        bytes(9),
        b"my notes" + bytes(9),
        b"my notes\n" + bytes(9),
        bytes(4096) + b"my notes\n",
    ],
)
def test_somebody_elses_file_is_left_alone(tmp_path: Path, held: bytes) -> None:
    index, out = index_of(tmp_path / "in.jsonl", line("a")), tmp_path / "out.jsonl"
    out.write_bytes(held)
    with pytest.raises(JournalError, match="no answer of a batch"):
        opened(out, index)
    assert out.read_bytes() == held
    index.close()


def test_answers_to_another_input_are_refused(tmp_path: Path) -> None:
    index, out = index_of(tmp_path / "in.jsonl", line("a")), tmp_path / "out.jsonl"
    out.write_bytes(write_line("a", bytes(16), Answer(200, b"{}")))
    with pytest.raises(JournalError, match="does not hold"):
        opened(out, index)
    out.write_bytes(write_line("z", index.fingerprint(0), Answer(200, b"{}")))
    with pytest.raises(JournalError, match="does not hold"):
        opened(out, index)
    with pytest.raises(JournalError, match="the input itself"):
        opened(tmp_path / "in.jsonl", index)
    with pytest.raises(JournalError):
        opened(tmp_path, index)
    with pytest.raises(JournalError, match="no file"):
        opened(Path("/dev/null"), index)
    index.close()


def test_failed_answers_are_taken_out_and_the_rest_stays_as_it_is(tmp_path: Path) -> None:
    index, out = index_of(tmp_path / "in.jsonl", line("a"), line("b"), line("c")), tmp_path / "out.jsonl"
    good = write_line("b", index.fingerprint(1), Answer(200, b'{ "x":1.00 }', "id"))
    out.write_bytes(
        write_line("a", index.fingerprint(0), Answer(500, b"oops"))
        + good
        + write_line("c", index.fingerprint(2), Failure("timeout", "silent"))
    )
    assert opened(out, index) == (["b"], b"\x00\x01\x00")
    assert out.read_bytes() == good
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    index.close()


@given(
    name=st.text(min_size=1),
    status=st.integers(200, 599),
    body=st.one_of(
        st.binary(max_size=60),
        st.dictionaries(
            st.text(),
            st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(), st.none()),
        ).map(lambda value: json.dumps(value, indent=2).encode()),
    ),
)
@settings(max_examples=150)
def test_any_answer_is_one_line_that_says_the_same(name: str, status: int, body: bytes) -> None:
    written = write_line(name, bytes(range(16)), Answer(status, body))
    assert written.count(b"\n") == 1
    assert b"\r" not in written
    noted = read_line(written)
    assert noted is not None
    assert (noted.custom_id, noted.fingerprint) == (name, bytes(range(16)))
    assert noted.succeeded == (status < 300)
    try:
        expected = json.loads(body)
    except ValueError:
        expected = None
    inner = json.loads(written)["response"]["body"]
    assert inner == (expected if isinstance(expected, dict) else body.decode("utf-8", "replace"))


def test_an_index_is_small_beside_its_file(tmp_path: Path) -> None:
    with (tmp_path / "in.jsonl").open("wb") as file:
        for number in range(300):
            text = f"{number} " * 12_000
            file.write(json.dumps({"messages": [{"role": "user", "content": text}]}).encode() + b"\n")
    size = (tmp_path / "in.jsonl").stat().st_size
    assert size > 10_000_000
    tracemalloc.start()
    index = InputIndex(tmp_path / "in.jsonl")
    index.build()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    index.close()
    assert held < size / 50
    assert peak < size / 10, "no more than the line being read is held with it"
