"""`promptcache batch` as a user runs it: against a server with a prefix cache, killed, and resumed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from promptcache_gateway.batch import main
from tests.gateway.batch.caching_server import answer, caching_server
from tests.gateway.mock_upstream import mock_upstream, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.mock_upstream import Wire


def chat(system: str, question: str) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {"model": "gpt-4o-mini", "messages": messages}


def entry(name: str, body: dict[str, Any], url: str = "/v1/chat/completions") -> dict[str, Any]:
    return {"custom_id": name, "method": "POST", "url": url, "body": body}


def write(path: Path, lines: list[Any]) -> Path:
    path.write_bytes(
        b"".join((line if isinstance(line, bytes) else orjson.dumps(line)) + b"\n" for line in lines)
    )
    return path


def mixed(count: int, groups: int) -> list[dict[str, Any]]:
    """Requests of several systems, shuffled, as an export of a database has them."""
    systems = [
        f"You are assistant {number}. " + f"Rule {number}: be kind and brief. " * 60
        for number in range(groups)
    ]
    entries = [entry(f"r{n}", chat(systems[n % groups], f"question {n}")) for n in range(count)]
    random.Random(7).shuffle(entries)
    return entries


def answers(path: Path) -> dict[str, Any]:
    found = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    named = {line["custom_id"]: line for line in found}
    assert len(named) == len(found), "an answer stands there twice"
    return named


def batch(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


# --- order ---


def test_order_by_prefix_computes_less_than_the_order_of_the_file(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", mixed(60, 6))
    computed = {}
    for order in ("input", "prefix"):
        with caching_server(capacity_pages=140, delay_s=0.002) as server:
            status = batch(
                source,
                tmp_path / f"{order}.jsonl",
                *("--upstream", server.mock.url, "--order", order, "--concurrency", 4),
            )
            assert status == 0
            computed[order] = server.uncached
    assert len(answers(tmp_path / "prefix.jsonl")) == 60
    # Six prefixes of about 1,950 characters are computed once each, and the file's order computes them over.
    assert computed["prefix"] < 6 * 2_100 + 60 * 100
    assert computed["prefix"] * 2 < computed["input"]


def test_followers_wait_for_the_first_answer_and_then_run_together(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", mixed(24, 1))
    with caching_server(delay_s=0.02) as server:
        assert batch(source, tmp_path / "out.jsonl", "--upstream", server.mock.url, "--concurrency", 12) == 0
        assert server.uncached < 2_100 + 24 * 100, "the prefix is computed once"
        assert server.together > 4, "and those who share it are not sent one by one"


def test_nobody_waits_where_nothing_is_shared(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", [chat(f"{n} " * 400, "hi") for n in range(16)])
    with caching_server(delay_s=0.05) as server:
        assert batch(source, tmp_path / "out.jsonl", "--upstream", server.mock.url, "--concurrency", 16) == 0
        assert server.together > 8


# --- bytes and forms ---


async def odd(wire: Wire) -> None:
    if wire.seen.line.startswith("GET"):
        await wire.respond(b"{}", status="404 Not Found")
    elif b"stream" in wire.seen.body:
        await wire.events(b'data: {"model":"m","choices":[]}\n\n', b"data: [DONE]\n\n")
    elif b"plain" in wire.seen.body:
        await wire.respond(b"caf\xc3\xa9 at noon", kind="text/plain")
    else:
        await wire.respond(
            b'{\r\n  "x" : 123456789012345678901,\n  "t": "caf\\u00e9\\n"\n}\n',
            headers=("x-request-id: up-1",),
        )


def test_bodies_and_answers_keep_their_bytes(tmp_path: Path) -> None:
    body = b'{ "model" :"m","n":1.0e0, "messages":[{"role":"user","content":"caf\\u00e9 \\ud800 \\/"}] }'
    wrapped = b'{"body": ' + body + b' , "custom_id":"a", "method":"post","url":"/v1/chat/completions"}'
    other = b' {"prompt": "plain",  "model":"m"}\t'
    source = write(tmp_path / "in.jsonl", [wrapped, b"", other, b'{"messages":[],"stream":true}'])
    with mock_upstream(odd) as mock:
        assert batch(source, tmp_path / "out.jsonl", "--upstream", f"{mock.url}/v1/") == 0
        sent = {seen.body: seen for seen in mock.seen}
    assert sent[body].line == "POST /v1/chat/completions HTTP/1.1"
    assert sent[other.strip()].line == "POST /v1/completions HTTP/1.1"
    raw = (tmp_path / "out.jsonl").read_bytes()
    assert b'{    "x" : 123456789012345678901,   "t": "caf\\u00e9\\n" }' in raw
    found = answers(tmp_path / "out.jsonl")
    assert found["a"]["response"]["request_id"] == "up-1"
    assert found["a"]["error"] is None
    assert found["line-3"]["response"]["body"] == "café at noon"
    assert found["line-4"]["response"]["body"].endswith("data: [DONE]\n\n")


def test_bare_bodies_go_where_their_form_belongs(tmp_path: Path) -> None:
    bodies = [
        {"model": "m", "messages": [{"role": "user", "content": "1"}]},
        {"model": "m", "input": "2"},
        {"model": "m", "prompt": "3"},
        {"model": "m", "system": "s", "max_tokens": 9, "messages": [{"role": "user", "content": "4"}]},
        entry("e", {"model": "m", "input": ["5", "6"]}, "/v1/embeddings"),
    ]
    source = write(tmp_path / "in.jsonl", bodies)
    with mock_upstream(odd) as mock:
        assert batch(source, tmp_path / "out.jsonl", "--upstream", mock.url) == 0
        posts = sorted(seen.line.split()[1] for seen in mock.seen if seen.line.startswith("POST"))
    assert posts == [
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/embeddings",
        "/v1/messages",
        "/v1/responses",
    ]


def test_keys_go_only_where_they_were_named_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "in.jsonl", [{"model": "m", "system": "s", "messages": []}, {"prompt": "x"}])
    monkeypatch.setenv("PROMPTCACHE_API_KEY", "pc-gateway-secret")
    monkeypatch.setenv("THEIR_KEY", "sk-theirs")
    with mock_upstream(odd) as mock:
        assert batch(source, tmp_path / "1.jsonl", "--upstream", mock.url) == 0
        assert all("authorization" not in seen.headers for seen in mock.seen)
        mock.seen.clear()
        batch(
            source,
            tmp_path / "2.jsonl",
            "--upstream",
            mock.url,
            "--api-key-env",
            "THEIR_KEY",
            "--header",
            "X-A: b",
        )
        assert {seen.headers["authorization"] for seen in mock.seen} == {"Bearer sk-theirs"}
        assert {seen.headers["x-a"] for seen in mock.seen if seen.body} == {"b"}
        messages = next(seen for seen in mock.seen if "/v1/messages" in seen.line)
        assert messages.headers["x-api-key"] == "sk-theirs"
        assert messages.headers["anthropic-version"]
    assert batch(source, tmp_path / "3.jsonl", "--upstream", mock.url, "--api-key-env", "NO_SUCH") == 2
    assert "NO_SUCH" in capsys.readouterr().err


# --- failures ---


class Moody:
    """Answers with what is on its list first."""

    def __init__(self, *first: tuple[str, tuple[str, ...]]) -> None:
        self.first = list(first)

    async def __call__(self, wire: Wire) -> None:
        if wire.seen.line.startswith("GET"):
            await wire.respond(b"{}")
        elif self.first:
            status, headers = self.first.pop(0)
            if status == "drop":
                wire.reset()
                return
            await wire.respond(b'{"error":{"message":"no"}}', status=status, headers=headers)
        else:
            await wire.respond(answer("x", 10, 0))


def test_what_may_pass_is_asked_again(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", [chat("s", "q")])
    script = Moody(
        ("429 Too Many Requests", ("retry-after: 0",)),
        ("drop", ()),
        ("503 Service Unavailable", ("retry-after-ms: 5",)),
    )
    with mock_upstream(script) as mock:
        assert batch(source, tmp_path / "out.jsonl", "--upstream", mock.url) == 0
        assert len([seen for seen in mock.seen if seen.body]) == 4
    assert answers(tmp_path / "out.jsonl")["line-1"]["response"]["status_code"] == 200


CHUNK, DONE = b'data: {"model":"m","choices":[]}\n\n', b"data: [DONE]\n\n"
FAULT = b'data: {"error":{"message":"gone","code":"upstream_interrupted"}}\n\n'
BEGUN, STOP = b'data: {"type":"message_start"}\n\n', b'data: {"type":"message_stop"}\n\n'
CREATED, COMPLETED = b'data: {"type":"response.created"}\n\n', b'data: {"type":"response.completed"}\n\n'


@pytest.mark.parametrize(
    ("path", "whole", "broken"),
    [
        ("/v1/chat/completions", (CHUNK, DONE), (CHUNK,)),
        ("/v1/chat/completions", (CHUNK, DONE), (CHUNK, FAULT, DONE)),
        ("/v1/messages", (BEGUN, STOP), (BEGUN,)),
        ("/v1/messages", (BEGUN, STOP), (BEGUN, b'event: error\ndata: {"type":"error"}\n\n')),
        ("/v1/responses", (CREATED, COMPLETED), (CREATED,)),
        ("/v1/responses", (CREATED, b'data: {"type":"response.incomplete"}\n\n'), (CREATED, FAULT)),
    ],
)
def test_a_torn_stream_is_no_answer(
    tmp_path: Path, path: str, whole: tuple[bytes, ...], broken: tuple[bytes, ...]
) -> None:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "q"}]}
    source, out = write(tmp_path / "in.jsonl", [entry("r", body, path)]), tmp_path / "out.jsonl"
    torn_ones = 1

    async def script(wire: Wire) -> None:
        nonlocal torn_ones
        if wire.seen.line.startswith("GET"):
            await wire.respond(b"{}")
            return
        torn_ones -= 1
        await wire.events(*(broken if torn_ones >= 0 else whole))

    with mock_upstream(script) as mock:
        assert batch(source, out, "--upstream", mock.url, "--retries", 0) == 1
        (line,) = answers(out).values()
        assert (line["response"], line["error"]["code"]) == (None, "torn_stream")
        torn_ones = 1
        assert batch(source, out, "--upstream", mock.url) == 0, "asked again, and repeated"
        assert len([seen for seen in mock.seen if seen.body]) == 3
        (line,) = answers(out).values()
        assert line["response"]["body"].encode() == b"".join(whole)
        assert batch(source, out, "--upstream", mock.url) == 0
        assert len([seen for seen in mock.seen if seen.body]) == 3, "a whole one is not asked for again"


def test_what_failed_is_told_and_asked_again_by_the_next_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = write(tmp_path / "in.jsonl", [chat("s", "q1"), chat("t", "q2")]), tmp_path / "out.jsonl"
    script = Moody(("400 Bad Request", ()), ("429 Too Many Requests", ("retry-after: 9000",)))
    with mock_upstream(script) as mock:
        assert batch(source, out, "--upstream", mock.url, "--output-format", "json") == 1
        said = orjson.loads(capsys.readouterr().out)
        assert (said["answered"], said["failed"]) == (0, 2)
        first = answers(out)
        assert {line["response"]["status_code"] for line in first.values()} == {400, 429}
        assert all(line["response"]["body"] == {"error": {"message": "no"}} for line in first.values())
        assert batch(source, out, "--upstream", mock.url) == 0
        assert {line["response"]["status_code"] for line in answers(out).values()} == {200}
        sent = len(mock.seen)
        out.chmod(0o666)
        assert batch(source, out, "--upstream", mock.url) == 0, "nothing is left to do"
        assert len(mock.seen) == sent
    assert out.stat().st_mode & 0o777 == 0o600


def test_a_leader_that_fails_hands_over(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", mixed(8, 1))
    with mock_upstream(Moody(("400 Bad Request", ()), ("400 Bad Request", ()))) as mock:
        assert batch(source, tmp_path / "out.jsonl", "--upstream", mock.url, "--concurrency", 8) == 1
    statuses = [line["response"]["status_code"] for line in answers(tmp_path / "out.jsonl").values()]
    assert sorted(statuses) == [200] * 6 + [400] * 2


def test_a_refused_key_ends_it_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "in.jsonl", mixed(50, 50))
    with mock_upstream(Moody(*[("401 Unauthorized", ())] * 50)) as mock:
        assert batch(source, tmp_path / "out.jsonl", "--upstream", mock.url, "--concurrency", 2) == 2
        assert len([seen for seen in mock.seen if seen.body]) <= 4
    assert "--api-key-env" in capsys.readouterr().err
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_nobody_at_the_address(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "in.jsonl", [chat("s", "q")])
    assert batch(source, tmp_path / "out.jsonl", "--upstream", "http://127.0.0.1:9") == 2
    assert "nothing answers at http://127.0.0.1:9" in capsys.readouterr().err


def test_without_an_upstream_it_asks_the_gateway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "in.jsonl", [chat("s", "q")])
    monkeypatch.setattr("promptcache_gateway.batch.cli._DEFAULT", "http://127.0.0.1:9")
    assert batch(source, tmp_path / "out.jsonl") == 2
    assert "promptcache serve" in capsys.readouterr().err
    with caching_server() as server:
        monkeypatch.setattr("promptcache_gateway.batch.cli._DEFAULT", server.mock.url)
        monkeypatch.setenv("PROMPTCACHE_API_KEY", "pc-gateway-secret")
        assert batch(source, tmp_path / "out.jsonl") == 0
        assert server.mock.last.headers["authorization"] == "Bearer pc-gateway-secret"


def test_a_server_that_goes_away_ends_the_run_and_the_next_goes_on(tmp_path: Path) -> None:
    source, out = write(tmp_path / "in.jsonl", mixed(40, 40)), tmp_path / "out.jsonl"
    with mock_upstream(Moody(*[("200 OK", ())] * 5, *[("drop", ())] * 100)) as mock:
        status = batch(source, out, "--upstream", mock.url, "--concurrency", 1, "--retries", 1)
        assert status == 2
        assert len([seen for seen in mock.seen if seen.body]) == 5 + 3 * 2
    with caching_server() as server:
        assert batch(source, out, "--upstream", server.mock.url) == 0
        assert sum(server.asked.values()) == 35
    assert len(answers(out)) == 40


# --- killed ---


def run_aside(source: Path, out: Path, url: str) -> subprocess.Popen[bytes]:
    code = "import sys; from promptcache_gateway.batch import main; sys.exit(main(sys.argv[1:]))"
    arguments = [str(source), str(out), "--upstream", url, "--concurrency", "4"]
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_killed_it_goes_on_without_repeating_what_is_finished(tmp_path: Path) -> None:
    source, out = write(tmp_path / "in.jsonl", mixed(80, 4)), tmp_path / "out.jsonl"
    with caching_server(delay_s=0.01) as server:
        running = run_aside(source, out, server.mock.url)
        for _ in range(25):
            assert server.answered.acquire(timeout=60)
        running.kill()
        assert running.wait() == -signal.SIGKILL
        running.communicate()
        wait_until(lambda: server._running == 0)
        whole = out.read_bytes()
        finished = set(answers(out))
        assert len(finished) >= 20
        out.write_bytes(whole + b'{"id":"batch_req_12ab","custom_id":"r7","resp')
        before = server.asked.copy()
        assert batch(source, out, "--upstream", server.mock.url, "--concurrency", 4) == 0
    assert out.read_bytes().startswith(whole)
    assert len(answers(out)) == 80
    again = {name for name, times in (server.asked - before).items() if before[name]}
    assert len(again) <= 4, "only what was under way may be asked twice"
    assert not {f"r{name.removeprefix('question ')}" for name in again} & finished


def test_a_second_batch_is_kept_from_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = write(tmp_path / "in.jsonl", mixed(6, 6)), tmp_path / "out.jsonl"
    with caching_server(delay_s=0.5) as server:
        running = run_aside(source, out, server.mock.url)
        wait_until(lambda: server.asked, 60)
        assert batch(source, out, "--upstream", server.mock.url) == 2
        assert "another batch is writing to it" in capsys.readouterr().err
        said, _ = running.communicate(timeout=60)
        assert running.returncode == 0
    assert b"6 of 6 answered" in said


# --- summary ---


def test_the_summary_counts_earlier_runs_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries, out = mixed(30, 1), tmp_path / "out.jsonl"
    with caching_server() as server:
        assert batch(write(tmp_path / "in.jsonl", entries[:20]), out, "--upstream", server.mock.url) == 0
        capsys.readouterr()
        source = write(tmp_path / "in.jsonl", entries)  # a file that grew is the same input
        assert batch(source, out, "--upstream", server.mock.url, "--output-format", "json") == 0
        said = orjson.loads(capsys.readouterr().out)
        prompt = sum(line["response"]["body"]["usage"]["prompt_tokens"] for line in answers(out).values())
    assert (said["answered_earlier"], said["answered"], said["requests"]) == (20, 10, 30)
    assert said["prompt_tokens"] == prompt
    assert said["cached_tokens"] == prompt - server.uncached
    assert said["hit_rate"] == pytest.approx(said["cached_tokens"] / prompt)
    assert said["output_tokens"] == 60
    assert said["saved_usd"] > 0
    assert said["priced"] == 30
    assert batch(source, out, "--upstream", server.mock.url) == 0
    text = capsys.readouterr().out
    assert "30 of 30 answered, 30 of them by an earlier run" in text
    assert "the cache saved" in text
