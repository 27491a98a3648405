"""Replicas that come and go: by a watched file, by a name's addresses."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.fleet.discovery import Discovery, check_file
from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings
from tests.gateway.fleet.servers import FakeReplica, replicas, request, served_fleet, states
from tests.gateway.mock_upstream import wait_until

if TYPE_CHECKING:
    from pathlib import Path

LONG = "Answer from the handbook, chapter by chapter. " * 200


def write(file: Path, servers: list[FakeReplica], more: str = "") -> None:
    urls = ", ".join(f'"{one.mock.url}"' for one in servers)
    file.write_text(f"replicas = [{urls}]\n{more}")


def test_a_file_of_replicas_is_followed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "replicas.toml"
    with replicas(3) as servers:
        write(file, servers[:2])
        fleet = FleetSettings(file=file, lookup_s=0.05, health_interval_s=0.05)
        with served_fleet(fleet, tmp_path) as gateway:
            assert set(states(gateway)) == {one.name for one in servers[:2]}
            write(file, servers)
            wait_until(lambda: states(gateway).get(servers[2].name) == "ready", 20)
            for unusable in ("replicas = [", "replicas = []", None, 'replicas = ["http://a"]\nroute = 1'):
                if unusable is None:
                    file.unlink()
                else:
                    file.write_text(unusable)
                wait_until(lambda: "the replicas are as they were" in caplog.text, 20)
                caplog.clear()
                assert len(states(gateway)) == 3
            assert gateway.post(request("hello")).status_code == 200
            write(file, servers[2:])
            wait_until(lambda: set(states(gateway)) == {servers[2].name}, 20)
            for number in range(3):
                assert gateway.post(request(f"hello {number}")).status_code == 200
            assert len(servers[2].prompts) >= 3


def test_a_replica_that_is_taken_out_ends_what_it_has(tmp_path: Path) -> None:
    file = tmp_path / "replicas.toml"
    with replicas(2) as servers:
        write(file, servers[:1])
        servers[0].hold()
        fleet = FleetSettings(file=file, lookup_s=0.05)
        with served_fleet(fleet, tmp_path) as gateway, ThreadPoolExecutor() as pool:
            running = pool.submit(gateway.post, request(LONG))
            wait_until(lambda: servers[0].prompts, 20)
            write(file, servers[1:])
            wait_until(lambda: states(gateway).get(servers[0].name) == "removed", 20)
            assert gateway.post(request("new")).status_code == 200
            assert len(servers[1].prompts) == 1
            servers[0].release()
            assert running.result(10).status_code == 200
            wait_until(lambda: set(states(gateway)) == {servers[1].name}, 20)


def test_what_is_known_of_a_server_survives_other_settings(tmp_path: Path) -> None:
    file = tmp_path / "replicas.toml"
    with replicas(2) as servers:
        write(file, servers)
        fleet = FleetSettings(file=file, lookup_s=0.05)
        with served_fleet(fleet, tmp_path) as gateway:
            gateway.post(request("go", system=LONG))
            (home,) = [one for one in servers if one.prompts]
            tables = ", ".join(f'{{url = "{one.mock.url}", max_concurrency = 9}}' for one in servers)
            file.write_text(f"replicas = [{tables}]")
            limits = "/promptcache/v1/replicas"
            wait_until(
                lambda: all(
                    one["max_concurrency"] == 9 and one["state"] == "ready"
                    for one in gateway.get(limits).json()["fleets"][0]["replicas"]
                )
            )
            for _ in range(3):
                gateway.post(request("go", system=LONG))
            assert len(home.prompts) == 4


async def test_an_unusable_file_is_said_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "replicas.toml"
    twice = 'replicas = ["http://a", "http://a"]'
    other = 'replicas = ["http://a"]\nrouting = "session"'
    for text in (None, "replicas = 7", "replicas = [", "replicas = []", twice, other):
        if text is not None:
            file.write_text(text)
        with pytest.raises(SettingsError, match="replicas"):
            await Discovery(FleetSettings(file=file), lambda found: None).first()


async def test_a_file_that_is_gone_is_told_once_each_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, told = tmp_path / "replicas.toml", []
    file.write_text('replicas = ["http://a"]')
    discovery = Discovery(FleetSettings(file=file, lookup_s=0.05), told.append)
    await discovery.first()
    running = asyncio.create_task(discovery.run())

    async def until(said: int) -> None:
        async with asyncio.timeout(20):
            while caplog.text.count("is gone; the replicas are as they were") < said:
                await asyncio.sleep(0.01)

    try:
        file.unlink()
        await until(1)
        await asyncio.sleep(0.2)
        file.write_text('replicas = ["http://a", "http://b"]')
        async with asyncio.timeout(20):
            while len(told) < 2:
                await asyncio.sleep(0.01)
        file.unlink()
        await until(2)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert caplog.text.count("is gone") == 2
    assert [[one.label for one in found] for found in told] == [["a"], ["a", "b"]]


async def test_a_replica_is_named_at_one_place(tmp_path: Path) -> None:
    file = tmp_path / "replicas.toml"
    file.write_text('replicas = [{url = "http://b", name = "a"}]')
    listed = (ReplicaSettings(url="http://a", name="a"),)
    for reads in (
        Discovery(FleetSettings(file=file, replicas=listed), lambda found: None).first,
        partial(asyncio.to_thread, check_file, file, "upstreams.f.replicas_file", listed),
    ):
        with pytest.raises(SettingsError, match=r"names a, which replicas lists, too\. Name it"):
            await reads()


class Names:
    """A name server whose answers a test gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.addresses: list[str] | None = []
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", self._look_up)

    async def _look_up(self, host: str, port: int, **more: Any) -> list[Any]:
        if self.addresses is None:
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        return [(0, 0, 0, "", (one, port)) for one in self.addresses]


async def test_each_address_of_a_name_is_a_replica(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    names, told = Names(monkeypatch), []
    settings = FleetSettings(
        dns="http://vllm:8000/v1", lookup_s=0.05, kv_events="tcp://{host}:5557", kv_replay="tcp://{host}:5558"
    )
    names.addresses = ["10.0.0.2", "10.0.0.1", "10.0.0.1", "fd00::1"]
    discovery = Discovery(settings, told.append)
    await discovery.first()
    assert [one.url for one in told[0]] == [
        "http://10.0.0.1:8000/v1",
        "http://10.0.0.2:8000/v1",
        "http://[fd00::1]:8000/v1",
    ]
    assert told[0][0].kv_events == "tcp://10.0.0.1:5557"
    assert told[0][2].kv_replay == "tcp://[fd00::1]:5558"
    running = asyncio.create_task(discovery.run())
    try:
        names.addresses = None
        await asyncio.sleep(0.2)
        assert len(told) == 1, "a name server's bad minute removes nothing"
        assert caplog.text.count("cannot look up vllm") == 1
        names.addresses = ["10.0.0.9"]
        while len(told) < 2:
            await asyncio.sleep(0.01)
        assert [one.label for one in told[1]] == ["10.0.0.9:8000"]
    finally:
        running.cancel()
