"""What observing costs: ``python benchmarks/observe.py``.

For prompts of 10 KB and 200 KB and for the ways in which a request can meet its history: the CPU time that a
request's diagnosis takes on its path, beside what it may take. That is `Flight` opened, and asked what its
caller asks about the cache, before the request is forwarded (open), its `preview`, where the answer is a
stream (head), and its `end`, before the answer or its last byte is sent (answer); and of all that together
the median (sum) and the 95th percentile (p95). Of what nobody waits for: the look and the comparison, while
the upstream works, with the event loop's own turns (look), and `Flight.finish`, once the answer is out (end).
A request reads all but its question (hit), or nothing (miss); or nothing after three that read all (first).
Between the steps of a request the loop sleeps, so that the processor's caches are other programs' meanwhile.
``--only WORD`` measures the rows with that word in their name. ``--log 10`` measures instead how much CPU
time ``promptcache diagnose`` takes for a MB of a made-up log of so many.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import itertools
import json
import math
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import observe_traffic as traffic

from promptcache.usage import Usage
from promptcache_gateway.cli import run_loop
from promptcache_gateway.diagnose import main as diagnose
from promptcache_gateway.exchange import Call, EngineFacts
from promptcache_gateway.mutations import Mutator
from promptcache_gateway.observe import Observer
from promptcache_gateway.plane.flight import Flight
from promptcache_gateway.upstreams.base import WholeReply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptcache_gateway.observe.observation import Observation

_IDS = itertools.count()
_BOUNDS_MS = {10_000: 0.1, 200_000: 1.0}
"""What a prompt of so many bytes may cost on the request's path."""
_ROUNDS = 40
_HITS = 3  # before a first miss
_QUESTION_TOKENS = 40
_MOMENT_S = 0.002
_UNCHANGED = Mutator()
_LINE: Any = SimpleNamespace(
    upstream=SimpleNamespace(dialects=()), settings=SimpleNamespace(diagnoses=False, diagnostics="off")
)
"""An upstream that answers no question about its cache, so that the gateway does."""


@dataclass(frozen=True)
class Case:
    """One way to meet history.

    Attributes:
        name: as it is shown.
        bodies: makes the requests of one caller, of a size and with a seed.
        reads: what is read: ``hit``, ``miss`` or ``first``.
        kind: of the upstream.
        dialect: which API is spoken.
        metered: what is used is estimated: the upstream counts nothing.
        asked: the provider's own diagnostics are asked for.
        streamed: the answer is a stream, whose head is told before it comes; the engine's always is.
        callers: so many at the same time, each with requests of its own.
        gap_s: seconds between the requests of a caller, by their own clock.
        kept: the share of a prompt that its cache keeps; None: all of it.
    """

    name: str
    bodies: Callable[..., Iterator[traffic.Body]]
    reads: tuple[str, ...] = ("hit", "miss")
    kind: str = "unknown"
    dialect: str = "openai.chat"
    metered: bool = False
    asked: bool = False
    streamed: bool = False
    callers: int = 1
    gap_s: float = 5.0
    kept: float | None = None


_EACH = ("hit", "miss", "first")
_MESSAGES: dict[str, Any] = {"kind": "anthropic", "dialect": "anthropic.messages"}
CASES = (
    Case("repeated", traffic.repeated, _EACH),
    Case("clocked", traffic.clocked),
    Case("one line", traffic.one_line),
    Case("long question", traffic.lengthy, _EACH),
    Case("conversation", traffic.conversation, _EACH),
    Case("cold", traffic.cold),
    Case("300 messages", traffic.many, _EACH),
    Case("trimmed", traffic.trimmed),
    Case("edited", traffic.edited),
    Case("tools shuffled", traffic.shuffled),
    Case("several causes", traffic.several),
    Case("expired", traffic.conversation, ("miss",), kind="openai", gap_s=7_200.0),
    Case("picture", traffic.pictured, _EACH, kind="openai"),
    Case("stored response", traffic.referring, _EACH, kind="openai", dialect="openai.responses"),
    Case("marks", traffic.marked, _EACH, **_MESSAGES),
    Case("mark unmoved", traffic.unmoved, ("hit", "miss"), kept=0.25, **_MESSAGES),
    Case("marks, asked", traffic.marked, _EACH, asked=True, **_MESSAGES),
    Case("response, asked", traffic.referring, _EACH, kind="openai", dialect="openai.responses", asked=True),
    Case("streamed", traffic.conversation, _EACH, streamed=True),
    Case("streamed, clock", traffic.clocked, ("miss",), streamed=True),
    Case("streamed, marks", traffic.marked, ("hit", "miss"), streamed=True, **_MESSAGES),
    Case("metered", traffic.conversation, ("unsaid",), metered=True),
    Case("engine", traffic.repeated, _EACH, kind="engine"),
    Case("engine, clocked", traffic.clocked, ("miss",), kind="engine"),
    Case("engine, talk", traffic.conversation, _EACH, kind="engine"),
    Case("engine, 300", traffic.many, _EACH, kind="engine"),
    Case("16 talk", traffic.conversation, _EACH, callers=16),
    Case("16 clocked", traffic.clocked, ("miss",), callers=16),
    Case("16 marks", traffic.marked, _EACH, callers=16, **_MESSAGES),
    Case("16 engine", traffic.conversation, _EACH, kind="engine", callers=16),
)


