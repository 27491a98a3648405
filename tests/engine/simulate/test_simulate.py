"""The simulation: against naive models on a small trace, and against published figures on the real ones.

The real traces are not part of the repository. With ``PROMPTCACHE_TRACES`` naming a folder that holds
``conversation.jsonl`` and ``synthetic.jsonl`` of the Mooncake release (FAST'25), they are checked too.
"""

import itertools
import os
import random
from collections import OrderedDict
from pathlib import Path

import pytest

from promptcache_engine.cache import POLICIES
from promptcache_engine.simulate import (
    Capacity,
    Trace,
    TraceRequest,
    endless,
    optimum,
    read_trace,
    replay,
    simulate,
)
from promptcache_engine.simulate.errors import CapacityError

TRACES = os.environ.get("PROMPTCACHE_TRACES", "")


def chat_trace(seed: int, requests: int) -> Trace:
    """Conversations that start from a few templates, grow turn by turn, and stop at random."""
    choose, numbers = random.Random(seed), itertools.count(10)
    conversations: list[list[int]] = []
    made = []
    for second in range(requests):
        if conversations and choose.random() < 0.5:
            pages = choose.choice(conversations[-12:])
        else:
            pages = list(range(choose.randint(1, 3)))
            conversations.append(pages)
        pages += [next(numbers) for _ in range(choose.randint(1, 5))]
        made.append(TraceRequest(float(second), tuple(pages), 512 * len(pages)))
    return Trace(tuple(made), 512)


def naive_lru(trace: Trace, capacity: int) -> int:
    cached: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for request in trace:
        if len(request.pages) > capacity:
            continue
        hits += len(list(itertools.takewhile(cached.__contains__, request.pages)))
        for page in reversed(request.pages):
            cached[page] = None
            cached.move_to_end(page)
        while len(cached) > capacity:
            cached.popitem(last=False)
    return hits


def best_of_all_choices(trace: Trace, capacity: int) -> int:
    """The optimum by trying every set of pages one could keep."""

    def best(at: int, cached: frozenset[int]) -> int:
        if at == len(trace):
            return 0
        pages = set(trace.requests[at].pages)
        hits = len(pages & cached)
        rest = sorted(cached - pages)
        room = capacity - len(pages)
        kept = rest if len(rest) <= room else None
        choices = [tuple(kept)] if kept is not None else itertools.combinations(rest, room)
        return hits + max(best(at + 1, frozenset(pages) | frozenset(choice)) for choice in choices)

    return best(0, frozenset())


@pytest.mark.parametrize("capacity", [20, 60, 200])
def test_lru_is_what_a_naive_lru_has(capacity: int) -> None:
    trace = chat_trace(1, 300)
    assert replay(trace, capacity, "lru") == naive_lru(trace, capacity)


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_the_best_of_all_choices(seed: int) -> None:
    choose = random.Random(seed)
    requests = [
        TraceRequest(i, tuple(choose.choice([(0, 1), (0, 2), (3,), (4, 5), (0, 6)])), 0) for i in range(9)
    ]
    trace = Trace(tuple(requests), 1)
    assert optimum(trace, 4) == best_of_all_choices(trace, 4)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_no_policy_beats_the_optimum_and_none_misses_in_a_cache_that_never_evicts(policy: str) -> None:
    trace = chat_trace(2, 300)
    for capacity in (30, 100):
        assert replay(trace, capacity, policy) <= optimum(trace, capacity) <= endless(trace)
    assert replay(trace, trace.footprint, policy) == endless(trace)
    assert optimum(trace, trace.footprint) == endless(trace)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.25, 0.5])
@pytest.mark.parametrize("seed", [3, 4])
def test_the_learned_policy_is_never_far_below_lru(seed: int, share: float) -> None:
    trace = chat_trace(seed, 1_500)
    capacity = int(trace.footprint * share)
    lead = replay(trace, capacity, "learned") - replay(trace, capacity, "lru")
    assert lead >= -0.004 * trace.num_pages


def test_a_prompt_larger_than_the_cache_hits_nothing_and_breaks_nothing() -> None:
    trace = Trace(
        (TraceRequest(0.0, (1, 2, 3), 3), TraceRequest(1.0, (1,), 1), TraceRequest(2.0, (1,), 1)), 1
    )
    assert replay(trace, 2, "lru") == optimum(trace, 2) == 1


def test_pages_that_stand_for_several_are_counted_as_several() -> None:
    trace = chat_trace(5, 100)
    finer = Trace(trace.requests, 128, pages_each=4)
    assert replay(finer, 4 * 50, "lru") == 4 * replay(trace, 50, "lru")
    assert optimum(finer, 4 * 50) == 4 * optimum(trace, 50)
    assert (finer.footprint, finer.num_pages) == (4 * trace.footprint, 4 * trace.num_pages)


def test_a_report_says_it_in_rates() -> None:
    trace = chat_trace(6, 100)
    report = simulate(trace, [Capacity.parse("10%"), Capacity.parse("40")], ["lru", "lfu"])
    answer = report.to_dict()
    assert [row["pages"] for row in answer["results"]] == [int(trace.footprint * 0.1), 40]
    assert answer["results"][1]["hit_rate"]["lru"] == naive_lru(trace, 40) / trace.num_pages
    assert 0 < answer["results"][1]["optimum"] <= answer["infinite"] <= 1


@pytest.mark.parametrize(
    "text", ["", "0", "-3", "x", "0%", "x%", "nan%", "1.5", "inf%", "1e400%", "101%", "9" * 5000]
)
def test_a_capacity_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(CapacityError):
        Capacity.parse(text)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_cache_of_any_size_takes_no_more_memory_than_the_trace(policy: str) -> None:
    trace = chat_trace(7, 50)
    report = simulate(trace, [Capacity.parse("99999999999999")], [policy])
    (row,) = report.rows
    assert (row.pages, row.hits[policy], row.optimum) == (99_999_999_999_999, endless(trace), endless(trace))


REFERENCE = {
    "conversation": (38.19, 170_899, (5.44, 20.22, 28.82, 36.83), (24.27, 38.19, 38.19, 38.19)),
    "synthetic": (65.94, 40_148, (3.70, 15.50, 25.73, 44.96), (15.33, 38.71, 50.91, 63.71)),
}
LEARNED_AT_LEAST = {"conversation": (10.0, 23.0, 30.3)}


@pytest.mark.slow
@pytest.mark.skipif(not TRACES, reason="PROMPTCACHE_TRACES names no folder with the Mooncake traces")
@pytest.mark.parametrize("name", REFERENCE)
def test_the_published_figures_come_out(name: str) -> None:
    infinite, footprint, lru, best = REFERENCE[name]
    trace = read_trace(Path(TRACES) / f"{name}.jsonl")
    sizes = [Capacity.parse(text) for text in ("1%", "5%", "10%", "25%")]
    report = simulate(trace, sizes, ["lru", "learned"])
    percent = [{policy: 100 * report.rate(hits) for policy, hits in row.hits.items()} for row in report.rows]
    assert (report.footprint, round(100 * report.rate(report.endless), 2)) == (footprint, infinite)
    assert tuple(round(row["lru"], 2) for row in percent) == lru
    assert tuple(round(100 * report.rate(row.optimum), 2) for row in report.rows) == best
    assert all(row["learned"] >= row["lru"] - 0.4 for row in percent)
    for row, least in zip(percent, LEARNED_AT_LEAST.get(name, ()), strict=False):
        assert row["learned"] >= least
