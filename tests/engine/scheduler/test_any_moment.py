"""Whatever ends whenever, no page is lost: cancellations, failures and deadlines at random steps."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.scheduler.bench import Bench, sequence

PREFIXES = [list(range(60)), [*range(30), *range(200, 240)], []]


@settings(max_examples=60)
@given(data=st.data())
def test_no_page_leaks(data: st.DataObject) -> None:
    bench = Bench(
        num_pages=data.draw(st.sampled_from([24, 40, 100])),
        page_size=data.draw(st.sampled_from([1, 4, 16])),
        budget=data.draw(st.sampled_from([4, 16, 64])),
        running=4,
        keep_preempted=data.draw(st.booleans()),
    )
    room = bench.cache.num_pages * bench.cache.page_size
    sequences = []
    for _ in range(data.draw(st.integers(1, 8))):
        prefix = data.draw(st.sampled_from(PREFIXES))
        tokens = [*prefix, *data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=20))][: room - 8]
        parent = data.draw(st.sampled_from([None, None, *sequences]))
        fields = {
            "use_cache": data.draw(st.sampled_from([True, True, False])),
            "priority": data.draw(st.integers(0, 2)),
        }
        made = sequence(tokens, **fields)
        if parent is not None:
            made = sequence(parent.tokens[: parent.prompt_tokens], parent=parent, **fields)
        sequences.append(made)
    ends = {each.id: data.draw(st.none() | st.integers(0, 25)) for each in sequences}
    starts = {each.id: data.draw(st.integers(0, 10)) for each in sequences}
    kept = {each.id: data.draw(st.booleans()) for each in sequences}
    alive = list(sequences)
    for step in range(2000):
        for each in alive:
            if starts[each.id] == step:
                bench.add(each)
        for each in tuple(alive):
            begun = starts[each.id] <= step
            if begun and (each.output_tokens >= 6 or ends[each.id] == step):
                bench.scheduler.release(each, keep=kept[each.id])
                alive.remove(each)
        if not alive:
            break
        for rejected in bench.step().rejected:
            alive.remove(rejected)
    assert alive == []
    stats = bench.cache.stats
    assert stats.held == 0
    assert stats.free + stats.cached == bench.cache.num_pages
    bench.cache.evict()
    assert bench.cache.stats.free == bench.cache.num_pages
