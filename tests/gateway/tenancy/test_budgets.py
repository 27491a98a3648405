"""Budgets in money: what counts, when they begin anew, how a caller is told, what survives a restart."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.price_settings import PriceSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.store.spending import Spent
from promptcache_gateway.tenancy import Caller, Ledger, TenantLimits
from promptcache_gateway.tenancy.budgets import DAY_S, Budget, BudgetError
from promptcache_gateway.tenancy.cli import main
from promptcache_gateway.tenancy.key_file import KeyFile
from tests.gateway.mock_upstream import call
from tests.gateway.serving import serve
from tests.gateway.store.records import record

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream

NOON = datetime(2027, 2, 3, 12, tzinfo=UTC).timestamp()
TODAY = int(NOON // DAY_S)
BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
DAILY = Caller("shop", key_id="k1", budget=Budget(5.0, "day"))


class Common:
    """What several processes hold in common, as far as news go."""

    def __init__(self) -> None:
        self.hears: list[Any] = []
        self.told: list[Any] = []

    def on(self, topic: str, hear: Any) -> None:
        self.hears.append(hear)

    def publish(self, topic: str, value: Any) -> None:
        self.told.append(value)
        for hear in self.hears[1:]:
            hear(json.loads(json.dumps(value)))


class Book:
    """A ledger over a database that a test writes, and a clock."""

    def __init__(self, *rows: Spent, **budgets: Budget | None) -> None:
        self.rows = list(rows)
        self.now = NOON
        self.asked: list[int] = []
        self.broken = False
        self.told: list[tuple[str, str, dict[str, Any]]] = []
        self.written: set[str] = set()
        self.ledger = Ledger(
            self._read,
            budgets,
            written=self.written.intersection,
            tell=self._tell,
            clock=lambda: self.now,
        )

    def _read(self, since: int) -> list[Spent]:
        self.asked.append(since)
        if self.broken:
            raise OSError("gone")
        return [row for row in self.rows if row.day >= since]

    def _tell(self, tenant: str, about: str, message: str, **more: Any) -> None:
        self.told.append((about, message, more))

    def admits(self, caller: Caller) -> bool:
        async def ask() -> bool:
            try:
                await self.ledger.admit(caller)
            except BudgetError:
                return False
            if self.ledger._reading is not None:
                await self.ledger._reading
            return True

        return asyncio.run(ask())

    def charge(self, caller: Caller, usd: float | None, **more: Any) -> None:
        values = {"tenant": caller.tenant, "key_id": caller.key_id, "time": self.now, "cost_usd": usd} | more
        self.ledger.charge(caller, record(**values))


def spent(usd: float, *, key: str = "k1", day: int = TODAY) -> Spent:
    return Spent("shop", key, day, usd, 1, 0)


def test_a_day_and_a_month_begin_anew_at_midnight_of_utc() -> None:
    day, month = Budget(1.0, "day"), Budget(1.0, "month")
    assert day.resets_at(NOON) == datetime(2027, 2, 4, tzinfo=UTC).timestamp()
    assert month.resets_at(NOON) == datetime(2027, 3, 1, tzinfo=UTC).timestamp()
    assert len(month.days(NOON)) == 3
    assert list(day.days(NOON)) == [TODAY]
    december = datetime(2027, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()
    assert month.resets_at(december) == datetime(2028, 1, 1, tzinfo=UTC).timestamp() == december + 1


@given(st.floats(min_value=0, max_value=4e9), st.sampled_from(["day", "month"]))
def test_now_is_always_within_the_period(now: float, period: Any) -> None:
    budget = Budget(1.0, period)
    assert budget.first_day(now) * DAY_S <= now < budget.resets_at(now)
    assert budget.first_day(budget.resets_at(now)) == budget.resets_at(now) // DAY_S


@pytest.mark.parametrize(
    ("usd", "said"),
    [(0.0, "$0.00"), (0.004, "$0.004"), (0.0000123456, "$0.0000123"), (0.01, "$0.01"), (0.125, "$0.125"),
     (0.5, "$0.50"), (0.9996, "$1.00"), (12.346, "$12.35")],
)  # fmt: skip
def test_amounts_under_a_cent_are_no_zero(usd: float, said: str) -> None:
    assert str(Budget(usd)) == f"{said} a month"


@pytest.mark.parametrize(("usd", "period"), [(0, "day"), (-1, "day"), (float("nan"), "day"), (1, "week")])
def test_what_is_no_budget(usd: float, period: str) -> None:
    with pytest.raises(SettingsError):
        Budget.checked("", usd, period)
    with pytest.raises(SettingsError):
        TenantLimits(budget_usd=usd, budget_period=period)


def test_what_the_database_holds_counts_for_key_and_tenant() -> None:
    book = Book(spent(3.0), spent(1.5), spent(9.0, key="k2"), spent(90.0, day=TODAY - 1))
    assert book.admits(DAILY)
    book.charge(DAILY, 0.5)
    assert not book.admits(DAILY)
    assert book.ledger.refused == {"shop": 1}

    other = Caller("shop", key_id="k9")
    assert Book(spent(9.0), shop=Budget(10.0, "month")).admits(other)
    assert not Book(spent(9.0), spent(1.0, key="k2", day=TODAY - 2), shop=Budget(10.0, "month")).admits(other)
    assert Book(spent(99.0, day=TODAY - 3), shop=Budget(10.0, "month")).admits(other)  # last month's


def test_the_next_day_is_a_new_one() -> None:
    book = Book(spent(5.0))
    assert not book.admits(DAILY)
    book.now += DAY_S / 2
    assert book.admits(DAILY)


def test_what_others_spend_is_read_again_and_nothing_counts_twice_for_long() -> None:
    book = Book()
    assert book.admits(DAILY)
    book.charge(DAILY, 2.0)
    book.rows = [spent(2.0), spent(2.5, key="k1")]  # ours, written meanwhile, and another worker's
    assert book.admits(DAILY)
    assert book.asked == [TODAY - 2]  # not again within seconds
    book.now += 10
    assert book.admits(DAILY)
    assert book.ledger.spent("shop", "k1", DAILY.budget or Budget(1.0), book.now) == 4.5


def test_what_others_spend_counts_as_soon_as_they_tell() -> None:
    common, here, there = Common(), Book(), Book()
    for book in (here, there):
        book.ledger.share(common)  # type: ignore[arg-type]
        assert book.admits(DAILY)
    here.charge(DAILY, 3.0, id="one")
    here.charge(DAILY, 2.5, id="two")
    assert not there.admits(DAILY), "before the database is read again"
    assert there.told == [], "whoever spent it tells the operator"
    there.now += 10
    there.rows = [spent(3.0)]
    asyncio.run(there.ledger.read())
    assert there.admits(DAILY), "the database's word is the last"
    assert there.ledger.spent("shop", "k1", DAILY.budget or Budget(1.0), there.now) == 3.0


@pytest.mark.parametrize(
    "value", [7, ["shop"], ["shop", "k1", "soon", 1.0, "a"], ["shop", "k1", TODAY, None, "a"]]
)
def test_what_cannot_be_read_of_others_lifts_and_breaks_nothing(value: Any) -> None:
    book = Book(spent(5.0))
    with contextlib.suppress(TypeError, ValueError):
        book.ledger._hear(value)
    book.ledger._hear(["shop", "k1", TODAY, -9.0, "a"])
    assert not book.admits(DAILY)


def test_what_the_database_holds_already_does_not_count_twice() -> None:
    book = Book()
    assert book.admits(DAILY)
    book.now += 10
    book.charge(DAILY, 2.0, id="written")
    book.charge(DAILY, 0.5, id="on its way")
    book.rows = [spent(2.0)]
    book.written.add("written")
    assert book.admits(DAILY)
    assert book.ledger.spent("shop", "k1", DAILY.budget or Budget(1.0), book.now) == 2.5


def test_a_database_that_is_away_stops_nobody_and_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    book = Book(spent(4.0))
    assert book.admits(DAILY)
    book.broken = True
    for _ in range(3):
        book.now += 10
        book.charge(DAILY, 0.4)
        assert book.admits(DAILY) == (book.now < NOON + 30)
    with caplog.at_level(logging.ERROR):
        never = Book()
        never.broken = True
        assert never.admits(DAILY)


def test_many_requests_are_kept_as_few_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptcache_gateway.tenancy.ledger._MOST_RECENT", 10)
    book = Book()
    for _ in range(100):
        book.charge(DAILY, 0.01)
    assert len(book.ledger._recent) <= 10
    assert book.ledger.spent("shop", "k1", Budget(5.0, "day"), NOON) == pytest.approx(1.0)


def test_it_is_told_once_near_the_end_and_once_at_it() -> None:
    book = Book()
    for _ in range(12):
        book.charge(DAILY, 0.5)
    assert [message for _, message, _ in book.told] == [
        "key k1 of tenant shop has used 80% of $5.00 a day",
        "key k1 of tenant shop has used 100% of $5.00 a day",
    ]
    assert len({about for about, _, _ in book.told}) == 2
    assert book.told[0][2]["spent_usd"] == pytest.approx(4.0)


def test_a_request_without_a_price_is_said_once_and_does_not_count(caplog: pytest.LogCaptureFixture) -> None:
    book = Book()
    with caplog.at_level(logging.WARNING, "promptcache.gateway"):
        book.charge(DAILY, None, model="mystery")
        book.charge(DAILY, None, model="mystery")
        book.charge(DAILY, None, model="unused", prompt_tokens=None, output_tokens=None)
    (said,) = [entry.getMessage() for entry in caplog.records]
    assert '[prices.models."mystery"]' in said
    assert book.admits(DAILY)


def test_what_a_caller_calls_a_model_stays_on_a_short_line(caplog: pytest.LogCaptureFixture) -> None:
    book = Book()
    with caplog.at_level(logging.WARNING, "promptcache.gateway"):
        book.charge(DAILY, None, model="m\n2026-11-30 ERROR forged" + "x" * 100_000)
    (said,) = [entry.getMessage() for entry in caplog.records]
    assert "\n" not in said
    assert len(said) < 500


def test_a_tenant_that_is_forgotten_begins_anew() -> None:
    book = Book()
    book.charge(DAILY, 5.0)
    book.ledger.forget("shop")
    assert book.ledger.spent("shop", "k1", Budget(5.0, "day"), NOON) == 0


def test_who_has_no_budget_asks_no_database() -> None:
    book = Book()
    assert book.admits(Caller("shop", key_id="k1"))
    assert book.asked == []


# --- through the gateway ---

PRICES = PriceSettings(models={"m": {"input": 1_000.0, "output": 0.0, "cache_read": 1_000.0}})
"""A request of the scripted upstream has 2,006 tokens: two dollars and a little."""


def settings(mock: MockUpstream, folder: Path, **more: Any) -> Settings:
    upstream = UpstreamSettings(url=mock.url, name="u")
    return Settings(upstreams=(upstream,), data_dir=folder, prices=PRICES, stored_keys=True, **more)


def make_key(folder: Path, capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["create", *argv, "--data-dir", str(folder)]) == 0
    return capsys.readouterr().out.strip()


def test_a_key_is_refused_in_each_apis_shape_and_stays_refused(
    mock: MockUpstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = make_key(tmp_path, capsys, "shop", "--budget-usd", "3", "--budget-period", "day")
    admin = make_key(tmp_path, capsys, "boss", "--admin")
    with serve(settings(mock, tmp_path)) as served:
        assert [served.post(BODY, x_api_key=key).status_code for _ in range(3)] == [200, 200, 429]
        refused = served.post(BODY, x_api_key=key)
        error = refused.json()["error"]
        assert (error["type"], error["code"]) == ("insufficient_quota", "insufficient_quota")
        assert "the budget of this key, $3.00 a day, is used up until" in error["message"]
        assert 0 < int(refused.headers["retry-after"]) <= DAY_S
        assert refused.headers["x-should-retry"] == "false"

        client = openai.OpenAI(base_url=f"{served.url}/v1", api_key=key, max_retries=5)
        with client, pytest.raises(openai.RateLimitError, match="exceeded your current quota"):
            client.chat.completions.create(model="m", messages=BODY["messages"])
        claude = anthropic.Anthropic(base_url=served.url, api_key=key, max_retries=5)
        with claude, pytest.raises(anthropic.RateLimitError) as raised:
            claude.messages.create(model="m", max_tokens=5, messages=BODY["messages"])
        assert raised.value.response.json()["error"]["type"] == "rate_limit_error"

        page = served.http.get("/metrics", headers={"x-api-key": admin}).text
        assert 'promptcache_limited_requests_total{limit="budget",tenant="shop"} 4.0' in page
        assert 'promptcache_alerts_total{kind="budget",template=""} 1.0' in page
        (row,) = served.http.get("/promptcache/v1/budgets", headers={"x-api-key": admin}).json()
        assert (row["key"], row["budget_usd"], row["period"]) == ("shop", 3.0, "day")
        assert row["spent_usd"] == pytest.approx(4.012)
        assert (row["left_usd"], row["requests"], row["unpriced_requests"]) == (0.0, 2, 0)

    with serve(settings(mock, tmp_path)) as again:
        assert again.post(BODY, x_api_key=key).status_code == 429
        assert again.post(BODY, x_api_key=admin).status_code == 200
    assert main(["list", "--data-dir", str(tmp_path)]) == 0
    listed = capsys.readouterr().out
    assert "BUDGET" in listed
    assert "$4.01 of $3.00 this day" in listed


def test_a_tenants_budget_holds_for_all_its_keys(
    mock: MockUpstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = [make_key(tmp_path, capsys, name, "--tenant", "shop") for name in ("a", "b", "c")]
    limits = {"shop": TenantLimits(budget_usd=4.0)}
    with serve(settings(mock, tmp_path, tenants=limits)) as served:
        assert [served.post(BODY, x_api_key=key).status_code for key in keys] == [200, 200, 429]
        assert "this tenant, $4.00 a month" in served.post(BODY, x_api_key=keys[0]).text
        more = settings(mock, tmp_path, tenants={"shop": TenantLimits(budget_usd=40.0)})
        assert served.loop is not None
        call(served.loop, served.gateway.reload(more))
        assert served.post(BODY, x_api_key=keys[0]).status_code == 200


def test_a_model_without_a_price_is_served_and_counted_apart(
    mock: MockUpstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = make_key(tmp_path, capsys, "shop", "--budget-usd", "0.01")
    with serve(settings(mock, tmp_path)) as served:
        for _ in range(2):
            assert served.post({**BODY, "model": "mystery"}, x_api_key=key).status_code == 200
    main(["list", "--data-dir", str(tmp_path)])
    assert "$0.00 of $0.01 this month, and 2 requests without a known cost" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv", [["--budget-usd", "0"], ["--budget-usd", "1", "--budget-period", "week"], ["--budget-usd", "x"]]
)
def test_a_budget_that_is_none_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    try:
        status = main(["create", "shop", *argv, "--data-dir", str(tmp_path)])
    except SystemExit as exited:
        status = int(exited.code or 0)
    assert status == 2
    assert "budget" in capsys.readouterr().err
    assert not (tmp_path / "keys.json").exists()


def test_a_list_without_a_database_it_can_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_key(tmp_path, capsys, "shop", "--budget-usd", "5")
    main(["list", "--data-dir", str(tmp_path)])
    assert "$0.00 of $5.00 this month" in capsys.readouterr().out
    (tmp_path / "promptcache.db").write_bytes(b"no database at all, whatever its name says" * 100)
    assert main(["list", "--data-dir", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "$5.00 a month, spent: unknown" in shown.out
    assert "what was spent is not known" in shown.err


def test_a_file_of_keys_with_a_broken_budget_is_refused(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    file.create("shop", budget=Budget(5.0))
    file.path.write_text(file.path.read_text().replace('"month"', '"week"'))
    with pytest.raises(Exception, match="is not a file of keys"):
        file.read()
