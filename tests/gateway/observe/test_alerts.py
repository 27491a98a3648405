"""Alerts: thresholds, kinds, quiet times; told once, and who is told can change while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.alert_settings import AlertSettings
from promptcache_gateway.observe import Journal
from promptcache_gateway.observe.alerts import Alerts
from promptcache_gateway.store import Store
from tests.gateway.observe.hooks import listening
from tests.gateway.store.records import hit, miss, record

if TYPE_CHECKING:
    from pathlib import Path

    from promptcache_gateway.observe import RequestRecord

HOUR = 1_800_000_000.0


class Watched:
    """Alerts, what they told, and a clock."""

    def __init__(self, **settings: Any) -> None:
        self.told: list[dict[str, Any]] = []
        self.now = HOUR
        self.alerts = Alerts(AlertSettings(**settings), self._take, clock=lambda: self.now)

    def _take(self, alert: Any) -> None:
        self.told.append(dict(alert))

    def see(self, *records: RequestRecord) -> list[str]:
        for one in records:
            self.alerts.watch(one)
        return [alert["kind"] for alert in self.told]


def loss(usd: float, **more: Any) -> RequestRecord:
    return record(miss("PC809", attribution="upstream", lost_usd=usd), **more)


def test_money_lost_in_an_hour_is_told_once_an_hour() -> None:
    watched = Watched(lost_usd_per_hour=1.0)
    assert watched.see(loss(0.6), loss(0.3)) == []
    assert watched.see(loss(0.2), loss(5.0)) == ["loss"]
    assert watched.told[0]["lost_usd"] == pytest.approx(1.1)
    assert "support: lost $1.10" in watched.told[0]["message"]
    assert watched.see(loss(0.9, time=HOUR + 3_600)) == ["loss"]
    assert watched.see(loss(0.2, time=HOUR + 3_600)) == ["loss", "loss"]
    assert watched.see(loss(0.9, template="other", time=HOUR + 3_600)) == ["loss", "loss"]


def test_an_amount_under_a_cent_is_no_zero() -> None:
    watched = Watched(lost_usd_per_hour=0.002)
    assert watched.see(loss(0.0031)) == ["loss"]
    assert "lost $0.0031 since the hour began; [alerts] allows $0.002" in watched.told[0]["message"]


def test_without_a_threshold_no_loss_is_told() -> None:
    assert Watched().see(loss(1e6)) == []


def test_thresholds_of_a_regression() -> None:
    good = record(hit(reusable_tokens=1_000), cached_tokens=1_000)
    bad = record(miss("PC809", 400, reusable_tokens=1_000, attribution="upstream"), cached_tokens=600)
    assert Watched(window=5, least_requests=5, fall=0.3).see(*[good] * 20, *[bad] * 10) == ["regression"]
    assert Watched(window=5, least_requests=5, fall=0.5).see(*[good] * 20, *[bad] * 10) == []


def test_a_quiet_time_holds_back_and_says_how_many() -> None:
    watched = Watched(quiet_s=600, lost_usd_per_hour=1.0)
    hours = [loss(2.0, time=HOUR + 3_600 * number) for number in range(4)]
    assert watched.see(*hours[:3]) == ["loss"]
    watched.now += 601
    assert watched.see(hours[3]) == ["loss", "loss"]
    assert [alert["held_back"] for alert in watched.told] == [0, 2]
    watched.see(loss(2.0, template="other"))
    assert watched.told[-1]["template"] == "other"  # another template is another matter


def test_only_the_kinds_that_are_wanted() -> None:
    watched = Watched(kinds=("loss",), lost_usd_per_hour=1.0)
    assert watched.see(record(miss("PC101")), loss(2.0)) == ["loss"]


def test_a_budget_is_told_once_in_its_quiet_time() -> None:
    watched = Watched(quiet_s=60)
    for _ in range(2):
        watched.alerts.budget("shop", "k1 2027-01", "80% of it is used", used_usd=8.0)
    assert [(alert["tenant"], alert["used_usd"]) for alert in watched.told] == [("shop", 8.0)]


def test_a_forgotten_tenant_is_told_of_anew() -> None:
    watched = Watched(quiet_s=600, lost_usd_per_hour=1.0)
    fault = record(miss("PC101"))
    watched.see(fault, fault, loss(2.0))
    watched.alerts.forget("default")
    assert watched.see(fault, loss(2.0)) == ["new_cause", "loss"] * 2


def test_the_address_can_change_while_it_runs(tmp_path: Path) -> None:
    with listening() as first, listening() as second:
        watched = Watched(webhook=first.url)
        watched.alerts.start()
        watched.see(record(miss("PC101")))
        watched.alerts.renew(AlertSettings(webhook=second.url))
        watched.see(record(miss("PC301")))
        watched.alerts.renew(AlertSettings())
        watched.see(record(miss("PC302")))
        watched.alerts.stop()
        assert [alert["cause"] for alert in first.taken] == ["PC101"]
        assert [alert["cause"] for alert in second.taken] == ["PC301"]
    assert len(watched.told) == 3


def test_the_journal_counts_and_shows_them(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "p.db", AlertSettings(lost_usd_per_hour=1.0))
    journal.record(loss(2.0))
    journal.alerts.budget("shop", "", "a budget")
    page = journal.metrics.render().decode()
    assert 'promptcache_alerts_total{kind="loss",template="support"} 1.0' in page
    assert 'promptcache_alerts_total{kind="budget",template=""} 1.0' in page
    alerts = [event.data for event in journal.events.since(0) if event.kind == "alert"]
    assert [alert["kind"] for alert in alerts] == ["loss", "budget"]


def test_a_row_of_many_templates_has_no_rate_that_could_fall() -> None:
    for template, told in (("support", ["regression"]), ("learned-other", [])):
        watched = Watched(kinds=("regression",))
        good = [record(hit(), template=template, cached_tokens=900) for _ in range(60)]
        bad = [record(miss("PC101"), template=template) for _ in range(40)]
        assert watched.see(*good, *bad) == told, template


def test_what_was_lost_since_the_hour_began_outlives_a_restart(tmp_path: Path) -> None:
    def restarted(*records: RequestRecord, limit: float = 1.0) -> list[str]:
        """What is told of some records by a run over the same database, at the same hour."""
        watched, store = Watched(lost_usd_per_hour=limit), Store(tmp_path / "p.db")
        store.open()
        watched.alerts.recall(store)
        told = watched.see(*records)
        for one in records:
            store.record(one)
        store.close()
        return told

    assert restarted(loss(3.0, time=HOUR - 60), loss(0.6), loss(0.9, template="other")) == ["loss"]
    assert restarted(loss(0.5)) == ["loss"]
    assert restarted(loss(0.5)) == []  # it was told before
    assert restarted(loss(0.05, template="other"), limit=5.0) == []
    assert restarted(loss(0.1, template="other"), loss(9.0, template="third")) == ["loss", "loss"]
