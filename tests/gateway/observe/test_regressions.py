"""A fall of what a template reads is told once, with its cause; new conversations are none."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.alert_settings import VARIABLE, AlertSettings
from promptcache_gateway.bounds import Bounds
from promptcache_gateway.errors import SettingsError
from promptcache_gateway.observe import Journal
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.regressions import Regressions
from promptcache_gateway.observe.templates import Templates
from promptcache_gateway.store import Store
from tests.gateway.observe.scenes import Stage, chat, rules_text
from tests.gateway.store.records import hit, miss, record

if TYPE_CHECKING:
    from pathlib import Path

RULES = rules_text()


def good() -> Any:
    return record(hit(reusable_tokens=1_000), cached_tokens=1_000)


def bad(code: str = "PC101") -> Any:
    return record(miss(code, 1_000, reusable_tokens=1_000), cached_tokens=0)


def test_a_fall_is_told_once_with_its_cause() -> None:
    watch = Regressions(window=10, least=20)
    assert not any(watch.watch(good()) for _ in range(60))

    told = [fell for _ in range(60) if (fell := watch.watch(bad())) is not None]

    assert len(told) == 1
    assert told[0].before == 1.0
    assert told[0].after <= 0.8
    assert told[0].cause == "PC101"
    assert told[0].lost_tokens > 0


def test_what_was_never_better_is_no_fall_and_a_second_fall_is_told_again() -> None:
    watch = Regressions(window=10, least=20)
    assert not any(watch.watch(bad()) for _ in range(100))
    assert not any(watch.watch(good()) for _ in range(400))
    assert any(watch.watch(bad()) for _ in range(10))


def test_requests_with_nothing_to_reuse_or_nothing_reported_count_for_nothing() -> None:
    watch = Regressions(window=5, least=5)
    for _ in range(50):
        watch.watch(good())
    first = record(miss("PC801", 0, reusable_tokens=0, attribution="expected"), cached_tokens=0)
    silent = record(miss("PC810", None, reusable_tokens=1_000), cached_tokens=None, reported=False)
    failed = record(miss("PC101", 1_000, reusable_tokens=1_000), cached_tokens=0, status=502)
    assert not any(watch.watch(one) for one in [first, silent, failed] * 20)


def test_templates_and_tenants_are_watched_apart() -> None:
    watch = Regressions(window=5, least=5)
    for _ in range(30):
        watch.watch(good())
    other = record(miss("PC101", 1_000, reusable_tokens=1_000), cached_tokens=0, template="other")
    assert not any(watch.watch(other) for _ in range(30))


def test_a_regression_is_an_event_and_a_series(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "p.db")
    stage = Stage(journal=journal)
    for number in range(60):
        stage.send(chat(RULES, f"Question {number}?"), template="support")
    for number in range(30):
        stage.send(chat(f"Time: 12:00:{number:02}\n{RULES}", "Hi?"), template="support")

    alerts = [event.data for event in journal.events.since(0) if event.kind == "alert"]
    falls = [alert for alert in alerts if alert["kind"] == "regression"]
    assert len(falls) == 1
    assert falls[0]["template"] == "support"
    assert falls[0]["cause"] == "PC101"
    assert falls[0]["after"] < falls[0]["before"]
    assert "12:00" not in json.dumps(falls)
    labels = {"template": "support", "kind": "regression"}
    assert journal.metrics.registry.get_sample_value("promptcache_alerts_total", labels) == 1


PAST = [good() for _ in range(150)]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (PAST, [bad() for _ in range(200)], 1),
        ([*PAST, *[bad() for _ in range(3)]], [bad() for _ in range(2)], 1),  # the fall spans the restart
        ([*PAST, *[bad() for _ in range(60)]], [bad() for _ in range(200)], 0),  # it was told before
        (PAST, [good() for _ in range(200)], 0),
    ],
)
def test_a_restart_forgets_nothing(tmp_path: Path, before: list[Any], after: list[Any], told: int) -> None:
    asyncio.run(_run(tmp_path, before))
    assert len(asyncio.run(_run(tmp_path, after))) == told


def test_requests_that_are_kept_no_more_are_remembered_by_the_hour(tmp_path: Path) -> None:
    bounds = Bounds(requests=5)
    asyncio.run(_run(tmp_path, [replace(one, time=one.time - 7_200) for one in PAST], bounds))
    asyncio.run(_run(tmp_path, [good() for _ in range(10)], bounds))
    assert len(asyncio.run(_run(tmp_path, [bad() for _ in range(30)], bounds))) == 1


async def _run(folder: Path, records: list[Any], bounds: Bounds | None = None) -> list[Any]:
    journal = Journal(Store(folder / "p.db", bounds=bounds), AlertSettings(kinds=("regression",)))
    await journal.start(Templates(Masker()))
    for one in records:
        journal.record(one)
    told = [event.data for event in journal.events.since(0) if event.kind == "alert"]
    await journal.stop()
    return told


def test_a_wrong_address_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "file:///etc/passwd")
    with pytest.raises(SettingsError, match=VARIABLE) as raised:
        Journal(tmp_path / "p.db")
    assert "passwd" not in str(raised.value)
