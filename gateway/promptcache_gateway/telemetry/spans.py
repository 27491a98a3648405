"""The way from a record to a span: a bounded queue and a thread, so that no request waits for a collector.

What does not fit, or is not taken, is dropped and counted. OpenTelemetry is loaded by the thread.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from promptcache_gateway.failures import log_failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.sdk.trace.export import SpanExporter
    from prometheus_client.core import Metric

    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.telemetry.exporting import SpanWriter
    from promptcache_gateway.telemetry.otel_settings import OtelSettings

_BATCH = 512
_GATHER_S = 1.0
_LAST_WORDS_S = 5.0


class Spans(Collector):
    """The queue and its thread; also the counter of what was lost, for Prometheus.

    Args:
        settings: where spans go.
        exporter: who takes them; None: OTLP over HTTP.

    Attributes:
        dropped: records that became no span, or whose span was not taken.
    """

    def __init__(self, settings: OtelSettings, exporter: SpanExporter | None = None) -> None:
        self._settings = settings
        self._exporter = exporter
        self._queue: queue.Queue[RequestRecord | None] = queue.Queue(settings.max_queue)
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._writer: SpanWriter | None = None
        self.dropped = 0

    def start(self) -> None:
        """Start the thread."""
        if self._thread is None:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._run, name="promptcache-spans", daemon=True)
            self._thread.start()

    def put(self, record: RequestRecord) -> None:
        """Queue a record; never waits."""
        try:
            self._queue.put_nowait(record)
        except queue.Full:
            self._drop(1)

    def stop(self) -> None:
        """Export what is queued, but not for longer than a few seconds, and end the thread."""
        if self._thread is None:
            return
        self._stopping.set()
        try:
            self._queue.put(None, timeout=_LAST_WORDS_S)
        except queue.Full:
            return  # the collector is away; the thread ends with the process
        self._thread.join(_LAST_WORDS_S)
        if self._thread.is_alive() and self._writer is not None:
            self._writer.close()
        self._thread = None

    def collect(self) -> Iterable[Metric]:
        """The counter, as Prometheus reads it."""
        counter = CounterMetricFamily("promptcache_spans_dropped", "Spans that no collector got")
        counter.add_metric((), self.dropped)
        return [counter]

    def describe(self) -> Iterable[Metric]:
        """Nothing is known beforehand."""
        return ()

    def _drop(self, count: int) -> None:
        with self._lock:
            self.dropped += count

    def _run(self) -> None:
        from promptcache_gateway.telemetry.exporting import SpanWriter  # noqa: PLC0415 - heavy, and an extra

        self._writer = SpanWriter(self._settings, self._exporter)
        going = True
        while going:
            batch = self._take()
            records = [record for record in batch if record is not None]
            going = len(records) == len(batch)
            if records and not self._write(self._writer, records):
                self._drop(len(records))
        self._writer.close()

    def _write(self, writer: SpanWriter, records: list[RequestRecord]) -> bool:
        try:
            return writer.write(records)
        except Exception as error:  # noqa: BLE001 - one batch must not end the thread
            log_failure("exporting spans", error)
            return False

    def _take(self) -> list[RequestRecord | None]:
        """What came within a moment, in one batch."""
        batch = [self._queue.get()]
        if batch[0] is not None:
            self._stopping.wait(_GATHER_S)
        while len(batch) < _BATCH and batch[-1] is not None:
            try:
                batch.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return batch
