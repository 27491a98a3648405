"""A model's steps on a GPU, over tables that stay there: decode steps replayed, all others launched.

It belongs to a model and its pool and outlives workers; which sequences sit where is ``runner``'s
business.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from promptcache_engine.device.graphs import Recorder, StepGraphs, batch_sizes, context_sizes
from promptcache_engine.device.tables import DeviceTables
from promptcache_engine.device.transfers import to_device
from promptcache_engine.info import WarmUp
from promptcache_engine.models import DecoderModel, KVPool
from promptcache_engine.models.paged_step import Share, decode_step, mixed_step


class DeviceSteps:
    """Computes steps of ``model`` over ``pool``.

    Args:
        model: computes by Triton's kernels.
        pool: where keys and values are kept.
        page_size: tokens a page holds.
        max_length: tokens the longest sequence has.
        max_running: sequences computed together.
    """

    def __init__(
        self, model: DecoderModel, pool: KVPool, *, page_size: int, max_length: int, max_running: int
    ) -> None:
        self._model = model
        self._pool = pool
        self._page_size = page_size
        self._max_length = max_length
        self._seats = max_running
        self.device = pool.k.device
        self.tables = DeviceTables(
            groups=1 + len(pool.windowed),
            seats=max_running,
            max_length=max_length,
            page_size=page_size,
            device=self.device,
        )
        self._inputs = torch.zeros(4, max_running + -max_running % 4, dtype=torch.int32, device=self.device)
        self._logits = torch.empty(0, device=self.device)
        self._angles = model.prepare_angles(0)  # kept: graphs read them when the model has longer ones, too
        self._graphs: StepGraphs | None = None

    def compute(self, shares: Sequence[Share]) -> Tensor:
        """Compute a step.

        Returns:
            Logits, float32, one row for each share that samples, in order; the next step may overwrite them.
        """
        self.tables.flush()
        if self._graphs is not None and all(len(each.tokens) == 1 and each.samples for each in shares):
            found = self._graphs.find(len(shares), max(share.end for share in shares))
            if found is not None:
                size, replay = found
                self._fill(size, shares)
                replay()
                return self._logits[: len(shares)]
        with torch.inference_mode():
            step = mixed_step(shares, self.tables.tables, self._page_size)
            return self._model.forward_paged(step, self._pool)

    def _fill(self, size: int, shares: Sequence[Share]) -> None:
        """Bring a decode step's inputs into the graphs' buffer; what pads it to ``size`` is 0."""
        values = np.zeros((4, size), dtype=np.int32)
        values[:, : len(shares)] = np.array(
            [(share.tokens[0], share.start, share.seat, share.end) for share in shares], dtype=np.int32
        ).T
        self._inputs[:, :size].copy_(to_device(values, self.device))

    def warm_up(self, max_batch_tokens: int, draw: Callable[[Tensor, Tensor], object]) -> WarmUp:
        """Compute a step of each kind and draw from two rows, which compiles what they need, before anything
        is cached: the pool's first page is written to."""
        begun = time.perf_counter()
        self._model.prepare_angles(self._max_length)
        longest = max(1, min(max_batch_tokens, self._max_length))
        decoded, chunk = Share(0, [0], 0, samples=True), Share(0, [0] * longest, 0, samples=True)
        short = replace(chunk, tokens=chunk.tokens[:2])
        behind, far = (replace(one, start=self._max_length - len(one.tokens)) for one in (short, chunk))
        for shares in ([chunk], [behind], [far], [short, decoded], [decoded, short], [decoded]):
            logits = self.compute(shares)[:1].expand(2, -1).contiguous()
        draw(logits, logits)
        slots = torch.arange(2, device=self.device)
        for window in (None, *range(len(self._pool.windowed))):
            self._pool.copy_slots(slots, slots, window)
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return WarmUp(compile_seconds=time.perf_counter() - begun)

    def record(self, recorder: Recorder) -> WarmUp:
        """Record decode steps, which are replayed from then on."""
        self._angles = self._model.prepare_angles(self._max_length)
        vocabulary = self._model.config.vocab_size
        self._logits = torch.empty(self._seats, vocabulary, dtype=torch.float32, device=self.device)
        graphs = StepGraphs(
            self._decode, batches=batch_sizes(self._seats), contexts=context_sizes(self._max_length)
        )
        self._inputs.zero_()
        report = graphs.record(recorder, self.device)
        self._graphs = graphs
        return report

    def _decode(self, size: int, longest: int) -> None:
        """Compute the step of ``size`` sequences that lies in the buffer."""
        with torch.inference_mode():
            step = decode_step(self._inputs[:, :size], self.tables.tables, self._page_size, longest)
            self._logits[:size].copy_(self._model.forward_paged(step, self._pool))
