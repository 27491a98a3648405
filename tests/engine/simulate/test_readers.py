"""Reading traces: what counts as a request, what its pages are, and what cannot be read."""

import json
from pathlib import Path
from typing import Any

import pytest

from promptcache_engine.simulate import TraceError, read_trace


def written(path: Path, *lines: Any) -> Path:
    file = path / "trace.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return file


def mooncake(time: float, length: int, *ids: int) -> dict[str, Any]:
    return {"timestamp": time, "input_length": length, "output_length": 3, "hash_ids": list(ids)}


def test_mooncake_drops_the_last_page_that_is_not_full(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, mooncake(2_000, 1_100, 7, 8, 9), mooncake(500, 1_024, 7, 8)))
    assert [(r.time, r.pages, r.tokens) for r in trace] == [(0.5, (7, 8), 1_024), (2.0, (7, 8), 1_100)]
    assert (trace.page_size, trace.footprint, trace.num_pages) == (512, 2, 4)


def test_mooncake_in_larger_and_smaller_pages(tmp_path: Path) -> None:
    file = written(tmp_path, mooncake(0, 5 * 512, 1, 2, 3, 4, 5))
    assert read_trace(file, 1_024).requests[0].pages == (2, 4)
    finer = read_trace(file, 128)
    assert (finer.requests[0].pages, finer.footprint) == ((1, 2, 3, 4, 5), 20)
    with pytest.raises(TraceError, match="512"):
        read_trace(file, 48)


@pytest.mark.parametrize(
    "wrong",
    [
        {"hash_ids": ["a"], "input_length": 1},
        {"hash_ids": 3, "input_length": 1},
        {"hash_ids": [2**31], "input_length": 1},
        {"hash_ids": [1]},
        {"hash_ids": [1], "input_length": -1},
        {"hash_ids": [1], "input_length": 1, "timestamp": "noon"},
        {"hash_ids": [1], "input_length": 512, "timestamp": int("9" * 400)},
        {"hash_ids": [1], "input_length": 512, "timestamp": float("inf")},
        {"hash_ids": [1, 2], "input_length": 99_999},
        {"hash_ids": [1, 2, 3], "input_length": 1_024},
    ],
)
def test_a_line_that_is_no_mooncake_request_is_named(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(TraceError, match="line 2") as caught:
        read_trace(written(tmp_path, mooncake(0, 512, 1), wrong))
    assert caught.value.line == 2
    assert caught.value.remedy


def test_bodies_that_share_text_share_pages(tmp_path: Path) -> None:
    system = "You are a careful assistant. " * 20
    lines = [
        {"model": "m", "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}]}
        for text in ("first question", "another one")
    ]
    trace = read_trace(written(tmp_path, *lines))
    one, two = (request.pages for request in trace)
    shared = sum(a == b for a, b in zip(one, two, strict=False))
    assert shared == (len("system\n") + len(system)) // 64
    assert trace.approximate
    assert [request.time for request in trace] == [0.0, 1.0]


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": "x" * 200},
        {
            "system": [{"type": "text", "text": "x" * 200, "cache_control": {"type": "ephemeral"}}],
            "messages": [],
        },
        {
            "instructions": "x" * 200,
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "y"}]}],
        },
        {
            "tools": [{"name": "x" * 200}],
            "messages": [{"role": "user", "content": None, "tool_calls": [{"id": 1}]}],
        },
    ],
)
def test_every_dialect_is_read(tmp_path: Path, body: dict[str, Any]) -> None:
    (request,) = read_trace(written(tmp_path, {"request": body, "time": "2026-01-01T00:00:00+00:00"}))
    assert request.pages
    assert request.time == 1_767_225_600.0


def test_a_cache_mark_is_no_content(tmp_path: Path) -> None:
    block = {"type": "text", "text": "x" * 200}
    marked = {**block, "cache_control": {"type": "ephemeral"}}
    trace = read_trace(written(tmp_path, *({"system": [b], "messages": []} for b in (block, marked))))
    assert trace.requests[0].pages == trace.requests[1].pages