class Watched(Observer):
    """An observer that tells what it opened last."""

    last: Observation

    def open(self, call: Call) -> Observation:
        """As the observer's own."""
        self.last = super().open(call)
        return self.last


@dataclass
class Times:
    """Seconds of each step, a value for each request."""

    opened: list[float] = field(default_factory=list)
    head: list[float] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    looked: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)

    def path(self) -> list[float]:
        """On the path, all steps together."""
        return [sum(steps) for steps in zip(self.opened, self.head, self.told, strict=True)]


async def measure(case: Case, size: int, read: str, times: Times) -> None:
    """Take the times of one row."""
    observer = Watched([_upstream(case.kind)])
    rounds = -(-_ROUNDS // case.callers)
    callers = [
        _call_repeatedly(case, size, read, observer=observer, times=times, seed=n, rounds=rounds)
        for n in range(case.callers)
    ]
    await asyncio.gather(*callers)


async def _call_repeatedly(
    case: Case, size: int, read: str, *, observer: Watched, times: Times, seed: int, rounds: int
) -> None:
    """One caller's requests, one after the other."""
    bodies = case.bodies(size) if not seed else case.bodies(size, 100_000 + seed * 1_000)
    every = _HITS + 1 if read == "first" else 1
    warm, before, known = max(every, 2), None, 0
    for number, payload in enumerate(itertools.islice(bodies, warm + rounds * every)):
        hit = read == "hit" or (read == "first" and number % every != every - 1)
        asked = _asking(case, payload, before) if case.asked and before is not None else payload
        call = _call(case, asked, size, time.time() + number * case.gap_s)
        tokens = len(json.dumps(payload)) // 4
        kept = int(size / 4 * case.kept) if case.kept is not None else known
        cached = min(kept, tokens - _QUESTION_TOKENS) if hit else 0
        reply, known = _reply(case, tokens, cached), tokens
        steps = await _fly(case, call, observer, reply)
        before = reply.response_id
        if number >= warm and (number + 1) % every == 0:
            for kept, took in zip(vars(times).values(), steps, strict=True):
                kept.append(took)


async def _fly(case: Case, call: Call, observer: Watched, reply: WholeReply) -> list[float]:
    """Seconds that one request takes in each step."""
    begun = time.thread_time()
    flight = Flight(call, observer, _UNCHANGED, metered=case.metered)
    question = flight.ask(_LINE) if case.asked else None
    opened = time.thread_time()
    observation = observer.last
    for _ in range(1_000):
        await asyncio.sleep(_MOMENT_S)
        if observation.seen:
            break
    flight.reply = reply
    looked = previewed = time.thread_time()
    if case.streamed or reply.engine is not None:
        flight.preview()
        previewed = time.thread_time()
        await asyncio.sleep(_MOMENT_S)
    telling = time.thread_time()
    if question is not None:
        flight.expect(question, _LINE)
        observer.answered.answer(observation, question, reply.usage)
    flight.end(200)
    told = time.thread_time()
    await asyncio.sleep(0)  # its answer is being sent
    ending = time.thread_time()
    flight.finish()
    done = time.thread_time()
    # The thread's time is everyone's: what others did while this one slept is no look of its own.
    look = looked - opened if case.callers == 1 else math.nan
    return [opened - begun, previewed - looked, told - telling, look, done - ending]


def _reply(case: Case, tokens: int, cached: int) -> WholeReply:
    """What an upstream answers to a prompt of so many tokens, of which it has read some from its cache."""
    left = tokens - _QUESTION_TOKENS - cached
    name = f"resp_{next(_IDS)}"
    body = json.dumps({"id": name, "choices": [{"message": {"content": traffic.text(2_000, 9)}}]}).encode()
    engine = None
    if case.kind == "engine":
        evicted = 0 if cached else left
        engine = EngineFacts(tokens, cached, cached, evicted, 0, 0, 0, cached + evicted)
    usage: dict[str, object] = {"prompt_tokens": tokens, "completion_tokens": 3}
    usage["prompt_tokens_details"] = {"cached_tokens": cached}
    if case.kind == "anthropic":
        usage = {"input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": cached}
        usage["cache_creation_input_tokens"] = tokens - 10 - cached
    said = Usage.unreported() if case.metered else Usage.from_response(usage)
    return WholeReply(200, [], body, said, engine, None, None, name)


def _asking(case: Case, payload: traffic.Body, before: str) -> traffic.Body:
    """The request with a question about that of an earlier answer."""
    if case.dialect == "anthropic.messages":
        return {**payload, "diagnostics": {"previous_message_id": before}}
    return {**payload, "prompt_cache_options": {"comparison_response_id": before}}


def _upstream(kind: str) -> Any:
    return SimpleNamespace(name="u", kind=kind, granularity=1 if kind == "engine" else None)


def _call(case: Case, payload: traffic.Body, size: int, received_at: float) -> Call:
    return Call(
        id=f"pcr_{next(_IDS):024x}",
        received_at=received_at,
        dialect=case.dialect,  # type: ignore[arg-type]
        path="/v1/chat/completions",
        body=b" " * size,
        payload=payload,
        model=str(payload["model"]),
        stream=False,
        tenant="default",
        template=None,
        upstream="u",
        use_cache=True,
        want_body=False,
    )


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


def show_row(case: Case, size: int, read: str) -> bool:
    """Measure and print one row; whether it is above its bound."""
    times, bound = Times(), _BOUNDS_MS[size]
    run_loop(measure(case, size, read, times))  # in the server's loop, with its settings of the collector
    path = sorted(times.path())
    late = path[min(int(len(path) * 0.95), len(path) - 1)] * 1000
    steps = [statistics.median(took) * 1000 for took in (times.opened, times.head, times.told, path)]
    off = [statistics.median(took) * 1000 for took in (times.looked, times.ended)]
    above = max(steps[-1], late) > bound
    told = "".join(f"{step:>8.3f}" for step in (*steps, late))
    mark = " above" if above else ""
    print(
        f"{case.name:<17}{size:>8}{read:>7}{told}{bound:>7.1f}{off[0]:>9.3f}{off[1]:>8.3f}{mark}", flush=True
    )
    return above


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", metavar="MB", type=float, help="measure logs of so many MB instead")
    parser.add_argument("--only", metavar="WORD", default="", help="rows whose name has this word in it")
    asked = parser.parse_args()
    if asked.log is not None:
        for made in (traffic.counted, traffic.kept):
            each = sorted(measure_log(made(), asked.log) for _ in range(3))
            print(f"log, {made.__name__:<10}{each[1]:>8.0f} ms of CPU a MB ({each[0]:.0f} to {each[2]:.0f})")
        return
    cases = [case for case in CASES if asked.only in case.name]
    print(f"{'':<32}{'on the path, ms':^47}{'off it, ms':^17}")
    heads = f"{'open':>8}{'head':>8}{'answer':>8}{'sum':>8}{'p95':>8}{'bound':>7}{'look':>9}{'end':>8}"
    print(f"{'case':<17}{'bytes':>8}{'read':>7}{heads}")
    above = [show_row(case, size, read) for case in cases for size in _BOUNDS_MS for read in case.reads]
    print(f"{sum(above)} of {len(above)} rows are above their bound, by their median or 95th percentile.")


if __name__ == "__main__":
    main()
