"""`promptcache diff` says where one request leaves another; its status tells programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from promptcache.cli.diff import main

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = "You are the clerk of the hotel Larkspur. Now: {}. Answer in two sentences."


def body(now: str, *turns: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(turns)]
    return {"model": "m", "messages": [{"role": "system", "content": SYSTEM.format(now)}, *messages]}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(name: str, content: Any) -> str:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return write


def test_a_request_that_extends_the_other_is_status_0(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    a = write("a.json", body("2031-03-04 18:04:11", "hi"))
    b = write("b.json", body("2031-03-04 18:04:11", "hi", "hello", "bye"))
    assert main([a, b]) == 0
    assert "extends the first" in capsys.readouterr().out


def test_a_changed_clock_is_status_1_and_named(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    a = write("a.json", body("2031-03-04 18:04:11", "hi"))
    b = write("b.json", body("2031-03-04 18:05:40", "hi", "hello", "bye"))
    assert main([a, b, "--output-format", "json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["cause"] == "PC101"
    assert result["path"] == "messages[0]"
    assert result["char_offset"] == SYSTEM.index("{}") + len("2031-03-04 18:0")
    assert main([a, b]) == 1
    out = capsys.readouterr().out
    assert "leaves the first at messages[0], character" in out
    assert "PC101 The current time stands in the prefix" in out
    assert "Instead: " in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("[]", "holds a JSON list, not an object"),
        ("{}", "not a request"),
        ('{"messages": 3}', "not a request (messages"),
        ("[" * 100_000, "not JSON"),
        ('"\\ud800"', "holds a JSON str, not an object"),
    ],
)
def test_bad_input_is_status_2_and_names_the_file(
    content: str, words: str, write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = write("good.json", body("x", "hi")), write("bad.json", content)
    for arguments in ([good, bad], [bad, good]):
        assert main(arguments) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert f"{bad}: {words}" in captured.err


def test_a_missing_file_is_status_2(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([write("a.json", body("x", "hi")), "nowhere.json"]) == 2
    assert "nowhere.json: No such file or directory." in capsys.readouterr().err


def test_usage_is_read_beside_the_requests(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    a = write("a.json", body("x", "hi"))
    b = write("b.json", body("x", "hi", "hello", "bye"))
    usage = {"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 880}, "completion_tokens": 5}
    assert main([a, b, "--usage", write("usage.json", usage)]) == 0
    assert main([a, b, "--usage", write("broken.json", "{")]) == 2
    assert "broken.json: not JSON" in capsys.readouterr().err


@pytest.mark.parametrize("change", [{"model": "other"}, {"reasoning_effort": "high"}])
def test_what_ends_the_reuse_beside_the_text_is_status_1(
    change: dict[str, Any], write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = body("now", "hi")
    a = write("a.json", {"reasoning_effort": "low", **earlier})
    b = write("b.json", {"reasoning_effort": "low", **body("now", "hi", "hello", "bye"), **change})
    assert main([a, b, "--output-format", "json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["append_only"], bool(result["cause"])) == (True, True)
    assert main([a, b]) == 1
    assert "yet may not reuse it" in capsys.readouterr().out


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_a_lone_surrogate_is_shown_as_its_escape(
    output_format: str, write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = write("a.json", body("x\ud800", "hi")), write("b.json", body("y\udfff", "hi", "hello", "bye"))
    assert main([a, b, "--output-format", output_format]) == 1
    out = capsys.readouterr().out
    assert "\\ud800" in out
    assert "\\udfff" in out


@pytest.mark.parametrize("content", [{}, {"id": "r", "usage": None}, {"usage": {"words": 5}}])
def test_a_file_without_usage_is_status_2(
    content: Any, write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = write("a.json", body("x", "hi")), write("b.json", body("x", "hi", "hello", "bye"))
    assert main([a, b, "--usage", write("u.json", content)]) == 2
    err = capsys.readouterr().err
    assert "u.json: holds no usage." in err
    assert "usage object" in err