def test_token_ids_are_taken_as_they_are(tmp_path: Path) -> None:
    lines = [{"tokens": list(range(9))}, {"body": {"prompt": list(range(8))}}, {"prompt_token_ids": [5] * 4}]
    trace = read_trace(written(tmp_path, *lines), 4)
    assert [(len(request.pages), request.tokens) for request in trace] == [(2, 9), (2, 8), (1, 4)]
    assert trace.requests[0].pages == trace.requests[1].pages
    assert not trace.approximate


def test_another_model_shares_nothing(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, *({"model": name, "prompt": "x" * 80} for name in "ab")))
    assert trace.footprint == 2


def test_requests_are_sorted_and_milliseconds_recognised(tmp_path: Path) -> None:
    lines = [
        {"prompt": "x" * 80, "timestamp": 1_767_225_601_000},
        {"prompt": "x" * 80, "ts": 1_767_225_600.5},
    ]
    assert [request.time for request in read_trace(written(tmp_path, *lines))] == [
        1_767_225_600.5,
        1_767_225_601.0,
    ]


def test_what_holds_no_request_is_skipped_and_counted(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, {"prompt": "x" * 80}, "{broken", "[1]", {"usage": {}}, ""))
    assert (len(trace), trace.skipped) == (1, 3)


@pytest.mark.parametrize("lines", [(), ("nothing",), ({"usage": 1},)])
def test_a_file_without_a_request_is_refused(tmp_path: Path, lines: tuple[Any, ...]) -> None:
    with pytest.raises(TraceError, match="no request"):
        read_trace(written(tmp_path, *lines))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"none\.jsonl"):
        read_trace(tmp_path / "none.jsonl")


def test_the_last_page_of_a_mooncake_request_may_have_a_number_or_none(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, mooncake(0, 1_100, 7, 8, 9), mooncake(1, 1_100, 7, 8)))
    assert [request.pages for request in trace] == [(7, 8), (7, 8)]


@pytest.mark.parametrize("line", [mooncake(0, 512, 1), {"prompt": "x" * 80}])
def test_a_byte_order_mark_costs_no_request(tmp_path: Path, line: dict[str, Any]) -> None:
    file = written(tmp_path, line, line)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    trace = read_trace(file)
    assert (len(trace), trace.skipped) == (2, 0)


def test_two_formats_in_one_file_are_refused(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "x" * 200}]}
    with pytest.raises(TraceError, match=r"line 2: .*Mooncake"):
        read_trace(written(tmp_path, body, mooncake(0, 512, 1)))
    with pytest.raises(TraceError, match="line 2: `hash_ids`"):
        read_trace(written(tmp_path, mooncake(0, 512, 1), body))


@pytest.mark.parametrize("time", [int("9" * 400), -int("9" * 400), float("inf"), float("nan")])
def test_a_time_beyond_all_clocks_is_named(tmp_path: Path, time: float) -> None:
    with pytest.raises(TraceError, match="line 2: the time"):
        read_trace(written(tmp_path, {"prompt": "x" * 80}, {"prompt": "x" * 80, "time": time}))


def test_a_request_without_a_time_stands_behind_the_one_before_it(tmp_path: Path) -> None:
    lines = [{"prompt": "x" * 80, **time} for time in ({"ts": 5}, {}, {"ts": "noon"}, {"ts": 9})]
    assert [request.time for request in read_trace(written(tmp_path, *lines))] == [5, 6, 7, 9]


def test_what_is_nested_too_deeply_is_skipped_and_counted(tmp_path: Path) -> None:
    lists = "[" * 900 + "]" * 900
    deep = f'{{"messages": [{{"role": "user", "content": {lists}}}]}}'
    trace = read_trace(written(tmp_path, {"prompt": "x" * 80}, deep))
    assert (len(trace), trace.skipped) == (1, 1)
    with pytest.raises(TraceError, match="no request"):
        read_trace(written(tmp_path, deep))
