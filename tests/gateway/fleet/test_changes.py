"""Replicas under other settings, while they have requests: nothing that was counted begins anew."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.fleet.settings import FleetSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.fleet.servers import FakeReplica, fleet_of, replicas, request, served_fleet, view
from tests.gateway.mock_upstream import call, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.gateway.serving import Served


@pytest.fixture
def one() -> Iterator[FakeReplica]:
    with replicas(1) as servers:
        servers[0].hold()
        yield servers[0]


def row(gateway: Served) -> dict[str, Any]:
    (found,) = view(gateway)["replicas"]
    return dict(found)


def series(gateway: Served) -> list[str]:
    """Names and labels of what the page tells of fleets."""
    return re.findall(
        r"^(promptcache_(?:replica|fleet)_\w+\{[^}]*\})", gateway.get("/metrics").text, re.MULTILINE
    )


@contextmanager
def one_at_a_time(gateway: Served, server: FakeReplica, change: Callable[[], None]) -> Iterator[None]:
    """A request runs while settings change; afterwards a second one has to wait for it."""
    with ThreadPoolExecutor() as pool:
        first = pool.submit(gateway.post, request("first"))
        wait_until(lambda: len(server.prompts) == 1, 20)
        change()
        second = pool.submit(gateway.post, request("second"))
        wait_until(lambda: view(gateway)["waiting"] == 1, 20)
        found = row(gateway)
        assert (found["running"], found["requests"], found["state"]) == (1, 1, "full")
        named = series(gateway)
        assert len(named) == len(set(named))
        yield
        assert len(server.prompts) == 1
        server.release()
        assert first.result(10).status_code == second.result(10).status_code == 200
        assert (row(gateway)["running"], row(gateway)["requests"]) == (0, 2)


@pytest.mark.parametrize("change", ["weight = 3", "weight = 3, max_concurrency = 1", 'api_key_file = "KEY"'])
def test_a_file_that_says_otherwise_starts_no_count_anew(
    one: FakeReplica, tmp_path: Path, change: str
) -> None:
    file, key = tmp_path / "replicas.toml", tmp_path / "key"
    key.write_text("secret")
    key.chmod(0o600)
    file.write_text(f'replicas = ["{one.mock.url}"]')
    fleet = FleetSettings(file=file, lookup_s=0.05, max_concurrency=1)
    with served_fleet(fleet, tmp_path, retries=0) as gateway:
        told = [replica.settings for replica in gateway.gateway.upstreams[0].replicas]  # type: ignore[attr-defined]

        def rewrite() -> None:
            file.write_text(f'replicas = [{{url = "{one.mock.url}", {change.replace("KEY", str(key))}}}]')
            wait_until(
                lambda: (
                    [replica.settings for replica in gateway.gateway.upstreams[0].replicas]  # type: ignore[attr-defined]
                    != told
                )
            )

        with one_at_a_time(gateway, one, rewrite):
            assert row(gateway)["weight"] == (3 if "weight" in change else 1)


def test_other_settings_of_the_fleet_start_no_count_anew(one: FakeReplica, tmp_path: Path) -> None:
    fleet = fleet_of([one], max_concurrency=1)
    with served_fleet(fleet, tmp_path, retries=0) as gateway:
        changed = UpstreamSettings(name="f", fleet=replace(fleet, queue_s=20), retries=0)

        def reload() -> None:
            before = gateway.gateway.upstreams[0]
            call(gateway.loop, gateway.gateway.reload(Settings(upstreams=(changed,), data_dir=tmp_path)))
            assert gateway.gateway.upstreams[0] is not before

        with one_at_a_time(gateway, one, reload):
            pass


def test_counters_go_on_when_settings_change(one: FakeReplica, tmp_path: Path) -> None:
    fleet = fleet_of([one], max_concurrency=1)
    with served_fleet(fleet, tmp_path, retries=0) as gateway:
        line = gateway.gateway._switchboard.lines[0]
        line.budget.taken, line.upstream.slots.waited = 3, 2  # type: ignore[attr-defined]
        changed = UpstreamSettings(name="f", fleet=replace(fleet, queue_s=20), retries=0)
        call(gateway.loop, gateway.gateway.reload(Settings(upstreams=(changed,), data_dir=tmp_path)))
        page = gateway.get("/metrics").text
    assert 'promptcache_upstream_retries_total{upstream="f"} 3.0' in page
    assert 'promptcache_fleet_waited_total{upstream="f"} 2.0' in page


def test_one_with_another_address_is_another(tmp_path: Path) -> None:
    file = tmp_path / "replicas.toml"
    with replicas(2) as (one, other):
        one.hold()
        file.write_text(f'replicas = [{{url = "{one.mock.url}", name = "a"}}]')
        fleet = FleetSettings(file=file, lookup_s=0.05, max_concurrency=1)
        with served_fleet(fleet, tmp_path, retries=0) as gateway, ThreadPoolExecutor() as pool:
            first = pool.submit(gateway.post, request("first"))
            wait_until(lambda: one.prompts, 20)
            file.write_text(f'replicas = [{{url = "{other.mock.url}", name = "a"}}]')
            wait_until(lambda: row(gateway)["url"] == other.mock.url and row(gateway)["state"] == "ready")
            assert gateway.post(request("second")).status_code == 200
            assert len(other.prompts) == 1
            one.release()
            assert first.result(10).status_code == 200
            assert (row(gateway)["running"], row(gateway)["requests"]) == (0, 2)
