"""A day of mixed traffic on the tiny model, compressed, and whether anything grows.

    python benchmarks/soak.py [--hours 24] [--per-hour 360] [--seed 0]

Conversations of several turns over shared system prompts, cold prompts, several choices, opted-out and
isolated requests, priorities, deadlines, callers who hang up, bad requests, requests the model cannot
compute, dying workers and emptied caches, as the random generator has it. After each hour, with the engine
idle: memory, pages, threads, open files and hit rate. Exits with 1 if one of them grows after the first
quarter, if pages are lost, or if an answer differs from that of an engine without a cache.
"""

import argparse
import gc
import os
import random
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from promptcache_engine import (
    Admitted,
    Engine,
    EngineConfig,
    EngineError,
    Failed,
    Finished,
    GenerationEvent,
    SamplingParams,
    TokenDelta,
)
from promptcache_engine.models.testing import tiny_model

POISON = 255
SYSTEMS = 12
AT_ONCE = 8


@dataclass(frozen=True)
class Reading:
    """The process and the engine at the end of an hour."""

    hour: int
    memory_mib: float
    threads: int
    files: int
    python_objects: int
    pages_lost: int
    hit_rate: float
    requests: int


class Fragile:
    """The tiny model, which cannot compute one certain token."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def forward(self, batch: Any, pool: Any) -> torch.Tensor:
        if POISON in batch.token_ids.tolist():
            raise RuntimeError("poisoned")
        logits: torch.Tensor = self._model.forward(batch, pool)
        return logits


class Caller:
    """One request: notes its tokens and its end, and may hang up on the way."""

    def __init__(self, choices: int, hang_up_after: int | None) -> None:
        self.tokens: list[list[int]] = [[] for _ in range(choices)]
        self.ends: list[GenerationEvent] = []
        self.cached = 0
        self.over = threading.Event()
        self.cancel: list[Any] = []
        self._hang_up_after = hang_up_after

    def __call__(self, choice: int, event: GenerationEvent) -> None:
        match event:
            case Admitted() if choice == 0:
                self.cached = event.cached_tokens
            case TokenDelta():
                self.tokens[choice].extend(event.token_ids)
            case Finished() | Failed():
                self.ends.append(event)
                if len(self.ends) == len(self.tokens):
                    self.over.set()
        if self._hang_up_after is not None and len(self.tokens[0]) >= self._hang_up_after:
            for generation in self.cancel:
                generation.cancel()


class Soak:
    """The traffic, and the engine under it."""

    def __init__(self, seed: int) -> None:
        torch.set_num_threads(1)
        loaded = tiny_model(seed=0, context_length=1024)
        fragile = replace(loaded, model=Fragile(loaded.model))  # type: ignore[arg-type]
        self.random = random.Random(seed)
        config = EngineConfig(
            model="tiny", kv_cache_tokens=6_000, max_running=AT_ONCE, max_batch_tokens=256, max_restarts=10**6
        )
        self.engine = Engine.from_loaded(fragile, config).start()
        self.plain = Engine.from_loaded(loaded, replace(config, enable_prefix_caching=False)).start()
        self.systems = [self.text(self.random.randrange(100, 400)) for _ in range(SYSTEMS)]
        self.talks: list[list[int]] = []
        self.counts: Counter[str] = Counter()
        self.prompt_tokens = self.cached_tokens = 0

    def text(self, length: int) -> list[int]:
        return [self.random.randrange(32, 127) for _ in range(length)]

    def prompt(self) -> list[int]:
        """A further turn of a conversation, a new one, or something nobody sent before."""
        kind = self.random.random()
        if kind < 0.45 and self.talks:
            talk = self.talks.pop(self.random.randrange(len(self.talks)))
            return talk + self.text(self.random.randrange(5, 60))
        if kind < 0.85:
            rank = min(int(self.random.expovariate(0.4)), SYSTEMS - 1)
            return self.systems[rank] + self.text(self.random.randrange(5, 60))
        return self.text(self.random.randrange(1, 600))

    def burst(self) -> None:
        """Some requests at once; waits for all of them."""
        callers = []
        for _ in range(self.random.randrange(1, AT_ONCE + 1)):
            started = self.submit()
            if started is not None:
                callers.append(started)
        for prompt, caller, checked in callers:
            if not caller.over.wait(120):
                raise SystemExit("a request never ended")
            self.note(prompt, caller, checked=checked)
        if self.random.random() < 0.002:
            self.counts["caches emptied"] += self.engine.reset_cache()
        if self.random.random() < 0.002:
            self.kill_the_worker()

    def submit(self) -> tuple[list[int], Caller, bool] | None:
        prompt = self.prompt()
        chance = self.random.random
        poisoned = chance() < 0.02
        if poisoned:
            prompt = [*prompt, POISON]
        choices = self.random.choice((2, 3, 4)) if chance() < 0.1 else 1
        hang_up = self.random.randrange(8) if chance() < 0.1 else None
        checked = chance() < 0.02
        drawn = {} if checked else {"temperature": 0.8, "seed": self.random.choice((None, 7))}
        params = SamplingParams(
            **{"temperature": 0, **drawn},
            max_tokens=self.random.randrange(0, 16),
            stop=("zz",) if chance() < 0.2 else (),
        )
        caller = Caller(choices, hang_up)
        try:
            caller.cancel.extend(
                self.engine.submit_choices(
                    prompt if chance() > 0.01 else [10**6],
                    params,
                    choices=choices,
                    namespace=self.random.choice(("", "", "", "tenant-a", f"t{self.random.random()}")),
                    use_cache=chance() > 0.05,
                    priority=self.random.choice((0, 0, 0, 5)),
                    timeout=0.02 if chance() < 0.05 and not checked else None,
                    on_event=caller,
                )
            )
        except EngineError as error:
            self.counts[f"refused: {type(error).__name__}"] += 1
            return None
        return prompt, caller, checked and not poisoned and hang_up is None

    def note(self, prompt: list[int], caller: Caller, *, checked: bool) -> None:
        for end in caller.ends:
            kind = end.finish_reason if isinstance(end, Finished) else type(end.error).__name__
            self.counts[kind] += 1
        if not all(isinstance(end, Finished) for end in caller.ends):
            return
        self.prompt_tokens += len(prompt)
        self.cached_tokens += caller.cached
        if len(self.talks) < 60 and len(prompt) < 800:
            self.talks.append(prompt + caller.tokens[0])
        if checked and caller.tokens[0]:
            params = SamplingParams(temperature=0, max_tokens=len(caller.tokens[0]))
            expected = list(self.plain.generate(prompt, params).token_ids)
            self.counts["answers checked"] += 1
            if any(tokens[: len(expected)] != expected[: len(tokens)] for tokens in caller.tokens):
                self.counts["ANSWERS THAT DIFFER"] += 1

    def kill_the_worker(self) -> None:
        """What no request can cause: the scheduler itself fails."""
        restarts = self.engine.stats().restarts

        def broken() -> None:
            raise KeyError("killed by the soak")

        self.engine._worker._core._scheduler.plan = broken  # type: ignore[method-assign]  # noqa: SLF001
        caller = Caller(1, None)
        self.engine.submit_choices([1], choices=1, on_event=caller)
        caller.over.wait(60)
        while self.engine.stats().restarts == restarts or not self.engine.healthy:
            time.sleep(0.001)
        self.counts["workers killed"] += 1

    def read(self, hour: int, requests: int) -> Reading:
        gc.collect()
        stats = self.engine.stats()
        rate = self.cached_tokens / max(1, self.prompt_tokens)
        self.prompt_tokens = self.cached_tokens = 0
        return Reading(
            hour=hour,
            memory_mib=resident_mib(),
            threads=threading.active_count(),
            files=sum(1 for _ in Path("/proc/self/fd").iterdir()),
            python_objects=len(gc.get_objects()),
            pages_lost=stats.pages_total - stats.pages_free - stats.pages_cached,
            hit_rate=rate,
            requests=requests,
        )


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def growth(readings: list[Reading]) -> list[str]:
    """What grew between the second quarter and the last, beyond what noise explains."""
    quarter = max(1, len(readings) // 4)
    early, late = readings[quarter : 2 * quarter] or readings[:1], readings[-quarter:]
    found = (
        [f"{sum(r.pages_lost for r in readings)} pages lost"] if any(r.pages_lost for r in readings) else []
    )
    for name, factor, slack in (
        ("memory_mib", 1.03, 4),
        ("python_objects", 1.05, 2000),
        ("threads", 1, 0),
        ("files", 1, 0),
    ):
        before = max(getattr(reading, name) for reading in early)
        after = min(getattr(reading, name) for reading in late)
        if after > before * factor + slack:
            found.append(f"{name} grew from {before:.0f} to {after:.0f}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--per-hour", type=int, default=360, help="requests")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    soak = Soak(options.seed)
    readings: list[Reading] = []
    start = time.perf_counter()
    print(" hour  requests   MiB  threads  files  objects  pages lost  hit rate")
    for hour in range(1, options.hours + 1):
        before = soak.counts.total()
        while soak.counts.total() - before < options.per_hour:
            soak.burst()
        readings.append(soak.read(hour, soak.counts.total() - before))
        r = readings[-1]
        print(
            f"{r.hour:5} {r.requests:9} {r.memory_mib:5.0f} {r.threads:8} {r.files:6} {r.python_objects:8} "
            f"{r.pages_lost:11} {r.hit_rate:9.1%}",
            flush=True,
        )
    for name, count in sorted(soak.counts.items()):
        print(f"{name:32} {count}")
    soak.engine.close()
    soak.plain.close()
    faults = growth(readings)
    if soak.counts["ANSWERS THAT DIFFER"]:
        faults.append("answers differ")
    print(f"{time.perf_counter() - start:.0f} s; " + ("; ".join(faults) or "nothing grows, nothing is lost"))
    return 1 if faults else 0


if __name__ == "__main__":
    import logging

    logging.disable(logging.CRITICAL)  # the dead workers' tracebacks
    sys.exit(main())
