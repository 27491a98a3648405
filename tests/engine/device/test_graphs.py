"""Recorded steps: which are recorded, which is found, and what becomes of those that cannot be."""

import logging

import pytest
import torch

from promptcache_engine import ConfigError, EngineConfig
from promptcache_engine.device import setup
from promptcache_engine.device.graphs import StepGraphs, Work, batch_sizes, context_sizes
from promptcache_engine.models.testing import tiny_model
from promptcache_engine.setup import make_pool

CPU = torch.device("cpu")


def test_sizes_end_with_the_most_that_may_come() -> None:
    assert batch_sizes(1) == (1,)
    assert batch_sizes(16) == (1, 2, 4, 8, 16)
    assert batch_sizes(50) == (1, 2, 4, 8, 16, 24, 32, 48, 50)
    assert context_sizes(500) == (500,)
    assert context_sizes(1024) == (1024,)
    assert context_sizes(32_768) == (1024, 4096, 16_384, 32_768)


def recorded(fails: set[tuple[int, int]]) -> tuple[StepGraphs, list[tuple[int, int]], list[tuple[int, int]]]:
    """Graphs of 1, 2 and 4 sequences of 10 and 40 tokens; what was run, and what was recorded."""
    ran: list[tuple[int, int]] = []
    kept: list[tuple[int, int]] = []
    graphs = StepGraphs(lambda *size: ran.append(size), batches=(1, 2, 4), contexts=(10, 40))

    def recorder(work: Work) -> Work:
        work()
        if ran[-1] in fails:
            raise RuntimeError("no room\nand a long trace")
        kept.append(ran[-1])
        return work

    report = graphs.record(recorder, CPU)
    assert (report.graphs, report.graphs_missing) == (6 - len(fails), len(fails))
    assert (report.graph_batches, report.graph_contexts) == ((1, 2, 4), (10, 40))
    return graphs, ran, kept


def test_the_smallest_that_holds_a_step_is_replayed() -> None:
    graphs, ran, kept = recorded(set())
    assert kept == [(4, 40), (2, 40), (1, 40), (4, 10), (2, 10), (1, 10)]
    assert ran == [size for size in kept for _ in range(2)], "each is run before it is recorded"
    held = {(1, 1): (1, 10), (3, 10): (4, 10), (2, 11): (2, 40), (4, 40): (4, 40)}
    for (batch, longest), size in held.items():
        found = graphs.find(batch, longest)
        assert found is not None
        assert found[0] == size[0]
        found[1]()
        assert ran[-1] == size
    assert graphs.find(5, 1) is None
    assert graphs.find(1, 41) is None


def test_steps_without_a_graph_are_launched(caplog: pytest.LogCaptureFixture) -> None:
    graphs, _, _ = recorded({(4, 40), (2, 10)})
    assert graphs.find(4, 40) is None
    assert graphs.find(2, 10) is None
    assert graphs.find(2, 40) is not None
    (line,) = caplog.records
    assert line.levelno == logging.WARNING
    assert line.getMessage() == "2 of 6 graphs are missing: RuntimeError: no room"


def test_a_cpu_has_nothing_to_record() -> None:
    loaded = tiny_model()
    for setting in ("auto", "off"):
        config = EngineConfig(cuda_graphs=setting, kv_cache_tokens=64, max_context=32)
        pool, info = make_pool(config, loaded)
        assert setup.prepare(config, loaded, pool, info) == (None, info)
    with pytest.raises(ConfigError, match="on a GPU") as caught:
        setup.prepare(EngineConfig(cuda_graphs="on"), loaded, pool, info)
    assert caught.value.field == "cuda_graphs"
    with pytest.raises(ConfigError, match="auto, on, off"):
        EngineConfig(cuda_graphs="always")
