"""From traffic to the line of the source, and back: what the fault in that line cost."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from promptcache_gateway.arguments import make_settings, parse_arguments
from promptcache_gateway.errors import SettingsError
from promptcache_gateway.observe.places import Place
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.store.store import Store
from promptcache_gateway.template_sources import SourceSettings, TemplateSources
from promptcache_lint.cli import main as lint
from tests.gateway.mock_upstream import CHAT_BYTES, USAGE, Wire, mock_upstream
from tests.gateway.serving import serve
from tests.gateway.store.records import hit, miss, record

if TYPE_CHECKING:
    from pathlib import Path

RULES = "You are a clerk of our company. Be brief and polite, and never promise anything. "
CONFIG = """
[serve]
lint_report = "lint.json"

[templates.support]
source = "prompts/support.j2"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "support.j2").write_text(RULES + "\nIt is {{ now }}.\n" + RULES * 3 + "\n")
    (tmp_path / "prompts" / "other.j2").write_text("Now: {{ now }}.\n" + RULES * 3 + "\n")
    (tmp_path / "promptcache.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sources(project: Path) -> SourceSettings:
    return make_settings(parse_arguments(["--config", str(project / "promptcache.toml")]), {}).sources


def asked(now: str) -> dict[str, Any]:
    system = f"{RULES}\nIt is {now}.\n{RULES * 120}"
    return {
        "model": "gpt-4o",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": "?"}],
    }


async def answer_unread(wire: Wire) -> None:
    """Nothing was read from the cache."""
    unread = {**USAGE, "prompt_tokens_details": {"cached_tokens": 0}}
    await wire.respond(orjson.dumps({**orjson.loads(CHAT_BYTES), "usage": unread}))


def test_a_miss_shows_the_line_and_the_line_shows_its_cost(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint(["prompts", "--output-format", "json", "--output-file", "lint.json"]) == 1
    with mock_upstream(answer_unread) as mock:
        upstream = UpstreamSettings(url=mock.url)
        settings = Settings(upstream=upstream, data_dir=project / "data", sources=sources(project))
        with serve(settings) as served:
            for minute in range(3):
                body = asked(f"2026-11-29T10:0{minute}:00Z")
                answer = served.post(body, x_promptcache_template="support")
            miss = served.record(answer)
            assert miss["diagnosis"]["cause"] == "PC101"
            (finding,) = miss["source"]["findings"]
            assert (finding["code"], finding["filename"]) == ("PC101", "prompts/support.j2")
            assert finding["location"] == {"row": 2, "column": 7}
            page = served.get("/promptcache/v1/templates/support").json()
            assert page["source"] == {"file": "prompts/support.j2", "findings": [finding], "problem": None}
            costs = served.get("/promptcache/v1/costs?days=7")
    (template,) = costs.json()["templates"]
    assert (template["name"], template["source"]) == ("support", "prompts/support.j2")
    (project / "costs.json").write_bytes(costs.content)
    lost = template["causes"][0]["lost_tokens"]
    assert lint(["prompts", "--costs", "costs.json", "--output-format", "concise"]) == 1
    first, second, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("prompts/support.j2:2:7: error[PC101]")
    assert f"In 7 days it cost {lost:,} tokens" in first
    assert "requests of support." in first
    assert second.startswith("prompts/other.j2")
    assert "it cost" not in second


def test_a_report_is_read_again_when_it_changed_and_its_faults_are_said(project: Path) -> None:
    known, report = TemplateSources(sources(project)), project / "lint.json"
    assert known.about("nameless", ["PC101"]) is None
    missing = known.about("support", ["PC101"])
    assert missing is not None
    assert missing["findings"] is None
    assert "no such file" in missing["problem"]
    lint(["prompts", "--output-format", "json", "--output-file", str(report)])
    assert len(known.about("support", ["PC101"])["findings"]) == 1  # type: ignore[index]
    assert known.about("support", ["PC301"]) == {
        "file": "prompts/support.j2",
        "findings": [],
        "problem": None,
    }
    for broken in ("{", "{}", '[{"name": 1}]', "[7]", '[{"code": "PC101", "filename": 4}]'):
        report.write_text(broken)
        os.utime(report, ns=(time.time_ns(), time.time_ns()))
        told = known.about("support", ["PC101"])
        assert told is not None
        assert told["findings"] is None, broken
        assert "is not what" in told["problem"], broken
    report.write_text("[]")
    assert known.about("support", ["PC101"]) == {
        "file": "prompts/support.j2",
        "findings": [],
        "problem": None,
    }


def test_a_source_without_a_report_is_named_and_nothing_is_claimed(project: Path) -> None:
    settings = SourceSettings({"support": "prompts/support.j2"}, None, project)
    told = TemplateSources(settings).about("support", ["PC101"])
    assert told == {"file": "prompts/support.j2", "findings": None, "problem": None}


def test_a_source_that_is_not_there_is_an_error_of_the_settings(project: Path) -> None:
    (project / "prompts" / "support.j2").unlink()
    with pytest.raises(SettingsError, match=r"templates\.support\.source.*there is no file"):
        sources(project)


def test_costs_are_the_sums_over_the_time_asked_for(tmp_path: Path) -> None:
    store = Store(tmp_path / "p.db")
    store.open()
    places = (Place("PC101", "messages[0]", 9, 70, 600), Place("PC301", "tools[2]", 0, 40, 300))
    two = miss(
        "PC101",
        900,
        causes=("PC101", "PC301"),
        losses={"PC101": 600, "PC301": 300},
        lost_usd=0.9,
        places=places,
    )
    for at, diagnosis, name in [
        (10.0, miss("PC101", 5_000, lost_usd=9.0), "a"),  # before the time
        (100.0, two, "a"),
        (150.0, miss("PC101", 100, lost_usd=None), "a"),
        (160.0, hit(), "b"),
        (170.0, miss("PC206", 5_000, lost_usd=None), "c"),
        (200.0, miss("PC101", 7_000, lost_usd=9.0), "a"),  # behind it
    ]:
        store.record(record(diagnosis, time=at, template=name))
    assert store.flush()
    found = store.costs.between(100.0, 200.0)
    store.close()
    assert [(entry["name"], entry["requests"]) for entry in found] == [("a", 2), ("c", 1), ("b", 1)]
    first, second = found[0]["causes"]
    assert first.pop("lost_usd") == pytest.approx(0.6)
    assert second.pop("lost_usd") == pytest.approx(0.3)
    behind = first.pop("behind")
    assert behind["PC301"].pop("lost_usd") == pytest.approx(0.6)
    assert behind == {"PC301": {"requests": 1, "lost_tokens": 600}}
    assert first == {
        "code": "PC101", "requests": 2, "lost_tokens": 700, "first_seen": 100.0, "last_seen": 150.0
    }  # fmt: skip
    assert (second["code"], second["lost_tokens"], second["behind"]) == ("PC301", 300, {})
    assert found[1]["causes"][0]["lost_usd"] is None
    assert json.dumps(found)
