"""Starting and stopping: a clear line when it cannot start, a graceful end when it is told to stop."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from promptcache_gateway.app import create_app
from promptcache_gateway.cli import main
from promptcache_gateway.errors import PortBusyError
from promptcache_gateway.server import bind, serve
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.upstreams.openai_http import OpenAIUpstream
from tests.gateway.mock_upstream import DONE, MockUpstream, Wire, chunk, sse, wait_until

COMMAND = [sys.executable, "-c", "import sys; from promptcache_gateway.cli import main; sys.exit(main())"]


@contextmanager
def process(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """`promptcache serve` in a process of its own."""
    started = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"},
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()
        assert started.stdout is not None
        started.stdout.close()


def said_until(started: "subprocess.Popen[str]", mark: str) -> str:
    assert started.stdout is not None
    said = ""
    while mark not in said:
        line = started.stdout.readline()
        assert line, said
        said += line
    return said


def test_it_says_where_it_is_and_ends_well_on_sigterm(mock: MockUpstream, tmp_path: Path) -> None:
    arguments = ["--port", "0", "--upstream", mock.url, "--data-dir", str(tmp_path)]
    with process(*arguments) as started:
        said = said_until(started, "Stop with")
        url = said.split("base_url")[1].split()[0]
        assert url.endswith("/v1")
        assert f'OpenAI(base_url="{url}"' in said
        assert httpx.get(url.removesuffix("/v1") + "/dashboard").status_code == 200
        started.send_signal(signal.SIGTERM)
        assert started.wait(15) == 0
        rest = started.stdout.read()
    assert rest == ""


def test_a_running_stream_is_finished_and_a_feed_is_not_waited_for(
    mock: MockUpstream, tmp_path: Path
) -> None:
    async def slow(wire: Wire) -> None:
        await wire.start_events()
        for _ in range(8):
            await wire.part(sse(chunk("tick ")))
            await asyncio.sleep(0.15)
        await wire.part(DONE)
        await wire.end()

    mock.script = slow
    arguments = ["--port", "0", "--upstream", mock.url, "--data-dir", str(tmp_path)]
    with process(*arguments) as started, httpx.Client(timeout=20) as client:
        base = said_until(started, "Stop with").split("base_url")[1].split()[0].removesuffix("/v1")
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
        with (
            client.stream("GET", f"{base}/promptcache/v1/events") as feed,
            client.stream("POST", f"{base}/v1/chat/completions", json=body) as answer,
        ):
            parts = answer.iter_bytes()
            got = next(parts)
            started.send_signal(signal.SIGTERM)
            begun = time.monotonic()
            got += b"".join(parts)
            feed_rest = feed.read()
        assert got.count(b"tick ") == 8
        assert b"data: [DONE]" in got
        assert b"event: alert" not in feed_rest
        assert started.wait(15) == 0
        assert time.monotonic() - begun < 10


def test_streams_that_go_on_are_ended_after_the_grace_without_alarm(
    mock: MockUpstream, tmp_path: Path
) -> None:
    async def endless(wire: Wire) -> None:
        await wire.start_events()
        while True:
            await wire.part(sse(chunk("tick ")))
            await asyncio.sleep(0.05)

    mock.script = endless
    arguments = ["--port", "0", "--upstream", mock.url, "--data-dir", str(tmp_path)]
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    ends: list[bytes] = []
    with process(*arguments, "--shutdown-grace", "0.5") as started, httpx.Client(timeout=20) as client:
        base = said_until(started, "Stop with").split("base_url")[1].split()[0].removesuffix("/v1")

        def read() -> None:
            with client.stream("POST", f"{base}/v1/chat/completions", json=body) as answer:
                ends.append(b"".join(answer.iter_bytes()))

        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        wait_until(lambda: len(mock.seen) == 4)
        started.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        assert started.wait(15) == 0
        assert time.monotonic() - begun < 5
        for reader in readers:
            reader.join()
        assert started.stdout is not None
        rest = started.stdout.read()
    assert len(ends) == 4
    assert all(b'"code":"shutting_down"' in end for end in ends)
    assert "ERROR" not in rest
    assert rest.count("\n") == 1
    assert "ended 4 running requests after 0.5 s" in rest


def test_callers_who_read_nothing_do_not_hold_it_up(mock: MockUpstream, tmp_path: Path) -> None:
    piece = sse(chunk("x" * 20_000))

    async def endless(wire: Wire) -> None:
        await wire.start_events()
        while True:
            await wire.part(piece)

    mock.script = endless
    arguments = ["--port", "0", "--upstream", mock.url, "--data-dir", str(tmp_path)]
    body = b'{"model":"m","stream":true,"messages":[]}'
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body)
    with process(*arguments, "--shutdown-grace", "0.5") as started, contextlib.ExitStack() as callers:
        base = said_until(started, "Stop with").split("base_url")[1].split()[0].removesuffix("/v1")
        for sent in (b"POST /v1", head + body, head + body, head + body[:-1]):
            caller = callers.enter_context(socket.create_connection(("127.0.0.1", int(base.split(":")[2]))))
            caller.sendall(sent)
        wait_until(lambda: len(mock.seen) == 2)
        time.sleep(0.5)  # until nothing more fits in between
        started.send_signal(signal.SIGTERM)
        told = b"".join(iter(lambda: caller.recv(65536), b""))
        assert started.wait(15) == 0
        assert started.stdout is not None
        rest = started.stdout.read()
    assert told.startswith(b"HTTP/1.1 503 ")
    assert b'"code":"shutting_down"' in told
    assert "ERROR" not in rest
    assert "running requests after 0.5 s" in rest


class _SlowUpstream(OpenAIUpstream):
    """Takes for ever to start, as a large model does."""

    async def start(self) -> None:
        await super().start()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(60)


def test_it_can_be_stopped_while_it_starts(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    upstream = _SlowUpstream(UpstreamSettings(url="http://127.0.0.1:9"))
    announced: list[bool] = []

    async def main() -> None:
        with bind("127.0.0.1", 0) as bound:
            gateway = create_app(settings, upstream=upstream)
            await serve(gateway, settings, bound, lambda: announced.append(True))

    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < 30
    assert announced == []


LOADING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background begins with it ignored
from promptcache_gateway import cli
cli.check_upstreams = lambda settings: os.kill(os.getpid(), int(sys.argv[1]))
sys.exit(cli.main(["--port", "0", "--data-dir", sys.argv[2]]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_can_be_stopped_before_it_starts(number: signal.Signals, tmp_path: Path) -> None:
    """While its packages are loaded."""
    command = [sys.executable, "-c", LOADING, str(int(number)), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_signals_are_given_back_to_those_who_had_them(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert main(["--check", "--data-dir", str(tmp_path)]) == 0
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def run(*argv: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("promptcache serve: ")
    return error


def test_a_busy_port(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        error = run("--port", str(port), "--data-dir", str(tmp_path), capsys=capsys)
    assert f"127.0.0.1:{port}" in error
    assert "in use" in error


def test_an_address_that_is_not_ours() -> None:
    with pytest.raises(PortBusyError, match=r"cannot listen on 192\.0\.2\.1"):
        bind("192.0.2.1", 0)
    with pytest.raises(PortBusyError, match="no-such-host"):
        bind("no-such-host.invalid", 0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"GGUF", "truncated"),
        (b"not a model" * 99, "GGUF"),
        (None, "no such file"),
    ],
)
def test_a_model_that_cannot_be_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes | None, said: str
) -> None:
    model = tmp_path / "model.gguf"
    if content is not None:
        model.write_bytes(content)
    error = run("--port", "0", "--data-dir", str(tmp_path), "--model", str(model), capsys=capsys)
    assert "model.gguf" in error
    assert said in error


def test_a_database_that_is_not_ours(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, mock: MockUpstream
) -> None:
    file = tmp_path / "promptcache.db"
    file.write_bytes(b"not a database, but long enough to be taken for one" * 40)
    error = run("--port", "0", "--data-dir", str(tmp_path), "--upstream", mock.url, capsys=capsys)
    assert str(file) in error


def test_check_starts_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--check", "--data-dir", str(tmp_path / "none")]) == 0
    assert "fine" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()
    assert main(["--check", "--host", "0.0.0.0"]) == 2


REFUSED = [
    ("--page-size 0", "page_size=0"),
    ("--page-size -1", "page_size=-1"),
    ("--eviction-policy fifo", "Choose one of learned, lfu, lru"),
    ("--dtype fp8", "float32, bfloat16, float16"),
    ("--kv-cache-tokens 0", "kv_cache_tokens=0"),
    ("--max-waiting 0", "max_waiting=0"),
    ("--max-running 0", "max_running=0"),
    ("--max-batch-tokens 4", "at least max_running (16)"),
    ("--preemption foo", "keep, recompute"),
    ("--scheduling-policy foo", "fewest-missing, fcfs"),
    ("--deterministic --decode-kernel native", "decode_kernel='native'"),
    ("--attention-backend flash", "auto, triton, torch"),
    ("--cuda-graphs always", "auto, on, off"),
    ("--attention-backend triton --decode-kernel native", "decode_kernel='native'"),
    ("--model none.gguf", "no such file"),
    ("--model ~no-such-user-here/none.gguf", "cannot start"),
    ("--model hf:nobody", "hf:owner/name"),
]


UPSTREAM = '[upstream]\nurl = "http://127.0.0.1:9/v1"\n'
WRONG = [
    ('[upstream]\nurl = "http://x:99999"', "upstream"),
    ('[upstream]\nurl = "http://[::1"', "upstream"),
    ('[upstream]\nurl = "http://a b"', "upstream"),
    ('[upstream]\nurl = "http://x\\r\\ny"', "upstream"),
    (UPSTREAM + "read_timeout_s = 0", "read_timeout_s"),
    (UPSTREAM + "connect_timeout_s = nan", "connect_timeout_s"),
    ('[upstreams.a]\nurl = "http://x"\napi_key_env = "TORN_KEY"', "TORN_KEY"),
    (UPSTREAM + '[tenants.a]\nbudget_period = "year"', "budget_period"),
    (UPSTREAM + '[serve]\ncors_origins = ["http://[::1"]', "cors_origins"),
    (UPSTREAM + "[serve]\nanswers_mib = 0", "answers_mib"),
    ('[engine]\nmodel = "none.gguf"', "engine.model: the built-in engine"),
    ("[engine]\npage_size = 0", "engine.page_size: the built-in engine"),
    ('[upstreams.a]\nreplicas_file = "/none"', "upstreams.a.replicas_file: /none"),
    ('[upstreams.a]\nreplicas = [{ url = "http://[::1" }]', "upstreams.a.replicas[0].url: "),
    (
        '[upstreams.a]\nreplicas = [{ url = "http://a", weight = "x" }]',
        "replicas[0].weight: must be a number",
    ),
]


@pytest.mark.parametrize(("text", "named"), WRONG)
def test_what_a_file_has_wrong_is_one_sentence(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    named: str,
) -> None:
    monkeypatch.setenv("TORN_KEY", "abc\r\nx-other: 1")
    file = tmp_path / "promptcache.toml"
    file.write_text(text)
    assert main(["--check", "--config", str(file), "--data-dir", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"promptcache serve: {file}: ")
    assert named in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("limit", "database", "shared", "said"),
    [
        ("requests_per_minute = 5", "postgresql://u@db/x", "", True),
        ("budget_usd = 5", "postgresql://u@db/x", "", True),
        ("budget_usd = 5", "postgresql://u@db/x", '[shared]\nurl = "redis://r"', False),
        ("budget_usd = 5", "own.db", "", False),
        ("", "postgresql://u@db/x", "", False),
    ],
)
def test_check_says_where_limits_are_each_gateway_s_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, limit: str, database: str, shared: str, said: bool
) -> None:
    file = tmp_path / "promptcache.toml"
    upstream = '[upstream]\nurl = "http://127.0.0.1:9/v1"\n'
    file.write_text(f'{upstream}[storage]\ndatabase = "{database}"\n[tenants.shop]\n{limit}\n{shared}\n')
    assert main(["--check", "--config", str(file), "--data-dir", str(tmp_path)]) == 0
    assert ("this gateway alone" in capsys.readouterr().out) is said


@pytest.mark.parametrize("check", [["--check"], []], ids=["check", "serve"])
@pytest.mark.parametrize(("options", "said"), REFUSED, ids=[options for options, _ in REFUSED])
def test_what_the_engine_refuses_is_said_before_anything_is_opened(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, check: list[str], options: str, said: str
) -> None:
    data = tmp_path / "none"
    assert main([*check, "--port", "0", "--data-dir", str(data), *options.split()]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.match(r"promptcache serve: --[a-z-]+: the built-in engine cannot start: ", captured.err)
    assert captured.err.count("\n") == 1
    assert said in captured.err
    assert not data.exists()


def test_check_judges_the_file_and_an_engine_among_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "promptcache.toml"
    there = "[upstreams.there]\nurl = 'http://127.0.0.1:9'\n"
    here = "[upstreams.here]\nkind = 'engine'\nmodels = ['tiny']\n"
    engine = "[engine]\npage_size = 0\n"
    for tables in (engine, engine + here, engine + here + there):
        file.write_text(tables)
        assert "page_size=0" in run("--check", "--config", str(file), capsys=capsys)
    file.write_text(engine + there)
    assert main(["--check", "--config", str(file)]) == 0


def test_an_engine_whose_packages_are_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, mock: MockUpstream
) -> None:
    monkeypatch.setitem(sys.modules, "promptcache_gateway.upstreams.local", None)
    assert "pip install 'promptcache[engine]'" in run("--check", capsys=capsys)
    assert main(["--check", "--upstream", mock.url]) == 0


def test_the_check_loads_no_torch() -> None:
    code = (
        "import sys; from promptcache_gateway.cli import main; "
        "print(main(['--check']), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2:] == ["0", "False"]


def test_a_gateway_loads_what_it_needs(tmp_path: Path) -> None:
    """Each of these takes megabytes: only fleets use aiohttp, only the control plane FastAPI."""
    code = (
        "import sys; from pathlib import Path; from promptcache_gateway.app import create_app; "
        "from promptcache_gateway.settings import Settings, UpstreamSettings; "
        "import promptcache_gateway.server; upstream = UpstreamSettings(url='http://127.0.0.1:9'); "
        "create_app(Settings(upstream=upstream, data_dir=Path(sys.argv[1]))); "
        "print([name for name in ('aiohttp', 'fastapi', 'litellm', 'torch') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["[]"]
