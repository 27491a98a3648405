"""``count_tokens`` goes along a model's route as the call itself would."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.settings import ModelSettings, Settings, UpstreamSettings
from promptcache_gateway.upstream_settings import Target
from tests.gateway.anthropic_wire import COUNT_BYTES, answer_messages
from tests.gateway.mock_upstream import Wire, answer_chat, mock_upstream
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx


class House:
    """Two upstreams that can count and one that cannot, behind a gateway."""

    def __init__(self, tmp_path: Path, stack: ExitStack) -> None:
        self.first = stack.enter_context(mock_upstream(answer_messages))
        self.second = stack.enter_context(mock_upstream(answer_messages))
        chats = stack.enter_context(mock_upstream(answer_chat))
        upstreams = (
            UpstreamSettings(name="first", url=self.first.url, kind="anthropic", models=("a",), retries=0),
            UpstreamSettings(name="second", url=self.second.url, kind="anthropic", models=("b",)),
            UpstreamSettings(name="chats", url=chats.url, models=("c",)),
        )
        models = (
            ModelSettings("both", (Target("first", "a"), Target("second", "b"))),
            ModelSettings("mixed", (Target("first", "a"), Target("chats", "c"))),
            ModelSettings("blind", (Target("chats", "c"), Target("first", "a"))),
        )
        settings = Settings(upstreams=upstreams, models=models, data_dir=tmp_path)
        self.served: Served = stack.enter_context(serve(settings))

    def count(self, model: str) -> httpx.Response:
        ask = {"model": model, "messages": [{"role": "user", "content": "Hi"}]}
        return self.served.post(ask, path="/v1/messages/count_tokens", x_api_key="sk-callers")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with ExitStack() as stack:
        yield House(tmp_path, stack)


def answering(status: str, *headers: str):
    body = b'{"type":"error","error":{"type":"t","message":"no"}}'

    async def script(wire: Wire) -> None:
        await wire.respond(body, status=status, headers=headers)

    return script


async def hangs_up(wire: Wire) -> None:
    wire.writer.close()


@pytest.mark.parametrize(
    "script", [hangs_up, answering("500 X"), answering("529 X"), answering("429 X", "retry-after: 30")]
)
def test_the_next_is_asked_where_one_fails(house: House, script) -> None:
    house.first.script = script
    answer = house.count("both")
    assert (answer.status_code, answer.content) == (200, COUNT_BYTES)
    assert json.loads(house.second.last.body)["model"] == "b"
    assert house.first.last.headers["x-api-key"] == "sk-callers"
    assert "x-api-key" not in house.second.last.headers, "it is not its own"


def test_what_is_the_caller_s_fault_goes_no_further(house: House) -> None:
    house.first.script = answering("400 X")
    assert house.count("both").status_code == 400
    assert house.second.seen == []


def test_nobody_answers(house: House) -> None:
    house.first.script = house.second.script = answering("503 X")
    assert house.count("both").status_code == 503
    assert len(house.second.seen) == 1


def test_one_that_cannot_count_is_not_passed_over_and_hides_no_failure(house: House) -> None:
    assert house.count("blind").status_code == 501
    assert house.first.seen == []
    house.first.script = answering("429 X", "retry-after: 30")
    answer = house.count("mixed")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "30")


def test_one_that_is_left_alone_is_not_asked(house: House) -> None:
    house.first.script = answering("500 X")
    ask = {"model": "a", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    for _ in range(5):
        assert house.served.post(ask, path="/v1/messages").status_code == 500
    before = len(house.first.seen)
    assert house.count("both").status_code == 200
    assert len(house.first.seen) == before
    assert house.count("a").status_code == 500, "where there is no other it is asked all the same"
