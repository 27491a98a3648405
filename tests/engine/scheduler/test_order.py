"""Who is computed first: few missing tokens, age, priority; and that nobody waits for ever."""

from random import Random

import pytest

from promptcache_engine.scheduler import SchedulingPolicy, Sequence
from promptcache_engine.scheduler.waiting import AGEING
from tests.engine.scheduler.bench import Bench, sequence, work


def test_few_missing_tokens_come_first() -> None:
    bench = Bench(num_pages=400, budget=64, running=8)
    known = sequence(list(range(200)))
    bench.add(known)
    bench.run()
    long = sequence([7] * 100)
    short = sequence([8] * 10)
    warm = sequence([*range(200), 9])  # the longest prompt misses least
    bench.add(long, short, warm)
    assert work(bench.step()) == [(warm, 200, 1), (short, 0, 10), (long, 0, 53)]


def test_a_short_prompt_need_not_wait_until_a_long_one_is_computed() -> None:
    bench = Bench(num_pages=400, budget=16)
    long = sequence(list(range(100, 400)))
    bench.add(long)
    bench.step()
    short = sequence([1, 2, 3])
    bench.add(short)
    assert work(bench.step()) == [(short, 0, 3), (long, 16, 13)]


def test_in_the_order_of_arrival_if_so_wanted() -> None:
    bench = Bench(num_pages=400, budget=16, policy="fcfs")
    long, short = sequence(list(range(100, 140))), sequence([1, 2, 3])
    bench.add(long, short)
    assert [work(bench.step()) for _ in range(3)] == [
        [(long, 0, 16)],
        [(long, 16, 16)],
        [(long, 32, 8), (short, 0, 3)],
    ]


def test_a_long_prompt_is_overtaken_only_for_so_long() -> None:
    """Short prompts arrive without end, as many as the engine can compute."""
    bench = Bench(num_pages=2000, budget=64, running=4, check=False)
    long = sequence([5] * 1000)
    bench.add(long)
    fresh = iter(range(1000, 10**6))
    steps = 0
    while long.output_tokens == 0:
        while bench.scheduler.stats().waiting < 4:
            bench.add(sequence([next(fresh) for _ in range(60)]))
        for chunk in bench.step().chunks:
            if chunk.sequence is not long and chunk.sequence.output_tokens:
                bench.scheduler.release(chunk.sequence, keep=False)
        steps += 1
        assert bench.computed <= 1000 / AGEING + 2 * 1000, "starved"
    assert steps > 1000 / 64  # it was overtaken


def replay(policy: SchedulingPolicy, seed: int) -> tuple[float, float]:
    """Mean and largest time to the first token, in steps, of mixed prompts on an engine at full load."""
    random = Random(seed)
    bench = Bench(num_pages=4000, page_size=16, budget=128, running=8, policy=policy, check=False)
    arrivals = [
        (step, sequence([random.randrange(100, 10**6) for _ in range(random.choice((32, 64, 100, 2000)))]))
        for step in sorted(random.randrange(600) for _ in range(150))
    ]
    waited: dict[str, int] = {}
    came = {each.id: step for step, each in arrivals}
    pending = list(arrivals)
    step = 0
    while len(waited) < len(arrivals):
        while pending and pending[0][0] <= step:
            bench.add(pending.pop(0)[1])
        for chunk in bench.step().chunks:
            each = chunk.sequence
            if each.output_tokens == 1:
                waited[each.id] = step - came[each.id]
            if each.output_tokens >= 5:
                bench.scheduler.release(each, keep=True)
        step += 1
    return sum(waited.values()) / len(waited), max(waited.values())


def test_the_mean_time_to_the_first_token_falls_and_the_longest_stays_bounded() -> None:
    for seed in (1, 2):
        arrival, fewest = replay("fcfs", seed), replay("fewest-missing", seed)
        assert fewest[0] < 0.7 * arrival[0]
        assert fewest[1] < 2 * arrival[1]


def test_priorities_come_before_everything_else() -> None:
    bench = Bench(num_pages=400, budget=64)
    batch, chat = sequence([1] * 8, priority=5), sequence([2] * 40, priority=-1)
    bench.add(batch, chat)
    assert work(bench.step()) == [(chat, 0, 40), (batch, 0, 8)]


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("scarce", ["sequences", "pages"])
def test_an_urgent_sequence_takes_the_place_of_the_least_urgent(scarce: str, keep: bool) -> None:
    limits = {"running": 2} if scarce == "sequences" else {"num_pages": 8, "running": 8}
    bench = Bench(**{"num_pages": 64, **limits}, budget=64, keep_preempted=keep)
    old, young = sequence([1] * 14, priority=1), sequence([2] * 14, priority=1)
    bench.add(old, young)
    bench.step()
    urgent = sequence([3] * 9)
    bench.add(urgent)
    plans = [bench.step() for _ in range(3)]
    assert urgent in [each for plan in plans for each in plan.admitted]
    assert (urgent.preemptions, old.preemptions, young.preemptions) == (0, 0, 1)
    bench.scheduler.release(urgent, keep=False)
    bench.run(answer=8)
    stats = bench.cache.stats
    assert stats.preempted_queries > 0
    if scarce == "sequences":  # else the pages were needed
        assert (stats.preempted_hits > 0) == keep
    assert stats.held == 0


def test_equal_priorities_take_nobodys_place() -> None:
    bench = Bench(running=1)
    first, second = sequence([1] * 8), sequence([2] * 8)
    bench.add(first, second)
    for _ in range(5):
        bench.step()
    assert (first.preemptions, second.lease) == (0, None)


def test_what_is_over_its_deadline_is_found_wherever_it_is() -> None:
    bench = Bench(running=1)
    running, waiting, patient = (sequence([i] * 5, deadline=d) for i, d in ((1, 10.0), (2, 9.0), (3, None)))
    bench.add(running, waiting, patient)
    bench.step()
    assert bench.scheduler.drop_expired(8.9) == []
    assert bench.scheduler.drop_expired(9.0) == [waiting]
    assert bench.scheduler.drop_expired(11.0) == [running, waiting]


def test_the_cache_is_asked_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(num_pages=400, budget=16, running=2, check=False)
    asked: list[Sequence] = []
    match = bench.cache.match
    monkeypatch.setattr(bench.cache, "match", lambda *a, **k: asked.append(a[0]) or match(*a, **k))
    bench.add(*(sequence([i] * 20) for i in range(100)))
    for _ in range(40):
        bench.step()
    # Once for each, and then each of them no more often than every sixteen steps.
    assert len(asked) <= 100 + 40 // 16 * 100


@pytest.mark.parametrize("policy", ["fewest-missing", "fcfs"])
def test_what_a_waiting_prompt_will_reuse_goes_last(policy: SchedulingPolicy) -> None:
    bench = Bench(num_pages=30, budget=16, running=1, policy=policy)
    shared = list(range(100, 132))
    for prompt in ([*shared, 5], list(range(200, 232))):  # eight pages each; the shared ones are the older
        bench.add(sequence(prompt))
        bench.run()
    running, waiting = sequence(list(range(300, 340)), max_length=70), sequence([*shared, 6])
    bench.add(running)
    bench.step()
    bench.add(waiting)
    while waiting.lease is None:
        for chunk in bench.step().chunks:
            if chunk.sequence is running and running.output_tokens >= 24:
                bench.scheduler.release(running, keep=True)
    assert bench.scheduler.stats().evicted_pages > 0
    assert waiting.cached_tokens == 32
