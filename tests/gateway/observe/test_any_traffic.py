"""Whatever is sent, and from however many threads: the observer answers, and its answers add up."""

from __future__ import annotations

import json
import random
import threading
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.usage import Usage
from tests.gateway.observe.scenes import Stage, chat, outcome, rules_text

LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=30)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)
PARTS = st.sampled_from(
    [
        {"type": "text", "text": "a part that is long enough to be told from others"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "text", "text": "now 12:00:01", "cache_control": {"type": "ephemeral"}},
    ]
)
MESSAGES = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
        "content": st.none() | st.text(max_size=60) | st.lists(PARTS, max_size=3) | VALUES,
    }
)
BODIES = st.one_of(
    st.fixed_dictionaries({"model": st.just("m"), "messages": st.lists(MESSAGES, max_size=6)}),
    st.fixed_dictionaries({"model": st.just("m"), "prompt": st.text(max_size=60) | VALUES}),
    st.fixed_dictionaries({"model": st.just("m"), "instructions": st.text(max_size=60), "input": VALUES}),
    st.dictionaries(st.sampled_from(["messages", "prompt", "tools", "system", "input"]), VALUES),
)
USAGES = st.one_of(
    st.just(Usage.unreported()),
    st.builds(
        lambda total, part: Usage(
            total_input=total, cache_read=total * part // 4, uncached=total - total * part // 4, reported=True
        ),
        st.integers(0, 5_000),
        st.integers(0, 4),
    ),
)


@given(
    st.lists(st.tuples(BODIES, USAGES, st.sampled_from([200, 200, 200, 499, 502])), min_size=1, max_size=6)
)
@settings(max_examples=150)
def test_every_request_gets_a_record_that_adds_up(exchanges: list[tuple[dict[str, Any], Usage, int]]) -> None:
    stage = Stage()
    for body, usage, status in exchanges:
        stage.clock.now += 1.0
        observation = stage.observer.open(stage.call(body))
        stage.observer.preview(observation, None)
        record = stage.observer.close(observation, outcome(usage, status=status))

        diagnosis = record.diagnosis
        assert "failed" not in diagnosis.summary
        assert json.dumps(record.to_dict())
        assert record.reported == (record.cached_tokens is not None)
        if diagnosis.lost_tokens is not None:
            assert diagnosis.lost_tokens >= 0
        if diagnosis.lost_tokens:
            assert record.prompt_tokens is not None
            assert diagnosis.lost_tokens <= record.prompt_tokens
            assert sum(diagnosis.losses.values()) in {0, diagnosis.lost_tokens}
        if diagnosis.cause is not None:
            assert diagnosis.causes[0] == diagnosis.cause
        if diagnosis.hit is False:
            assert diagnosis.cause is not None
        if diagnosis.hit:
            assert diagnosis.cause is None
        if diagnosis.attribution == "caller":
            assert diagnosis.cause is not None
            assert diagnosis.compared_with is not None


def test_many_threads_at_once() -> None:
    stage = Stage()
    rules = rules_text()
    heard: list[str] = []
    stage.observer._listeners = (lambda record: heard.append(record.id),)
    failures: list[str] = []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for number in range(60):
            body = chat(f"Time: 12:{seed:02}:{number:02}\n" + rules, f"Question {chance.randrange(9)}")
            observation = stage.observer.open(stage.call(body, id=f"{seed}-{number}", tenant=f"t{seed % 2}"))
            stage.observer.preview(observation, None)
            status = chance.choice((200, 200, 502))
            usage = Usage.unreported() if status == 502 else stage.provider.usage(2_000, 0)
            record = stage.observer.close(observation, outcome(usage, status=status))
            if "failed" in record.diagnosis.summary or record.diagnosis.attribution == "upstream":
                failures.append(record.diagnosis.summary)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(heard) == 240
    assert failures == []
    assert not any(stage.observer.is_open(request_id) for request_id in heard)
