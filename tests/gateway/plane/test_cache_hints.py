"""What the gateway knows of a conversation reaches the engine's eviction policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.cache.policies import LearnedPolicy
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.settings import EngineSettings, Settings
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from promptcache_engine.cache.hints import Use
    from promptcache_engine.cache.node import Node
    from tests.gateway.serving import Served

CALL = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
SYSTEM = {"role": "system", "content": "You keep the shelves of a small library in order."}
QUESTION = {"role": "user", "content": "Where is Middlemarch?"}


@pytest.fixture
def uses(monkeypatch: pytest.MonkeyPatch) -> list[Use]:
    """What the policy was told, in order."""
    told: list[Use] = []
    original = LearnedPolicy.use

    def use(self: LearnedPolicy, path: Sequence[Node], pages: Sequence[int], use: Use) -> None:
        told.append(use)
        original(self, path, pages, use)

    monkeypatch.setattr(LearnedPolicy, "use", use)
    return told


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    config = EngineConfig(model="tiny", kv_cache_tokens=4_096, eviction_policy="learned")
    with Engine.from_loaded(tiny_model(), config) as engine:
        upstream = LocalUpstream(EngineSettings(model="tiny"), engine)
        with serve(Settings(data_dir=tmp_path), upstream=upstream) as running:
            yield running


@pytest.mark.parametrize(
    ("messages", "turn", "after_tool_call"),
    [
        ([SYSTEM, QUESTION], 1, False),
        ([SYSTEM, QUESTION, {"role": "assistant", "content": "On shelf 4."}, QUESTION], 2, False),
        (
            [
                SYSTEM,
                QUESTION,
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "call_1", "content": "shelf 4"},
            ],
            2,
            True,
        ),
    ],
    ids=["first turn", "second turn", "after a tool call"],
)
def test_template_turn_and_tool_call_reach_the_policy(
    served: Served, uses: list[Use], messages: list[Any], turn: int, after_tool_call: bool
) -> None:
    answer = httpx.post(
        f"{served.url}/v1/chat/completions",
        json={"model": "tiny", "messages": messages, "max_tokens": 2},
        headers={"x-promptcache-template": "librarian"},
        timeout=30,
    )
    assert answer.status_code == 200, answer.text
    (use,) = uses
    assert (use.turn, use.hints.after_tool_call, use.hints.template) == (turn, after_tool_call, "librarian")


def test_a_bare_prompt_leaves_the_turn_to_the_cache(served: Served, uses: list[Use]) -> None:
    body = {"model": "tiny", "prompt": "Once upon a time", "max_tokens": 2}
    answer = httpx.post(f"{served.url}/v1/completions", json=body, timeout=30)
    assert answer.status_code == 200, answer.text
    (use,) = uses
    assert (use.hints.turn, use.turn, use.hints.template) == (None, 1, "")
