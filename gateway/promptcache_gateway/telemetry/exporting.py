"""Makes spans of records and exports them. The only module that loads OpenTelemetry; others load it late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from promptcache._version import __version__
from promptcache_gateway.telemetry.attributes import attributes_of, parent_of, span_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan

    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.telemetry.otel_settings import OtelSettings

_NANO = 1_000_000_000


class _Collector(SpanProcessor):
    """Holds spans that have ended until they are exported together."""

    def __init__(self) -> None:
        self.ended: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.ended.append(span)


class SpanWriter:
    """Writes records as spans. Use it from one thread.

    Args:
        settings: where to, and under which name.
        exporter: who takes the spans; None: OTLP over HTTP to the settings' endpoint.
    """

    def __init__(self, settings: OtelSettings, exporter: SpanExporter | None = None) -> None:
        self._exporter = OTLPSpanExporter(endpoint=settings.endpoint) if exporter is None else exporter
        self._collector = _Collector()
        named = {"service.name": settings.service_name, "service.version": __version__}
        provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
        provider.add_span_processor(self._collector)
        self._tracer = provider.get_tracer("promptcache.gateway", __version__)

    def write(self, records: Sequence[RequestRecord]) -> bool:
        """Export a span for each record that is sampled; False where the exporter did not take them."""
        for record in records:
            self._make(record)
        spans, self._collector.ended = self._collector.ended, []
        return not spans or self._exporter.export(spans) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Give up what is still being sent."""
        self._exporter.shutdown()

    def _make(self, record: RequestRecord) -> None:
        start = int(record.time * _NANO)
        span = self._tracer.start_span(
            span_name(record),
            context=_context(record),
            kind=SpanKind.CLIENT,
            attributes=attributes_of(record),
            start_time=start,
        )
        if record.failed:
            span.set_status(Status(StatusCode.ERROR))
        span.end(start + int(record.duration_ms * 1e6))


def _context(record: RequestRecord) -> Context | None:
    """The caller's own trace, where it is in one."""
    parent = parent_of(record)
    if parent is None:
        return None
    trace, span, flags = parent
    remote = SpanContext(trace, span, is_remote=True, trace_flags=TraceFlags(flags))
    return set_span_in_context(NonRecordingSpan(remote))
