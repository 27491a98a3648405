"""The accounting cases, told by an upstream through the running gateway: its records are what they expect."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from promptcache_gateway.price_settings import PriceSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import mock_upstream
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateway.mock_upstream import Wire
    from tests.gateway.serving import Served

CASES = Path(__file__).parents[2] / "cases"
PATHS: dict[Literal["openai", "anthropic"], str] = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
}
ASKED = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
NAMES = {
    "total_input": "prompt_tokens",
    "uncached": "uncached_tokens",
    "cache_read": "cached_tokens",
    "cache_write": "cache_write_tokens",
    "output": "output_tokens",
}


def expected(case: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((CASES / case / "expected.json").read_text(encoding="utf-8"))
    wanted: dict[str, Any] = told["expected"]
    return wanted


def lines(case: str, name: str) -> list[Any]:
    return [json.loads(line) for line in (CASES / case / name).read_text(encoding="utf-8").splitlines()]


def kind_of(usage: dict[str, Any]) -> Literal["openai", "anthropic"]:
    return "anthropic" if "input_tokens" in usage else "openai"


def body_of(usage: dict[str, Any]) -> bytes:
    """A whole answer with this usage."""
    if kind_of(usage) == "anthropic":
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}
        return json.dumps({**message, "stop_reason": "end_turn", "usage": usage}).encode()
    choice = {"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}
    return json.dumps({"id": "c", "model": "m", "choices": [choice], "usage": usage}).encode()


class House:
    """A gateway before an upstream of each API, which answer with what they are told to."""

    def __init__(self, served: Served, said: list[Any]) -> None:
        self.served = served
        self._said = said

    def record(self, usage: dict[str, Any]) -> dict[str, Any]:
        """What is recorded of an answer with this usage."""
        self._said[:] = [usage]
        kind = kind_of(usage)
        return self.served.record(self.served.post({**ASKED, "model": kind}, path=PATHS[kind]))

    def streamed(self, events: list[Any]) -> dict[str, Any]:
        """What is recorded of Anthropic's events."""
        self._said[:] = [events]
        asked = {**ASKED, "model": "anthropic", "stream": True}
        return self.served.record(self.served.post(asked, path=PATHS["anthropic"]))


@contextmanager
def house(
    tmp_path: Path, prices: dict[str, float] | None = None, *, diagnosis: bool = True
) -> Iterator[House]:
    said: list[Any] = []

    async def script(wire: Wire) -> None:
        if isinstance(said[0], list):
            told = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in said[0]]
            await wire.events(*told)
        else:
            await wire.respond(body_of(said[0]))

    with mock_upstream(script) as mock:
        upstreams = (
            UpstreamSettings(name="openai", url=mock.url, models=("openai",), apis=("chat",)),
            UpstreamSettings(name="anthropic", url=mock.url, kind="anthropic", models=("anthropic",)),
        )
        known = PriceSettings(models=dict.fromkeys(PATHS, prices) if prices else {})
        told = Settings(upstreams=upstreams, prices=known, data_dir=tmp_path, diagnosis=diagnosis)
        with serve(told) as served:
            yield House(served, said)


