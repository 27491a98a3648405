"""What observing costs: ``python benchmarks/observe.py``.

For prompts of 10 KB and 200 KB and for the ways in which a request can meet its history, where all was read
but the question (hit) or nothing (miss): the median CPU time of `Observer.open` (before the request is
forwarded) and of `Observer.conclude` (before its answer is sent), and their sum beside what it may be; then
of what nobody waits for: the look and the comparison (while the upstream works, with the event loop's own
turns) and `Observer.finish` (once the answer has been sent). ``--log 10`` measures instead how much CPU time
``promptcache diagnose`` takes for a MB of a made-up log of so many.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import itertools
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from promptcache.usage import Usage
from promptcache_gateway.diagnose import main as diagnose
from promptcache_gateway.exchange import Call, Outcome
from promptcache_gateway.observe import Observer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WORDS = [
    *("the", "order", "was", "shipped", "from", "our", "depot", "and", "will", "arrive"),
    *("within", "three", "working", "days", "unless", "customs", "ask"),
]
_IDS = itertools.count()
_BOUNDS_MS = {10_000: 0.1, 200_000: 1.0}
"""What a prompt of so many bytes may cost on the request's path."""


def text(size: int, seed: int) -> str:
    """Lines of ordinary words, ``size`` characters, without volatile values."""
    lines: list[str] = []
    length = 0
    while length < size:
        start = (seed * 7 + len(lines) * 3) % len(_WORDS)
        line = " ".join(_WORDS[start:] + _WORDS[:start]) + f", case {seed} rule {len(lines)}."
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)[:size]


def body(system: str, *messages: str) -> dict[str, object]:
    """A chat request."""
    roles = itertools.cycle(("user", "assistant"))
    turns = [{"role": role, "content": content} for role, content in zip(roles, messages, strict=False)]
    return {"model": "m", "messages": [{"role": "system", "content": system}, *turns]}


def repeated(size: int) -> Iterator[dict[str, object]]:
    """One system prompt, another question each time."""
    system = text(size, 1)
    return (body(system, f"Question number {n}?") for n in itertools.count())


def clocked(size: int) -> Iterator[dict[str, object]]:
    """The time at the start of the system prompt."""
    system = text(size, 2)
    stamps = (f"2026-11-29T12:{n // 60 % 60:02}:{n % 60:02}Z" for n in itertools.count())
    return (body(f"Now: {stamp}\n{system}", "What is the time?") for stamp in stamps)


def one_line(size: int) -> Iterator[dict[str, object]]:
    """The same, with no line break in the prompt."""
    system = text(size, 3).replace("\n", " ")
    stamps = (f"2026-11-29T12:{n // 60 % 60:02}:{n % 60:02}Z" for n in itertools.count())
    return (body(f"Now: {stamp} {system}", "What is the time?") for stamp in stamps)


def conversation(size: int) -> Iterator[dict[str, object]]:
    """A conversation of 100 messages that grows by two."""
    piece = size // 102
    system = text(piece, 4)
    messages = [text(piece, n) for n in range(101)]
    for n in itertools.count():
        yield body(system, *messages)
        messages += [text(60, 1000 + n), text(60, 2000 + n)]


def cold(size: int) -> Iterator[dict[str, object]]:
    """Another prompt each time."""
    return (body(text(size, 10_000 + n), "Hello?") for n in itertools.count())


async def measure(
    bodies: Iterator[dict[str, object]], rounds: int, size: int, *, hit: bool
) -> tuple[float, float, float, float]:
    """Median milliseconds of `open` and `conclude`, on the path, of the look, and of `finish`."""
    outcome = Outcome(200, _usage(size, hit=hit), None, 10.0, None, None, None)
    observer = Observer()
    opens, answers, looks, ends = [], [], [], []
    for payload in itertools.islice(bodies, rounds + 2):
        call = _call(payload)
        begun = time.thread_time()
        observation = observer.open(call)
        opened = time.thread_time()
        for _ in range(1_000):
            await asyncio.sleep(0.002)
            if observation.seen:
                break
        before = time.thread_time()
        ended = observer.conclude(observation, outcome)
        told = time.thread_time()
        observer.finish(ended)
        done = time.thread_time()
        opens.append(opened - begun)
        looks.append(before - opened)
        answers.append(told - before)
        ends.append(done - told)
        del observation, ended  # or what they hold would be let go in the next one's time
    return tuple(statistics.median(times[2:]) * 1000 for times in (opens, answers, looks, ends))  # type: ignore[return-value]


