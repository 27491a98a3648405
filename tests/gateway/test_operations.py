"""What operators copy: the metrics of the Grafana dashboard and of the guide are those on the page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.arguments import parse_arguments
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.tenancy import TenantLimits
from promptcache_gateway.tenancy.cli import main as keys_command
from tests.gateway.mock_upstream import MockUpstream, wait_until
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from tests.gateway.mock_upstream import Wire

FOLDER = Path(__file__).parents[2] / "docs" / "operations"
NAME = re.compile(r"\bpromptcache_[a-z_]+")
BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
ENGINE = "promptcache_engine_"


def metrics_page(mock: MockUpstream, folder: Path, requests: int = 1) -> str:
    upstream = UpstreamSettings(url=mock.url, name="u")
    limits = {"default": TenantLimits(requests_per_minute=3)}
    with serve(Settings(upstreams=(upstream,), tenants=limits, data_dir=folder)) as served:
        for _ in range(requests):
            served.post(BODY)
        wait_until(lambda: served.get("/metrics").status_code == 200)
        return served.get("/metrics").text


def families(page: str) -> set[str]:
    return set(re.findall(r"^# TYPE (promptcache_\w+) ", page, re.MULTILINE))


def test_every_metric_of_the_dashboard_is_on_the_page(mock: MockUpstream, tmp_path: Path) -> None:
    dashboard = json.loads((FOLDER / "grafana.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for one in panel["targets"]
        for name in NAME.findall(one["expr"])
    }
    asked |= set(NAME.findall(json.dumps(dashboard["templating"])))
    there = families(metrics_page(mock, tmp_path))
    there |= {f"{name}_bucket" for name in there}

    assert len(asked) >= 20
    assert asked <= there
    grids = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
    assert len(set(grids)) == len(grids)


def test_every_metric_on_the_page_is_documented(mock: MockUpstream, tmp_path: Path) -> None:
    text = (FOLDER / "README.md").read_text()
    there = families(metrics_page(mock, tmp_path))

    for name in there:
        said = f"`{name.removeprefix(ENGINE)}`" if name.startswith(ENGINE) else f"`{name}`"
        assert said in text, name


def test_what_the_traffic_does_is_counted(mock: MockUpstream, tmp_path: Path) -> None:
    async def slams(wire: Wire) -> None:
        wire.writer.close()

    mock.script = slams
    page = metrics_page(mock, tmp_path, requests=5)
    assert 'promptcache_limited_requests_total{limit="requests",tenant="default"} 2.0' in page
    assert 'promptcache_upstream_retries_total{upstream="u"} 3.0' in page
    assert 'promptcache_upstream_circuit_opened_total{upstream="u"} 1.0' in page
    assert 'promptcache_upstream_circuit_open{upstream="u"} 1.0' in page
    assert "promptcache_running_requests 0.0" in page


@pytest.mark.parametrize("name", ["promptcache.service", "Containerfile"])
def test_the_commands_in_the_deployment_files_are_ones(name: str, tmp_path: Path) -> None:
    text = (FOLDER / name).read_text()
    if name == "Containerfile":
        words = json.loads(re.search(r"^ENTRYPOINT (\[.*\])", text, re.MULTILINE)[1])
        commands = [words[2:] + json.loads(re.search(r"^CMD (\[.*\])", text, re.MULTILINE)[1])]
    else:
        lines = re.findall(r"^ExecStart(?:Pre)?=\S+/promptcache serve (.*)$", text, re.MULTILINE)
        commands = [line.split() for line in lines]
        assert len(commands) == 2
    for command in commands:
        parse_arguments(command)
    (keys,) = re.findall(r"keys (create .*)$", text, re.MULTILINE)
    assert keys_command(keys.replace("/var/lib/promptcache", str(tmp_path)).split()) == 0
    assert (tmp_path / "keys.json").exists()


def test_systemd_finds_no_fault_with_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "promptcache.service"
    text = re.sub(
        r"^(Exec\w+)=/opt/promptcache/bin/promptcache.*$",
        r"\1=/bin/true",
        (FOLDER / unit.name).read_text(),
        flags=re.MULTILINE,
    )
    unit.write_text(re.sub(r"^(User|Group)=.*\n", "", text, flags=re.MULTILINE))
    told = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert "promptcache.service" not in told.stderr
