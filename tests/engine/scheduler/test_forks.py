"""Several answers to one prompt: computed once, its pages shared, whatever happens to the first."""

import pytest

from tests.engine.scheduler.bench import Bench, Sequence, sequence, work

PROMPT = list(range(100, 122))


def family(size: int, **fields: object) -> list[Sequence]:
    parent = sequence(PROMPT, **fields)
    return [parent, *(sequence(PROMPT, parent=parent, **fields) for _ in range(size - 1))]


def test_the_prompt_is_computed_once_and_its_whole_pages_are_shared() -> None:
    bench = Bench(budget=16, running=8)
    parent, *forks = family(4)
    bench.add(parent, *forks)
    assert work(bench.step()) == [(parent, 0, 16)]
    assert work(bench.step()) == [(parent, 16, 6)]
    plan = bench.step()
    assert work(plan) == [(parent, 22, 1), *((fork, 21, 1) for fork in forks)]
    assert list(plan.admitted) == forks
    shared = [fork.lease.pages[:5] for fork in forks]
    assert shared == [parent.lease.pages[:5]] * 3
    own = {each.lease.pages[5] for each in (parent, *forks)}
    assert len(own) == 4
    stats = bench.cache.stats
    assert (stats.queries, stats.hits) == (22, 0)  # what forks find is no hit
    assert (stats.preempted_queries, stats.preempted_hits) == (0, 0)
    assert [each.cached_tokens for each in (parent, *forks)] == [0] * 4


def test_the_rest_of_the_last_page_is_copied_from_the_parent() -> None:
    bench = Bench(budget=64, running=8)
    parent, fork = family(2)
    bench.add(parent, fork)
    bench.step()
    plan = bench.scheduler.plan()
    assert list(plan.admitted) == [fork]
    (copy,) = fork.copies
    assert (copy.src, copy.dst, copy.tokens) == (parent.lease.pages[5], fork.lease.pages[5], 1)


def test_forks_that_opted_out_copy_the_prompt_and_leave_nothing() -> None:
    bench = Bench(budget=64, running=8)
    parent, *forks = family(3, use_cache=False)
    bench.add(parent, *forks)
    bench.step()
    assert work(bench.step()) == [(parent, 22, 1), *((fork, 21, 1) for fork in forks)]
    bench.run(answer=4)
    assert bench.cache.stats.cached == bench.cache.stats.held == 0


@pytest.mark.parametrize("when", ["before", "during", "after"])
@pytest.mark.parametrize("keep", [True, False], ids=["cancelled", "failed"])
def test_forks_go_on_without_their_parent(when: str, keep: bool) -> None:
    bench = Bench(budget=8, running=8)
    parent, *forks = family(3)
    bench.add(parent, *forks)
    for _ in range({"before": 0, "during": 1, "after": 3}[when]):
        bench.step()
    bench.scheduler.release(parent, keep=keep)
    before = bench.computed
    bench.run(answer=2)
    assert [fork.output_tokens for fork in forks] == [2, 2]
    # At most one of them computes the prompt again, where nothing of it was kept.
    again = len(PROMPT) if when != "after" or not keep else 0
    assert bench.computed - before <= again + 2 * 4 + 4
    stats = bench.cache.stats
    assert stats.held == 0
    assert (stats.queries, stats.preempted_queries) == (
        len(PROMPT),
        0,
    )  # a family asks once, whoever computes


def test_forks_of_a_preempted_parent_wait_or_go_on() -> None:
    bench = Bench(num_pages=14, budget=64, running=8)
    parent, *forks = family(3)
    bench.add(parent, *forks)
    bench.run(answer=14)
    assert [each.output_tokens for each in (parent, *forks)] == [14] * 3
    assert bench.scheduler.stats().preemptions > 0
    assert bench.cache.stats.held == 0
