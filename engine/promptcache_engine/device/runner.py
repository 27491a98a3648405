"""The runner on a GPU: a step costs the host one copy to the device, and one from it for what was drawn."""

from collections.abc import Iterable
from collections.abc import Sequence as Items

from torch import Tensor

from promptcache_engine.cache import PageCopy, WindowPool
from promptcache_engine.device.steps import DeviceSteps
from promptcache_engine.device.transfers import current
from promptcache_engine.models import DecoderModel, KVPool
from promptcache_engine.models.paged_step import Share
from promptcache_engine.runner import ModelRunner
from promptcache_engine.scheduler import Chunk


class DeviceRunner(ModelRunner):
    """As ``ModelRunner``; the sequences' pages are kept in the tables of ``steps``, which begin empty."""

    def __init__(
        self,
        model: DecoderModel,
        pool: KVPool,
        *,
        steps: DeviceSteps,
        page_size: int,
        max_length: int,
        scratch_slot: int | None = None,
        windows: Items[WindowPool] = (),
    ) -> None:
        super().__init__(
            model,
            pool,
            page_size=page_size,
            max_length=max_length,
            scratch_slot=scratch_slot,
            windows=windows,
        )
        self._steps = steps
        steps.tables.forget_all()

    def copy_pages(self, copies: Iterable[PageCopy]) -> None:
        """As ``ModelRunner.copy_pages``."""
        with current(self._steps.device):
            super().copy_pages(copies)

    def compute(self, chunks: Items[Chunk]) -> Tensor:
        """As ``ModelRunner.compute``; the next step may overwrite the logits."""
        with current(self._steps.device):
            return self._steps.compute([self._share(chunk) for chunk in chunks])

    def probe(self) -> str | None:
        """As ``ModelRunner.probe``."""
        with current(self._steps.device):
            return super().probe()

    def forget(self, sequence_id: str) -> None:
        """As ``ModelRunner.forget``."""
        self._steps.tables.forget(sequence_id)

    def _share(self, chunk: Chunk) -> Share:
        sequence, tables = chunk.sequence, self._steps.tables
        assert sequence.lease is not None
        seat = tables.seat(sequence)
        tables.note(0, seat, 0, sequence.lease.pages)
        for group, windows in enumerate(self._windows, start=1):
            tables.note(group, seat, *windows.span(sequence.lease))
        return Share(seat, sequence.tokens[chunk.start : chunk.end], chunk.start, samples=chunk.samples)
