"""The limit of open files is raised to what requests need, and running into it is blamed on no upstream."""

from __future__ import annotations

import errno
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.upstreams.http_pool import HttpPool
from tests.gateway.fleet.servers import fleet_of, replicas, request, served_fleet, view
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream

resource = pytest.importorskip("resource", reason="this system has no such limit")

TRY = """
import resource, sys
from promptcache_gateway.open_files import make_room
soft, hard, requests = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(*make_room(requests), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "requests", "expected"),
    [
        (256, 4000, 1000, [3024, 3024, 3024, 4000]),
        (256, 2000, 1000, [2000, 3024, 2000, 2000]),
        (3500, 4000, 1000, [3500, 3024, 3500, 4000]),
    ],
)
def test_the_limit_is_raised_as_far_as_it_may_be(
    soft: int, hard: int, requests: int, expected: list[int]
) -> None:
    command = [sys.executable, "-c", TRY, str(soft), str(hard), str(requests)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert list(map(int, said.split())) == expected


async def _no_files(pool: HttpPool) -> None:
    raise OSError(errno.EMFILE, "Too many open files")


def test_no_upstream_is_left_alone_for_it(
    mock: MockUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    with serve(Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path)) as served:
        with monkeypatch.context() as patched:
            patched.setattr(HttpPool, "_reach", _no_files)
            for _ in range(7):
                answer = served.post(body)
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
                assert answer.json()["error"]["code"] == "out_of_files"
        assert served.get("/health").json()["status"] == "ok"
        assert served.post(body).status_code == 200


def test_no_replica_is_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        replicas(2) as servers,
        served_fleet(fleet_of(servers, health_path=""), tmp_path, retries=0) as gateway,
    ):
        with monkeypatch.context() as patched:
            patched.setattr(HttpPool, "_reach", _no_files)
            for number in range(12):
                answer = gateway.post(request(f"hello {number}"))
                assert answer.json()["error"]["code"] == "out_of_files"
            assert gateway.get("/v1/models").json()["error"]["code"] == "out_of_files"
        assert [(one["state"], one["failures"]) for one in view(gateway)["replicas"]] == [("ready", 0)] * 2
        assert gateway.post(request("hello")).status_code == 200