def counts(record: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Of what is recorded that which is judged, in the cases' words."""
    return {name: record["usage"][ours] for name, ours in NAMES.items() if name in wanted}


def judged(wanted: dict[str, Any]) -> dict[str, Any]:
    return {name: wanted[name] for name in NAMES if name in wanted}


@pytest.mark.parametrize("case", ["B084", "B086", "B092", "B094", "B137"])
def test_a_whole_answer_s_usage(case: str, tmp_path: Path) -> None:
    wanted, folder = expected(case), CASES / case
    priced = folder / "prices.json"
    prices = json.loads(priced.read_text(encoding="utf-8")) if priced.exists() else None
    usage = json.loads((folder / "usage.json").read_text(encoding="utf-8"))
    with house(tmp_path, prices) as made:
        record = made.record(usage)
        assert counts(record, wanted) == judged(wanted)
        assert record["raw_usage"] == usage, "kept as it was told"
        if "cost_usd" in wanted:
            assert record["cost_usd"] == pytest.approx(wanted["cost_usd"])
        if wanted.get("cost_known") is False:
            assert record["cost_usd"] is None
        if "followup" in wanted:  # the same upstream's next record is read as the first one showed
            later = json.loads((folder / "usage_followup_same_upstream.json").read_text(encoding="utf-8"))
            assert counts(made.record(later), wanted["followup"]) == judged(wanted["followup"])


@pytest.mark.parametrize("case", ["B088", "B090"])
def test_a_stream_s_usage(case: str, tmp_path: Path) -> None:
    wanted = expected(case)
    with house(tmp_path) as made:
        record = made.streamed(lines(case, "events.jsonl"))
        assert counts(record, wanted) == judged(wanted)
        whole = made.record(record["raw_usage"])
        assert whole["usage"] == record["usage"], "streamed and whole are the same"


def test_rates_of_two_conventions(tmp_path: Path) -> None:
    """B096: a rate over records of both APIs is one of their tokens."""
    with house(tmp_path) as made:
        for record in lines("B096", "records.jsonl"):
            made.record(
                {name: value for name, value in record.items() if name not in {"source", "convention"}}
            )
        templates = made.served.get("/promptcache/v1/templates").json()
    prompt = sum(one["reported_prompt_tokens"] for one in templates)
    read = sum(one["cached_tokens"] for one in templates)
    assert read / prompt == pytest.approx(expected("B096")["overall"], abs=1e-6)


def test_who_does_not_report_is_left_out_of_the_rate(tmp_path: Path) -> None:
    """B098: and is told apart from one that read nothing."""
    wanted = expected("B098")
    with house(tmp_path) as made:
        for record in lines("B098", "records.jsonl"):
            made.record({name: value for name, value in record.items() if name != "upstream"})
        (template,) = made.served.get("/promptcache/v1/templates").json()
    assert template["hit_rate"] == pytest.approx(wanted["token_hit_rate"])
    assert template["reported_requests"] == wanted["reported_requests"]
    assert template["requests"] - template["reported_requests"] == wanted["unreported_requests"]


@pytest.mark.parametrize("diagnosis", [True, False])
def test_an_upstream_is_read_otherwise_only_once_it_has_shown_it(tmp_path: Path, diagnosis: bool) -> None:
    """Until then it is read as OpenAI counts."""
    usage = {"prompt_tokens": 9000, "prompt_tokens_details": {"cached_tokens": 4000}, "completion_tokens": 1}
    with house(tmp_path, diagnosis=diagnosis) as made:
        assert made.record(usage)["usage"]["prompt_tokens"] == 9000
        made.record({**usage, "prompt_tokens": 812})
        assert made.record(usage)["usage"]["prompt_tokens"] == 13000
        assert (
            made.record({**usage, "prompt_tokens_details": {"cached_tokens": 0}})["usage"]["cached_tokens"]
            == 0
        )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_a_caller_of_another_api_is_told_what_is_recorded(tmp_path: Path, path: str, stream: bool) -> None:
    """Of an upstream that counts cached tokens beside the prompt's, where the figures alone do not tell."""
    usage = {"prompt_tokens": 9000, "prompt_tokens_details": {"cached_tokens": 4000}, "completion_tokens": 1}
    asked = {"model": "openai", "max_tokens": 9, "messages": ASKED["messages"], "stream": stream}
    if path == "/v1/responses":
        asked = {"model": "openai", "input": "Hi", "stream": stream}
    with house(tmp_path) as made:
        made.record({**usage, "prompt_tokens": 812})
        made.record(usage)
        answer = made.served.post(asked, path=path)
        record = made.served.record(answer)
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
    said = [json.loads(line) for line in lines] if stream else [answer.json()]
    told = [one.get("usage") or one.get("response", {}).get("usage") for one in said]
    last = next(one for one in reversed(told) if one)
    wanted = (
        {"input_tokens": 9000, "cache_read_input_tokens": 4000}
        if path == "/v1/messages"
        else {"input_tokens": 13000}
    )
    assert {name: last[name] for name in wanted} == wanted
    assert (record["usage"]["prompt_tokens"], record["usage"]["cached_tokens"]) == (13000, 4000)
