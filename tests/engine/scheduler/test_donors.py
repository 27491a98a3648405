"""What a running sequence has computed of a shared prefix is had to the token, however large pages are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine.cache import PrefixCache
from promptcache_engine.scheduler import Scheduler
from tests.engine.scheduler.bench import Bench, sequence, work

PREFIX = list(range(100))


def large_pages(page_size: int = 64, **options: object) -> Bench:
    return Bench(num_pages=40, page_size=page_size, **{"budget": 60, "running": 16, **options})


@pytest.mark.parametrize("page_size", [1, 16, 64, 256])
def test_a_burst_computes_its_shared_prefix_once(page_size: int) -> None:
    bench = Bench(num_pages=4096 // page_size, page_size=page_size, budget=60, running=16)
    bench.add(*(sequence([*PREFIX, 200 + i, 300]) for i in range(8)))
    bench.run()
    assert bench.computed == 102 + 7 * 2
    stats = bench.cache.stats
    assert (stats.queries, stats.hits, stats.held) == (8 * 102, 7 * 100, 0)


def test_the_copy_is_of_the_part_behind_the_whole_pages() -> None:
    bench = large_pages(budget=200)
    leader, follower = sequence([*PREFIX, 1]), sequence([*PREFIX, 2])
    bench.add(leader, follower)
    assert work(bench.step()) == [(leader, 0, 101)]
    assert work(bench.scheduler.plan()) == [(leader, 101, 1), (follower, 100, 1)]
    (copy,) = follower.copies
    assert (copy.src, copy.dst, copy.tokens) == (leader.lease.pages[1], follower.lease.pages[1], 36)
    assert follower.lease.pages[0] == leader.lease.pages[0]
    assert (follower.lease.hit, follower.lease.reason.reused, follower.lease.reason.shared) == (100, 100, 100)
    assert follower.lease.reason.diverged_at == 100


@pytest.mark.parametrize("keep", [True, False], ids=["cancelled", "failed"])
@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_when_the_leader_is_lost_the_next_one_leads(steps: int, keep: bool) -> None:
    bench = large_pages(256)
    leader, *followers = (sequence([*PREFIX, 200 + i]) for i in range(4))
    bench.add(leader, *followers)
    for _ in range(steps):
        bench.step()
    bench.scheduler.release(leader, keep=keep)
    before = bench.computed
    bench.run()
    # Computed anew is what was not kept, and each follower's own last token.
    again = {0: 100, 1: 40 if keep else 100, 2: 0 if keep else 100, 3: 0}[steps]
    assert bench.computed - before == again + 3
    assert bench.cache.stats.held == 0


def test_a_preempted_leader_is_no_longer_waited_for() -> None:
    bench = large_pages(256, running=1)
    leader, follower = sequence([*PREFIX, 1], priority=1), sequence([*PREFIX, 2], priority=1)
    bench.add(leader, follower)
    bench.step()
    urgent = sequence([7] * 70)
    bench.add(urgent)
    bench.step()
    assert leader.preemptions == 1
    bench.run()
    assert (leader.output_tokens, follower.output_tokens) == (1, 1)
    assert bench.cache.stats.held == 0


def test_followers_of_followers() -> None:
    bench = large_pages(256)
    first = sequence([*PREFIX, 1])
    second = sequence([*PREFIX, *range(400, 500), 2])
    third = sequence([*PREFIX, *range(400, 500), 3])
    bench.add(first, second, third)
    bench.run()
    assert bench.computed == 101 + 101 + 1
    assert (second.cached_tokens, third.cached_tokens) == (100, 200)


def test_a_sequence_that_answers_still_gives_its_prompt_but_not_its_answer() -> None:
    bench = large_pages(256, budget=200)
    first = sequence(PREFIX)
    bench.add(first)
    for _ in range(5):
        bench.step()
    later = sequence([*PREFIX, 1, 1, 1, 9])  # the bench answers 1, again and again
    bench.add(later)
    assert work(bench.step()) == [(first, 104, 1), (later, 100, 4)]


def test_who_waits_for_copies_gives_nothing_yet() -> None:
    """Of two that are admitted in one step the second reads what is computed, not what is to be copied."""
    bench = large_pages(256, budget=200)
    donor = sequence([*PREFIX, 1], priority=1)
    bench.add(donor)
    bench.step()
    before, after = sequence([*PREFIX, 2]), sequence([*PREFIX, 3])
    bench.add(before, after)
    plan = bench.step()
    assert list(plan.admitted) == [before, after]
    assert {copy.src for each in plan.admitted for copy in each.lease.copies} == {donor.lease.pages[0]}
    bench.run()


@pytest.mark.parametrize("fields", [{"namespace": "other"}, {"use_cache": False}])
@pytest.mark.parametrize("which", ["donor", "taker"])
def test_nothing_is_copied_across_namespaces_or_for_who_opted_out(fields: dict, which: str) -> None:  # type: ignore[type-arg]
    bench = large_pages(256, budget=300)
    donor = sequence([*PREFIX, 1], **(fields if which == "donor" else {}))
    taker = sequence([*PREFIX, 2], **(fields if which == "taker" else {}))
    bench.add(donor)
    bench.step()
    bench.add(taker)
    assert work(bench.step())[-1] == (taker, 0, 101)


def test_where_windows_have_pages_of_their_own_whole_pages_are_shared_and_waited_for() -> None:
    cache = PrefixCache(40, 32, share_on_admission=False, window_pools=[(16, 30)])
    scheduler = Scheduler(cache, max_batch_tokens=80, max_running=8)
    leader, follower = sequence([*PREFIX, 1]), sequence([*PREFIX, 2])
    scheduler.add(leader)
    scheduler.add(follower)
    for chunk in scheduler.plan().chunks:
        scheduler.advance(chunk)
    plan = scheduler.plan()
    assert [chunk.sequence for chunk in plan.chunks] == [leader]
    for chunk in plan.chunks:
        scheduler.advance(chunk)
    scheduler.extend(leader, 1)
    plan = scheduler.plan()
    assert list(plan.admitted) == [follower]
    assert (follower.computed, follower.copies) == (96, [])


@settings(max_examples=40)
@given(data=st.data())
def test_whatever_ends_whenever_all_read_their_own(data: st.DataObject) -> None:
    """The bench checks that each sequence finds its own tokens in the slots it reads."""
    size = data.draw(st.sampled_from([8, 32, 128]))
    bench = Bench(
        num_pages=data.draw(st.sampled_from([3, 8, 20])) * 128 // size,
        page_size=size,
        budget=data.draw(st.sampled_from([8, 40, 100])),
        running=data.draw(st.sampled_from([2, 8])),
        keep_preempted=data.draw(st.booleans()),
    )
    alive = []
    for _ in range(data.draw(st.integers(2, 7))):
        length = data.draw(st.integers(30, 90))
        tail = data.draw(st.lists(st.integers(1, 2), min_size=1, max_size=6))
        alive.append(sequence([*PREFIX[:length], *tail], priority=data.draw(st.integers(0, 1))))
    ends = {each.id: data.draw(st.none() | st.integers(0, 12)) for each in alive}
    starts = {each.id: data.draw(st.integers(0, 6)) for each in alive}
    for step in range(1000):
        bench.add(*(each for each in alive if starts[each.id] == step))
        for each in tuple(alive):
            if starts[each.id] <= step and (each.output_tokens >= 5 or ends[each.id] == step):
                bench.scheduler.release(each, keep=data.draw(st.booleans()))
                alive.remove(each)
        if not alive:
            break
        for rejected in bench.step().rejected:
            alive.remove(rejected)
    assert not alive
    assert bench.cache.stats.held == 0
