"""Diagnoses with the built-in engine behind the whole gateway: exact where elsewhere they are estimates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.settings import EngineSettings, Settings
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL = "tiny"
RULES = "You answer for Fabrikam's help desk, in two sentences and politely. " * 12


@pytest.fixture(scope="module")
def loaded() -> Any:
    return tiny_model(seed=0)


@pytest.fixture
def served(loaded: Any, tmp_path: Any) -> Iterator[Served]:
    engine = Engine.from_loaded(loaded, EngineConfig(model=MODEL, kv_cache_tokens=4_096, max_running=4))
    with serve(
        Settings(data_dir=tmp_path), upstream=LocalUpstream(EngineSettings(model=MODEL), engine)
    ) as made:
        yield made


def ask(served: Served, system: str | None, question: str, **more: Any) -> tuple[dict[str, Any], Any]:
    """The record of one exchange, and its response."""
    head = [] if system is None else [{"role": "system", "content": system}]
    headers = more.pop("headers", {})
    body = {
        "model": MODEL,
        "max_tokens": 2,
        "temperature": 0,
        "messages": [*head, {"role": "user", "content": question}],
        **more,
    }
    response = served.post(body, **headers)
    assert response.status_code == 200, response.text
    return served.record(response), response


def test_a_clock_is_found_in_headers_record_and_template(served: Served) -> None:
    ask(served, "Time: 12:00:01. " + RULES, "Where is it?")
    record, response = ask(served, "Time: 12:00:42. " + RULES, "Where is it?")

    diagnosis = record["diagnosis"]
    assert response.headers["x-promptcache-cause"] == "PC101"
    assert response.headers["x-promptcache-path"] == "messages[0]"
    assert diagnosis["cause"] == "PC101"
    assert diagnosis["attribution"] == "caller"
    assert diagnosis["char_offset"] == len("Time: 12:00:")
    assert diagnosis["token_offset"] == record["usage"]["cached_tokens"]
    assert diagnosis["lost_tokens"] == pytest.approx(len(RULES), abs=25)  # a byte is a token here
    assert "12:00:42" in diagnosis["after"]
    assert diagnosis["lost_usd"] is None

    row = served.get(f"/promptcache/v1/templates/{record['template']}").json()
    assert row["learned"] is True
    assert row["requests"] == 2
    assert row["achievable_hit_rate"] > 0.4 > row["hit_rate"]
    assert {cause["code"] for cause in row["causes"]} >= {"PC101", "PC801"}


def test_a_stream_says_the_same_in_its_last_comment(served: Served) -> None:
    ask(served, "Time: 12:00:01. " + RULES, "Where is it?")
    _, response = ask(served, "Time: 12:00:42. " + RULES, "Where is it?", stream=True)

    comment = next(line for line in response.text.splitlines() if line.startswith(": promptcache "))
    summary = json.loads(comment.removeprefix(": promptcache "))
    assert summary["cause"] == "PC101"
    assert summary["lost_tokens"] > 500
    assert "12:00" not in comment


def test_three_prompts_without_a_system_prompt(served: Served) -> None:
    one, _ = ask(served, None, "Summarize this incident report in one paragraph.")
    two, _ = ask(served, None, "Summarize this incident report in three bullet points.")
    three, _ = ask(served, None, "Write a one-paragraph summary of this incident report.")

    opening = three["usage"]["cached_tokens"]
    assert one["diagnosis"]["cause"] == "PC801"
    assert two["diagnosis"]["cause"] is None
    assert two["usage"]["cached_tokens"] == opening + len("Summarize this incident report in ")
    assert three["diagnosis"]["cause"] == "PC801"
    assert three["diagnosis"]["attribution"] == "expected"
    assert "Nothing" in three["diagnosis"]["summary"]


def test_a_conversation_hits_and_its_rate_is_exact(served: Served) -> None:
    first, _ = ask(served, RULES, "Where is it?", headers={"x_promptcache_template": "support"})
    second, _ = ask(served, RULES, "Who has it?", headers={"x_promptcache_template": "support"})

    assert second["template"] == "support"
    assert second["diagnosis"]["hit"] is True
    assert second["diagnosis"]["expected_cached_tokens"] == second["usage"]["cached_tokens"]
    row = served.get("/promptcache/v1/templates/support").json()
    tokens = first["usage"]["prompt_tokens"] + second["usage"]["prompt_tokens"]
    assert row["hit_rate"] == pytest.approx(second["usage"]["cached_tokens"] / tokens)
    assert row["hit_rate"] <= row["achievable_hit_rate"] <= 1.0


def test_an_emptied_cache_is_the_reason_for_the_next_miss(served: Served) -> None:
    ask(served, RULES, "Where is it?")
    assert served.http.post("/promptcache/v1/cache/reset").json() == {"success": True}

    record, _ = ask(served, RULES, "Who has it?")

    assert record["diagnosis"]["cause"] == "PC803"
    assert record["diagnosis"]["attribution"] == "expected"


def test_what_was_evicted_is_said_to_have_been(served: Served) -> None:
    ask(served, RULES, "Where is it?")
    for number in range(6):
        ask(served, f"Prompt number {number}. " + RULES, "Fill the cache.")

    record, _ = ask(served, RULES, "Who has it?")

    assert record["diagnosis"]["cause"] == "PC803"
    assert record["diagnosis"]["lost_tokens"] > 500


def test_a_salt_isolates_and_says_so(served: Served) -> None:
    ask(served, RULES, "Where is it?", cache_salt="a")

    record, _ = ask(served, RULES, "Who has it?", cache_salt="b")

    assert record["diagnosis"]["cause"] == "PC808"
    assert record["diagnosis"]["attribution"] == "expected"


def test_a_warmed_prompt_hits_at_its_first_request(served: Served) -> None:
    body = {
        "model": MODEL,
        "messages": [{"role": "system", "content": RULES}, {"role": "user", "content": "Hi"}],
    }
    warmed = served.http.post("/promptcache/v1/cache/warm", json=body)
    assert warmed.status_code == 200, warmed.text
    assert warmed.json()["computed_tokens"] > 500

    record, _ = ask(served, RULES, "Where is it?")

    assert record["diagnosis"]["hit"] is True
    assert record["usage"]["cached_tokens"] > 500


def test_opting_out_is_not_a_miss(served: Served) -> None:
    ask(served, RULES, "Where is it?")

    record, _ = ask(served, RULES, "Who has it?", headers={"x_promptcache_cache": "off"})

    assert record["usage"]["cached_tokens"] == 0
    assert record["diagnosis"]["cause"] is None