def _usage(size: int, *, hit: bool) -> Usage:
    """What an upstream reports of a prompt of so many bytes."""
    tokens = size // 4
    read = {"cached_tokens": tokens - 40 if hit else 0}
    return Usage.from_response(
        {"prompt_tokens": tokens, "completion_tokens": 3, "prompt_tokens_details": read}
    )


def _call(payload: dict[str, object]) -> Call:
    return Call(
        id=f"pcr_{next(_IDS):024x}",
        received_at=time.time(),
        dialect="openai.chat",
        path="/v1/chat/completions",
        body=b"",
        payload=payload,
        model="m",
        stream=False,
        tenant="default",
        template=None,
        upstream="u",
        use_cache=True,
        want_body=False,
    )


def counted() -> Iterator[dict[str, object]]:
    """Lines of a log that keeps counts and no prompt: two hundred conversations in turn."""
    for n in itertools.count():
        prompt = 1_000 + n // 200 % 300 * 150 + n % 200
        read = (prompt - 150) // 128 * 128
        usage = {"prompt_tokens": prompt, "completion_tokens": 120, "total_tokens": prompt + 120}
        details = {"cached_tokens": read, "audio_tokens": 0}
        at = 1_795_953_600 + n * 0.25
        yield {"time": at, "model": "gpt-4o", "usage": {**usage, "prompt_tokens_details": details}}


def kept() -> Iterator[dict[str, object]]:
    """Lines of a log that keeps the requests: the time at the start of a prompt of 4 KB."""
    for n, (request, counts) in enumerate(zip(clocked(4_000), counted(), strict=False)):
        yield {"time": 1_795_953_600 + n, "request": {**request, "model": "gpt-4o"}, "usage": counts["usage"]}


def measure_log(lines: Iterator[dict[str, object]], megabytes: float) -> float:
    """Milliseconds of CPU time for a MB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.jsonl")
        size = 0
        with path.open("w", encoding="utf-8") as file:
            while size < megabytes * 1e6:
                size += file.write(json.dumps(next(lines)) + "\n")
        begun = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            diagnose([str(path), "--quiet", "--output-format", "json"])
        return (time.process_time() - begun) * 1000 / (size / 1e6)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", metavar="MB", type=float, help="measure logs of so many MB instead")
    megabytes = parser.parse_args().log
    if megabytes is not None:
        for made in (counted, kept):
            each = sorted(measure_log(made(), megabytes) for _ in range(3))
            print(f"log, {made.__name__:<10}{each[1]:>8.0f} ms of CPU a MB ({each[0]:.0f} to {each[2]:.0f})")
        return
    cases: tuple[Callable[[int], Iterator[dict[str, object]]], ...] = (
        repeated,
        clocked,
        one_line,
        conversation,
        cold,
    )
    print(f"{'':<30}{'on the path, ms':^32}{'off it, ms':^16}")
    heads = f"{'open':>8}{'answer':>8}{'sum':>8}{'bound':>8}{'look':>8}{'end':>8}"
    print(f"{'case':<14}{'bytes':>9}{'read':>7}{heads}")
    for case in cases:
        for size, bound in _BOUNDS_MS.items():
            for hit in (True, False):
                opened, told, looked, ended = asyncio.run(measure(case(size), 40, size, hit=hit))
                path = f"{opened:>8.3f}{told:>8.3f}{opened + told:>8.3f}{bound:>8.1f}"
                name = f"{case.__name__:<14}{size:>9}{'hit' if hit else 'miss':>7}"
                print(f"{name}{path}{looked:>8.3f}{ended:>8.3f}")


if __name__ == "__main__":
    main()
