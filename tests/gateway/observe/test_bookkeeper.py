"""Where diagnosis is off requests are counted, charged and recorded, and their prompts are not looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.observe.bookkeeper import OFF, Bookkeeper
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.tenancy.limits import TenantLimits
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream

SYSTEM = "Rules of the desk. " * 90
UNKNOWN = (
    "cause",
    "hit",
    "path",
    "expected_cached_tokens",
    "reusable_tokens",
    "lost_tokens",
    "lost_usd",
    "compared_with",
    "remedy",
)


def chat(question: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    return {"model": "m", "messages": messages, **more}


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    upstream = UpstreamSettings(url=mock.url, name="only")
    with serve(Settings(upstreams=(upstream,), data_dir=tmp_path, diagnosis=False)) as made:
        yield made


def test_a_record_has_what_was_counted_and_says_that_nobody_looked(served: Served) -> None:
    assert isinstance(served.gateway.observer, Bookkeeper)
    for question in ("One?", "Two?"):
        answer = served.post(chat(question), x_promptcache_template="support")
        record = served.record(answer)
        assert record["diagnosis"] == {**OFF.to_dict(), "causes": [], "places": []}
        assert all(record["diagnosis"][name] is None for name in UNKNOWN)
        assert record["diagnosis"]["attribution"] == "unknown"
        assert (record["template"], record["learned"]) == ("support", False)
        assert record["usage"]["reported"]
        assert record["outline"] is None
        headers = {name for name in answer.headers if name.startswith("x-promptcache-")}
        assert {"x-promptcache-request-id", "x-promptcache-template"} <= headers
        assert not headers & {"x-promptcache-cause", "x-promptcache-path", "x-promptcache-lost-tokens"}


def test_a_prompt_is_forwarded_as_it_is_and_nothing_of_it_remembered(
    served: Served, mock: MockUpstream
) -> None:
    body = b'{"model": "m",  "messages": [{"role":"user","content":"Hi \\u00e9"}]}'
    assert served.record(served.post(body))["template"] == "learned-unstructured"
    assert mock.last.body == body
    observer = served.gateway.observer
    assert observer._templates.known() == []
    assert len(observer.answered) == 0
    assert not observer._arrivals._waiting


def test_a_stream_ends_with_what_was_counted(served: Served) -> None:
    answer = served.post(chat("One?", stream=True))
    comment = answer.text[answer.text.rindex(": promptcache ") :]
    assert '"attribution":"unknown"' in comment
    assert "cause" not in comment
    assert served.record(answer)["diagnosis"]["summary"] == OFF.summary


def test_a_name_in_the_metadata_counts(served: Served) -> None:
    answer = served.post(chat("One?", metadata={"promptcache_template": "desk"}))
    assert served.record(answer)["template"] == "desk"


def test_templates_have_rates_and_no_ceiling(served: Served) -> None:
    for question in ("One?", "Two?"):
        served.post(chat(question), x_promptcache_template="support")
    (row,) = served.get("/promptcache/v1/templates").json()
    assert (row["requests"], row["hits"], row["misses"], row["causes"]) == (2, 0, 0, [])
    assert 0 < row["hit_rate"] < 1
    assert [row[name] for name in ("achievable_hit_rate", "lost_tokens", "write_amplification")] == [None] * 3
    one = served.get("/promptcache/v1/templates/support").json()
    assert one["achievable_hit_rate"] is None
    assert [(hour["requests"], hour["lost_tokens"]) for hour in one["hours"]] == [(2, None)]
    told = served.get("/promptcache/v1/timeline?window=hour").json()
    assert sum(told["requests"]) == 2
    assert set(told["lost_tokens"]) == {None}
    page = served.get("/metrics").text
    assert 'promptcache_requests_total{status="2xx",template="support",upstream="only"} 2.0' in page
    assert "promptcache_misses_total{" not in page
    assert "promptcache_ttft_seconds_bucket{" not in page


def test_what_was_known_before_it_was_turned_off_is_still_shown(mock: MockUpstream, tmp_path: Path) -> None:
    upstream = UpstreamSettings(url=mock.url, name="only")
    for diagnosis in (True, False):
        with serve(Settings(upstreams=(upstream,), data_dir=tmp_path, diagnosis=diagnosis)) as served:
            served.post(chat("One?"), x_promptcache_template="support")
            (row,) = served.get("/promptcache/v1/templates").json()
            assert (row["hits"], row["misses"]) == (1, 0)
            assert row["lost_tokens"] == 0
            assert row["achievable_hit_rate"] is not None
    assert row["requests"] == 2


def test_health_says_so(served: Served, mock: MockUpstream, tmp_path: Path) -> None:
    assert served.get("/health").json()["diagnosis"] == "off"
    with serve(Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path / "on")) as other:
        assert "diagnosis" not in other.get("/health").json()


def test_limits_hold(mock: MockUpstream, tmp_path: Path) -> None:
    limits = {"default": TenantLimits(requests_per_minute=1)}
    upstream = UpstreamSettings(url=mock.url)
    with serve(Settings(upstream=upstream, data_dir=tmp_path, diagnosis=False, tenants=limits)) as served:
        assert [served.post(chat("One?")).status_code for _ in range(2)] == [200, 429]


def test_an_error_is_recorded(mock: MockUpstream, tmp_path: Path) -> None:
    upstream = UpstreamSettings(url="http://127.0.0.1:9", retries=0)
    with serve(Settings(upstream=upstream, data_dir=tmp_path, diagnosis=False)) as served:
        record = served.record(served.post(chat("One?")))
    assert record["error"] == "upstream_unreachable"
    assert record["diagnosis"]["summary"] == OFF.summary


def test_a_question_to_the_provider_is_answered_as_unknown(mock: MockUpstream, tmp_path: Path) -> None:
    upstream = UpstreamSettings(url=mock.url, name="only")
    with serve(Settings(upstreams=(upstream,), data_dir=tmp_path, diagnosis=False)) as served:
        asked = {"model": "m", "input": "Hi", "prompt_cache_options": {"comparison_response_id": "resp_1"}}
        answer = served.post(asked, path="/v1/responses")
        assert answer.json()["prompt_cache_diagnostics"] == {"type": "unavailable"}
