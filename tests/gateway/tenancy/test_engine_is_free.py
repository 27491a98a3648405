"""Budgets before the built-in engine: its requests count, cost nothing, and nobody asks for a price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.settings import EngineSettings, Settings
from promptcache_gateway.store.spending import spent_by
from promptcache_gateway.tenancy import TenantLimits
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.serving import serve
from tests.gateway.store.records import record

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MODEL = "tiny"


def test_nobody_asks_for_a_price_of_the_engine(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine.from_loaded(tiny_model(seed=0), EngineConfig(model=MODEL, kv_cache_tokens=4_096))
    settings = Settings(data_dir=tmp_path, tenants={"default": TenantLimits(budget_usd=1.0)})
    body = {"model": MODEL, "max_tokens": 2, "messages": [{"role": "user", "content": "Hi"}]}
    with serve(settings, upstream=LocalUpstream(EngineSettings(model=MODEL), engine)) as served:
        answer = served.post(body)
        assert answer.status_code == 200, answer.text
        assert served.record(answer)["cost_usd"] is None
        (row,) = served.get("/promptcache/v1/budgets").json()
    assert (row["spent_usd"], row["requests"], row["unpriced_requests"]) == (0.0, 1, 0)
    assert "is not known" not in caplog.text


def test_what_is_free_and_used_nothing_is_not_counted() -> None:
    assert spent_by(record(free=True, prompt_tokens=None, output_tokens=None)) is None
