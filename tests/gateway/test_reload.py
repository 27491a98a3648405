"""SIGHUP: other settings are taken while streams run, and wrong ones change nothing."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import time
from typing import TYPE_CHECKING

import httpx
import pytest

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.mutations import read_mutations
from promptcache_gateway.reload import NEEDS_RESTART, merge
from promptcache_gateway.settings import ModelSettings, Settings, UpstreamSettings
from promptcache_gateway.tenancy import TenantLimits
from promptcache_gateway.upstream_settings import Target
from tests.gateway.mock_upstream import DONE, MockUpstream, Wire, answer_chat, call, chunk, mock_upstream, sse
from tests.gateway.serving import serve
from tests.gateway.test_server import process, said_until

if TYPE_CHECKING:
    from pathlib import Path

BODY = {"model": "fast", "messages": [{"role": "user", "content": "Hi"}]}


def write(file: Path, *lines: str) -> None:
    file.write_text("\n".join(lines) + "\n")


def test_a_stream_goes_on_and_the_next_request_goes_elsewhere(mock: MockUpstream, tmp_path: Path) -> None:
    go_on = threading.Event()

    async def slow(wire: Wire) -> None:
        await wire.start_events()
        for number in range(4):
            await wire.part(sse(chunk(f"old{number} ")))
            while number == 1 and not go_on.is_set():
                await asyncio.sleep(0.02)
        await wire.part(DONE)
        await wire.end()

    mock.script = slow
    file = tmp_path / "promptcache.toml"
    with mock_upstream(answer_chat) as other:
        start = [f'[upstreams.a]\nurl = "{mock.url}"', '[models]\nfast = "a/small"']
        write(file, *start)
        arguments = ["--port", "0", "--config", str(file), "--data-dir", str(tmp_path)]
        with process(*arguments) as started, httpx.Client(timeout=20) as client:
            base = said_until(started, "Stop with").split("base_url")[1].split()[0]
            with client.stream("POST", f"{base}/chat/completions", json={**BODY, "stream": True}) as answer:
                parts = answer.iter_bytes()
                got = next(parts)

                write(file, "[upstreams.b]\nurl = 12")
                started.send_signal(signal.SIGHUP)
                assert "everything is as it was" in said_until(started, "as it was")
                write(file, *start, "[upstreams.c]\nkind = 'engine'", "[engine]\npage_size = 0")
                started.send_signal(signal.SIGHUP)
                assert f"{file}: engine.page_size: " in said_until(started, "as it was")
                write(file, *start, 'slow = "d/x"')
                started.send_signal(signal.SIGHUP)
                assert f"{file}: models.slow: " in said_until(started, "as it was")

                write(
                    file,
                    f'[upstreams.b]\nurl = "{other.url}"',
                    '[models]\nfast = "b/large"',
                    "[serve]\nmax_header_bytes = 2048",
                )
                started.send_signal(signal.SIGHUP)
                assert "upstreams: b" in said_until(started, "need a restart")
                assert client.post(f"{base}/chat/completions", json=BODY).status_code == 200
                health = client.get(f"{base.removesuffix('/v1')}/health").json()

                go_on.set()
                got += b"".join(parts)
            assert b"old3 " in got
            assert DONE.strip() in got
            assert b"error" not in got
            assert json.loads(other.last.body)["model"] == "large"
            assert list(health["upstreams"]) == ["b"]
            started.send_signal(signal.SIGTERM)
            assert started.wait(15) == 0


def test_what_stays_keeps_its_state(mock: MockUpstream, tmp_path: Path) -> None:
    kept = UpstreamSettings(name="a", url=mock.url)
    dropped = UpstreamSettings(name="b", url="http://127.0.0.1:9")
    limits = {"default": TenantLimits(requests_per_minute=2)}
    told = Settings(upstreams=(kept, dropped), tenants=limits, data_dir=tmp_path)
    alias = ModelSettings("fast", (Target("a", "x"),))
    wanted = Settings(upstreams=(kept,), models=(alias,), tenants=limits, data_dir=tmp_path, max_requests=7)
    with serve(told) as served:
        before = served.gateway.upstreams[0]
        assert served.post({**BODY, "model": "m"}).status_code == 200
        assert call(served.loop, served.gateway.reload(wanted)) == ()
        assert served.gateway.upstreams == [before]
        assert served.post(BODY).status_code == 200
        assert served.post(BODY).status_code == 429  # the limit was not forgotten
        assert json.loads(mock.last.body)["model"] == "x"


@pytest.mark.parametrize("name", NEEDS_RESTART)
def test_every_setting_that_waits_for_a_restart_is_one(name: str) -> None:
    assert name in set(Settings.__dataclass_fields__)


def test_merging() -> None:
    running, wanted = Settings(port=1, max_requests=5), Settings(port=2, max_requests=6)
    merged, waiting = merge(running, wanted)
    assert (merged.port, merged.max_requests, waiting) == (1, 6, ("port",))


def test_what_needs_a_look_is_not_taken_by_a_gateway_that_looks_at_nothing() -> None:
    upstream = UpstreamSettings(url="http://h")
    running = Settings(upstream=upstream, diagnosis=False)
    wanted = Settings(upstream=upstream, mutations=read_mutations({"breakpoints": True}))
    with pytest.raises(SettingsError, match="needs a look at each request"):
        merge(running, wanted)
    assert merge(running, Settings(upstream=upstream)) == (running, ("diagnosis",))


def test_a_hangup_before_it_serves_does_not_end_it(mock: MockUpstream, tmp_path: Path) -> None:
    arguments = ["--port", "0", "--upstream", mock.url, "--data-dir", str(tmp_path)]
    with process(*arguments) as started:
        said_until(started, "Stop with")
        for _ in range(3):
            started.send_signal(signal.SIGHUP)
        assert "took the settings" in said_until(started, "took the settings")
        time.sleep(0.1)
        assert started.poll() is None
