"""What tests do with a running engine: submit, collect the events, and look for leaks."""

import threading
from collections.abc import Sequence
from typing import Any

from promptcache_engine import Engine, Failed, Finished, GenerationEvent, SamplingParams, TokenDelta

PROMPT = list(b"The quick brown fox jumps over the lazy dog, then rests.")
GREEDY = SamplingParams(temperature=0, max_tokens=12, ignore_eos=True)


class Recorder:
    """Collects one request's events and waits for its end."""

    def __init__(self) -> None:
        self.events: list[GenerationEvent] = []
        self.ended = threading.Event()

    def __call__(self, event: GenerationEvent) -> None:
        self.events.append(event)
        if isinstance(event, Finished | Failed):
            self.ended.set()

    def wait(self) -> GenerationEvent:
        assert self.ended.wait(30)
        return self.events[-1]

    @property
    def token_ids(self) -> list[int]:
        return [token for event in self.events if isinstance(event, TokenDelta) for token in event.token_ids]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TokenDelta))


def submit(
    engine: Engine, tokens: Sequence[int], params: SamplingParams = GREEDY, **options: Any
) -> Recorder:
    recorder = Recorder()
    engine.submit(tokens, params, on_event=recorder, **options)
    return recorder


def assert_nothing_held(engine: Engine) -> None:
    stats = engine.stats()
    assert (stats.running, stats.waiting, stats.pages_held) == (0, 0, 0)
    assert stats.pages_free + stats.pages_cached == stats.pages_total
