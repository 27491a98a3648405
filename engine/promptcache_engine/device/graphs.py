"""Decode steps recorded once and replayed: a GPU then waits for one launch a step and not for hundreds.

A graph is recorded for each of a few numbers of sequences and lengths of contexts, and a step takes the
smallest that holds it. What it is padded with has an empty context, reads no page and writes to none. What a
step differs by lies in buffers that every graph reads.
"""

import logging
import time
from bisect import bisect_left
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import torch

from promptcache_engine.info import WarmUp

_log = logging.getLogger(__name__)

Work: TypeAlias = Callable[[], None]
Recorder: TypeAlias = Callable[[Work], Work]
"""Records what work launches on the device and returns what launches the same again."""

BATCHES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Numbers of sequences that graphs are recorded for, as far as the engine runs so many."""

SHORTEST, STEP = 1024, 4
"""Contexts of the shortest graphs, in tokens, and by how much those of the next are longer."""


def batch_sizes(most: int) -> tuple[int, ...]:
    """Of how many sequences graphs are, where at most ``most`` run."""
    return (*(size for size in BATCHES if size < most), most)


def context_sizes(longest: int) -> tuple[int, ...]:
    """How long the contexts of graphs may be, where none is longer than ``longest``."""
    sizes, size = list[int](), SHORTEST
    while size < longest:
        sizes.append(size)
        size *= STEP
    return (*sizes, longest)


class StepGraphs:
    """Recorded decode steps.

    Args:
        run: computes a step of so many sequences whose contexts are not longer than the second number, from
            the buffers and into them, and waits for nothing.
        batches: for how many sequences, rising.
        contexts: for how long contexts, rising.
    """

    def __init__(
        self, run: Callable[[int, int], None], *, batches: tuple[int, ...], contexts: tuple[int, ...]
    ) -> None:
        self._run = run
        self._batches = batches
        self._contexts = contexts
        self._replays: dict[tuple[int, int], Work] = {}

    def record(self, recorder: Recorder, device: torch.device) -> WarmUp:
        """Record all of them, the largest first: the others find room in its memory.

        Steps for which one cannot be recorded are launched kernel by kernel; one line in the log says why.
        """
        begun, free = time.perf_counter(), _free(device)
        fault = ""
        for context in self._contexts[::-1]:
            for batch in self._batches[::-1]:
                fault = self._record(recorder, batch, context) or fault
        wanted = len(self._contexts) * len(self._batches)
        if len(self._replays) < wanted:
            _log.warning("%d of %d graphs are missing: %s", wanted - len(self._replays), wanted, fault)
        return WarmUp(
            graph_seconds=time.perf_counter() - begun,
            graphs=len(self._replays),
            graphs_missing=wanted - len(self._replays),
            graph_batches=self._batches,
            graph_contexts=self._contexts,
            graph_bytes=max(0, free - _free(device)),
        )

    def _record(self, recorder: Recorder, batch: int, context: int) -> str:
        """Record one; what went wrong, if something did."""

        def work() -> None:
            self._run(batch, context)

        try:
            work()  # compiles what is new, which a recording must not
            self._replays[batch, context] = recorder(work)
        except Exception as error:  # noqa: BLE001 - steps are computed without it, too
            return f"{type(error).__name__}: {error}".partition("\n")[0]
        return ""

    def find(self, batch: int, longest: int) -> tuple[int, Work] | None:
        """Of how many sequences the smallest graph is that holds a step, and its replay; None: there is
        none."""
        if batch > self._batches[-1] or longest > self._contexts[-1]:
            return None
        size = self._batches[bisect_left(self._batches, batch)]
        replay = self._replays.get((size, self._contexts[bisect_left(self._contexts, longest)]))
        return None if replay is None else (size, replay)


class CudaRecorder:
    """Records into CUDA graphs that share their memory: one is replayed at a time.

    Args:
        device: whose kernels.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = cast("Any", torch.cuda.Stream)(device)

    def __call__(self, work: Work) -> Work:
        """Record ``work``, after it has run once on the recording's stream: libraries then have their memory
        there."""
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize(self._device)
        with torch.cuda.stream(self._stream):  # restores the thread's stream after a failure, too
            work()
            torch.cuda.synchronize(self._device)
            with torch.cuda.graph(
                graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"
            ):
                work()
        replay: Work = graph.replay
        return replay


def _free(device: torch.device) -> int:
    """Bytes of the device that nobody has, torch's allocator included."""
    if device.type != "cuda":
        return 0
    torch.cuda.empty_cache()
    return int(torch.cuda.mem_get_info(device)[0])
