"""Whatever a log holds: it is read, or said not to be understood, and the reports can be written."""

from __future__ import annotations

import json
import random
from typing import Any

from promptcache.cli.style import Style
from promptcache.errors import MalformedRequestError
from promptcache_gateway.diagnose.exchange import NotUnderstoodError
from promptcache_gateway.diagnose.formats import LogReader
from promptcache_gateway.diagnose.replay import Replay
from promptcache_gateway.diagnose.report_html import render
from promptcache_gateway.diagnose.report_text import describe
from promptcache_gateway.diagnose.summary import Summary
from tests.gateway.diagnose.test_formats import OPENAI, TALK, claude, codex, codex_count

USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}
ENTRIES: list[Any] = [
    {"request": {"model": "gpt-4o", "messages": TALK}, "response": {"usage": OPENAI}, "time": 1.79e9},
    {"model": "m", "messages": TALK, "usage": OPENAI, "timestamp": "2026-11-29T12:00:00Z"},
    {
        "call_type": "a",
        "model": "gpt-4o",
        "messages": TALK,
        "response": {"usage": OPENAI},
        "startTime": 1.7e9,
    },
    {
        "traceId": "t",
        "type": "GENERATION",
        "input": TALK,
        "usageDetails": {"input": 4, "input_cached_tokens": 3},
    },
    claude("user", {"role": "user", "content": "Hello."}, 1),
    claude(
        "assistant", {"model": "claude-opus-4-6", "id": "m", "content": [], "usage": {"input_tokens": 3}}, 2
    ),
    codex("session_meta", {"id": "s", "instructions": "x"}),
    codex("response_item", USER),
    codex_count(50, 0),
    codex("compacted", {"message": "m", "replacement_history": [USER]}),
]
JUNK: list[Any] = [
    None,
    True,
    -1,
    float("inf"),
    float("nan"),
    10**30,
    "",
    "x",
    [],
    {},
    [None],
    {"a": 1},
    [[]],
]


def spoiled(chance: random.Random, value: Any) -> Any:
    """A value with parts of it replaced or left out."""
    if chance.random() < 0.12:
        return chance.choice(JUNK)
    if isinstance(value, dict):
        return {key: spoiled(chance, inner) for key, inner in value.items() if chance.random() > 0.03}
    return [spoiled(chance, inner) for inner in value] if isinstance(value, list) else value


def test_no_entry_ends_the_reading() -> None:
    summary, replay, refused = Summary("log"), Replay(), 0
    for seed in range(250):
        chance, reader = random.Random(seed), LogReader()
        for number in range(8):
            try:
                for exchange in reader.read(spoiled(chance, chance.choice(ENTRIES))):
                    summary.add(replay.judge(number, exchange))
            except (NotUnderstoodError, MalformedRequestError):
                refused += 1

    assert summary.total.requests > 100
    assert refused > 100
    json.dumps(summary.to_dict())
    assert "<main>" in render(summary)
    assert describe(summary, Style(enabled=False))
