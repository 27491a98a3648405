"""``[prices]`` and ``[alerts]`` of promptcache.toml: what may be said, and how a fault is told."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway import cli
from promptcache_gateway.alert_settings import AlertSettings
from promptcache_gateway.arguments import make_settings, parse_arguments
from promptcache_gateway.errors import SettingsError
from promptcache_gateway.price_settings import PriceSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import call
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream

OWN = {"dated": "2020-01-31", "source": "me", "models": {"house": {"input": 1.0, "output": 2.0}}}


def read(folder: Path, text: str, **environ: str) -> Settings:
    file = folder / "promptcache.toml"
    file.write_text(text)
    values = {"XDG_DATA_HOME": str(folder)} | environ
    return make_settings(parse_arguments(["--config", str(file)]), values)


def test_single_prices_lie_over_the_file_and_that_over_the_shipped_list(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(json.dumps(OWN))
    found = read(
        tmp_path,
        '[prices]\nfile = "own.json"\n[prices.models."Gpt-4o"]\ninput = 9\noutput = 18\ncache_read = 0.5\n',
    ).prices.prices
    assert found.find("house") == OWN["models"]["house"]
    assert found.find("gpt-4o") == {"input": 9.0, "output": 18.0, "cache_read": 0.5}
    assert found.find("gpt-4o-mini") is not None
    assert {"house", "gpt-4o"} <= found.own


def test_old_prices_are_said_to_be_old() -> None:
    settings = PriceSettings()
    dated = settings.prices.dated
    assert settings.warning(dated) is None
    warning = settings.warning(date.fromordinal(dated.toordinal() + 91))
    assert warning is not None
    assert "91 days old" in warning
    assert "promptcache prices update" in warning


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[prices]\nfile = "none.json"', "prices.file: "),
        ('[prices.models."m"]\ninput = 1', 'prices.models."m".output: is missing.'),
        (
            '[prices.models."m"]\ninput = -1\noutput = 1',
            'prices.models."m".input: is -1.0, which is no price.',
        ),
        ('[prices.models."m"]\ninput = "1"\noutput = 1', "prices.models.m.input: must be a number"),
        ('[prices.models."m"]\ninputs = 1\noutput = 1', "Did you mean input?"),
        ("[prices]\nfiles = 'a'", "prices.files: there is no such setting. Did you mean file?"),
        ("[alerts]\nfall = 0", "alerts.fall: must be more than 0 and at most 1."),
        ("[alerts]\nbudget_used = 1.5", "alerts.budget_used: must be more than 0 and at most 1."),
        ("[alerts]\nquiet_s = -1", "alerts.quiet_s: must be from 0"),
        ("[alerts]\nwindow = 0", "alerts.window: must be from 1"),
        ("[alerts]\nleast_requests = 0", "alerts.least_requests: must be from 1"),
        ("[alerts]\nlost_usd_per_hour = 0", "alerts.lost_usd_per_hour: must be more than 0."),
        (
            '[alerts]\nkinds = ["loss", "gain"]',
            "alerts.kinds: 'gain' is no kind. Known: new_cause, regression",
        ),
        ('[alerts]\nwebhook = "ftp://secret"', "alerts.webhook: does not name an address"),
        ('[alerts]\nwebhook_env = "NOT_SET"', "alerts.webhook_env: NOT_SET is not set."),
        ('[alerts]\nwebhook = "http://a"\nwebhook_env = "B"', "alerts: has both webhook and webhook_env."),
        ('[alerts]\nwebhok = "http://a"', "Did you mean webhook?"),
    ],
)
def test_a_fault_is_told_with_its_place_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read(tmp_path, text)
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)


def test_where_alerts_go(tmp_path: Path) -> None:
    environ = {"PROMPTCACHE_ALERT_WEBHOOK": "http://env", "HOOK": "https://hook"}
    assert read(tmp_path, "", **environ).alerts.webhook == "http://env"
    assert read(tmp_path, '[alerts]\nwebhook = "http://file"', **environ).alerts.webhook == "http://file"
    made = read(tmp_path, '[alerts]\nwebhook_env = "HOOK"\nquiet_s = 60\nkinds = ["loss"]', **environ).alerts
    assert made == AlertSettings(webhook="https://hook", quiet_s=60.0, kinds=("loss",))
    assert "hook" not in repr(made).replace("webhook", "")


def test_check_says_that_prices_are_old(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptcache.price_list.OLD_AFTER_DAYS", -1)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert cli.main(["--check", "--upstream", "http://127.0.0.1:9"]) == 0
    assert "Note: the prices are" in capsys.readouterr().out
    (tmp_path / "p.toml").write_text('[prices]\nfile = "none.json"\n')
    assert cli.main(["--check", "--config", str(tmp_path / "p.toml")]) == 2
    assert "prices.file" in capsys.readouterr().err


def test_costs_are_recorded_by_the_prices_of_the_moment(mock: MockUpstream, tmp_path: Path) -> None:
    def prices(price: float) -> PriceSettings:
        return PriceSettings(models={"m": {"input": price, "output": 0.0, "cache_read": 0.0}})

    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    upstream = UpstreamSettings(url=mock.url, name="u")
    settings = Settings(upstreams=(upstream,), data_dir=tmp_path, prices=prices(1_000_000.0))
    with serve(settings) as served:
        assert served.record(served.post(body))["cost_usd"] == pytest.approx(86.0)
        assert served.loop is not None
        call(served.loop, served.gateway.reload(replace(settings, prices=prices(500_000.0))))
        assert served.record(served.post(body))["cost_usd"] == pytest.approx(43.0)
        assert served.record(served.post({**body, "model": "unpriced"}))["cost_usd"] is None
