"""A cache's name that the gateway puts in changes: nobody blames the caller for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.mutations import read_mutations
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.upstream_settings import ModelSettings, Target
from tests.gateway.mock_upstream import CHAT, MockUpstream, Wire, mock_upstream
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SYSTEM = {"role": "system", "content": "You answer questions about orders. " * 400}


async def reads_nothing(wire: Wire) -> None:
    usage = {"prompt_tokens": 3_000, "completion_tokens": 3, "total_tokens": 3_003}
    usage |= {"prompt_tokens_details": {"cached_tokens": 0}}
    await wire.respond(json.dumps({**CHAT, "usage": usage}).encode())


async def down(wire: Wire) -> None:
    await wire.respond(b"{}", status="503 Down")


@pytest.fixture
def second() -> Iterator[MockUpstream]:
    with mock_upstream(reads_nothing) as server:
        yield server


def house(first: MockUpstream, second: MockUpstream, folder: Path, mutations: dict[str, Any]) -> Settings:
    first.script = reads_nothing
    upstreams = (
        UpstreamSettings(name="first", url=first.url, retries=0),
        UpstreamSettings(name="second", url=second.url, retries=0),
    )
    models = (ModelSettings("m", (Target("first", "gpt-4.1"), Target("second", "gpt-4.1"))),)
    return Settings(upstreams=upstreams, models=models, data_dir=folder, mutations=read_mutations(mutations))


def diagnosis(served: Served, *texts: str, **more: Any) -> dict[str, Any]:
    said = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    answer = served.post({"model": "m", "messages": [SYSTEM, *said], **more})
    found: dict[str, Any] = served.record(answer)["diagnosis"]
    return found


def test_a_key_for_each_conversation_is_the_operators(
    mock: MockUpstream, second: MockUpstream, tmp_path: Path
) -> None:
    with serve(house(mock, second, tmp_path, {"prompt_cache_key": "conversation"})) as served:
        diagnosis(served, "What about the first order?")
        found = diagnosis(served, "And then what of another?")
        assert (found["cause"], found["attribution"]) == ("PC607", "expected")
        assert found["summary"].startswith("The gateway's own prompt_cache_key is another than before")


@pytest.mark.parametrize("policy", ["off", "template"])
def test_a_fallback_is_another_cache_whatever_its_key(
    mock: MockUpstream, second: MockUpstream, tmp_path: Path, policy: str
) -> None:
    mutations = {"prompt_cache_key": "tenant", "upstreams": {"second": {"prompt_cache_key": policy}}}
    with serve(house(mock, second, tmp_path, mutations)) as served:
        diagnosis(served, "One?")
        mock.script = down
        found = diagnosis(served, "One?", "An answer.", "Two?")
        assert found["causes"] == ["PC804"]


def test_a_fallback_is_another_cache_beside_a_break_too(
    mock: MockUpstream, second: MockUpstream, tmp_path: Path
) -> None:
    mutations = {"prompt_cache_key": "tenant", "upstreams": {"second": {"prompt_cache_key": "off"}}}
    clocks = [{**SYSTEM, "content": f"Now: 2026-11-30T12:00:0{n}Z. {SYSTEM['content']}"} for n in range(2)]
    with serve(house(mock, second, tmp_path, mutations)) as served:
        served.post({"model": "m", "messages": [clocks[0], {"role": "user", "content": "One?"}]})
        mock.script = down
        answer = served.post({"model": "m", "messages": [clocks[1], {"role": "user", "content": "Two?"}]})
        causes = served.record(answer)["diagnosis"]["causes"]
        assert causes[:2] == ["PC804", "PC101"]
        assert "PC607" not in causes


def test_the_callers_own_key_stays_its_own(mock: MockUpstream, second: MockUpstream, tmp_path: Path) -> None:
    with serve(house(mock, second, tmp_path, {"cache_salt": "tenant"})) as served:
        diagnosis(served, "One?", prompt_cache_key="a")
        found = diagnosis(served, "One?", "An answer.", "Two?", prompt_cache_key="b")
        assert (found["cause"], found["attribution"]) == ("PC607", "caller")


@pytest.mark.parametrize("keys", [("a", None), (None, "a")])
def test_a_callers_key_that_comes_or_goes_is_the_callers(
    mock: MockUpstream, second: MockUpstream, tmp_path: Path, keys: tuple[str | None, str | None]
) -> None:
    """The gateway puts its own in where there is none, which changes nothing of whose doing that is."""
    before, after = ({} if key is None else {"prompt_cache_key": key} for key in keys)
    with serve(house(mock, second, tmp_path, {"prompt_cache_key": "tenant"})) as served:
        diagnosis(served, "One?", **before)
        found = diagnosis(served, "One?", "An answer.", "Two?", **after)
        assert (found["cause"], found["attribution"]) == ("PC607", "caller")


def turns(start: int, end: int) -> list[str]:
    return [
        f"Turn {n}: " + "something of weight is said here, and it is long enough. " * 6
        for n in range(start, end)
    ]


@pytest.mark.parametrize("member", ["prompt_cache_key", "cache_salt"])
def test_a_key_that_follows_from_a_trim_is_no_cause(
    mock: MockUpstream, second: MockUpstream, tmp_path: Path, member: str
) -> None:
    """The first message is what the conversation's key is made from."""
    with serve(house(mock, second, tmp_path, {member: "conversation"})) as served:
        diagnosis(served, *turns(0, 7))
        found = diagnosis(served, *turns(2, 9))
        assert (found["causes"], found["attribution"]) == (["PC501"], "caller")
        assert found["lost_tokens"]


def test_a_key_that_follows_from_an_edit_is_no_cause(
    mock: MockUpstream, second: MockUpstream, tmp_path: Path
) -> None:
    with serve(house(mock, second, tmp_path, {"prompt_cache_key": "conversation"})) as served:
        first, *others = turns(0, 5)
        diagnosis(served, first, *others)
        found = diagnosis(served, f"{first} And so it is.", *others, *turns(5, 7))
        assert (found["causes"], found["attribution"]) == (["PC502"], "caller")


def test_another_conversations_key_is_the_operators_beside_a_clock(
    mock: MockUpstream, second: MockUpstream, tmp_path: Path
) -> None:
    """Had the clock stood still, the key would have been another one all the same."""
    with serve(house(mock, second, tmp_path, {"prompt_cache_key": "conversation"})) as served:
        for number, question in enumerate(["What about the first order?", "And then what of another?"]):
            system = {**SYSTEM, "content": f"Now: 2026-11-30T12:00:0{number}Z. {SYSTEM['content']}"}
            body = {"model": "m", "messages": [system, {"role": "user", "content": question}]}
            found = served.record(served.post(body))["diagnosis"]
        assert (found["causes"][:2], found["attribution"]) == (["PC607", "PC101"], "expected")


def test_a_trim_under_a_tenants_key_is_a_trim(
    mock: MockUpstream, second: MockUpstream, tmp_path: Path
) -> None:
    with serve(house(mock, second, tmp_path, {"prompt_cache_key": "tenant"})) as served:
        diagnosis(served, *turns(0, 7))
        causes = diagnosis(served, *turns(2, 9))["causes"]
        assert set(causes) == {"PC501", "PC809"}, (
            "the instructions were not read either, and nobody changed them"
        )
