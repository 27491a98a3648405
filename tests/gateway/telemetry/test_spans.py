"""Spans of requests: the conventions' names, no text, nobody waits; a missing extra is one sentence."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names
from opentelemetry.trace import SpanKind, StatusCode

from promptcache_gateway import cli
from promptcache_gateway.arguments import make_settings, parse_arguments
from promptcache_gateway.errors import SettingsError, StartupError
from promptcache_gateway.exchange import Change
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.telemetry.attributes import attributes_of, parent_of, span_name
from promptcache_gateway.telemetry.exporting import SpanWriter
from promptcache_gateway.telemetry.otel_settings import OtelSettings
from promptcache_gateway.telemetry.spans import Spans
from tests.gateway.mock_upstream import wait_until
from tests.gateway.serving import serve
from tests.gateway.store.records import SECRET, hit, miss, record
from tests.gateway.telemetry.receiver import receiver

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan

    from tests.gateway.mock_upstream import MockUpstream

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ON = OtelSettings(endpoint="http://127.0.0.1:9/v1/traces")


def written(*records: Any) -> Sequence[ReadableSpan]:
    exporter = InMemorySpanExporter()
    writer = SpanWriter(ON, exporter)
    assert writer.write(records)
    return exporter.get_finished_spans()


def test_a_span_has_the_conventions_attributes_and_ours() -> None:
    one = record(
        miss("PC101", 800),
        model="gpt-4.1",
        cached_tokens=0,
        cache_write_tokens=None,
        cost_usd=0.25,
        response_id="resp_1",
        changes=(
            Change("prompt_cache_key", ("prompt_cache_key",)),
            Change("breakpoints", skipped=(("a", "b"),)),
        ),
    )
    (span,) = written(one)
    found = dict(span.attributes or {})
    assert span.name == "chat gpt-4.1"
    assert span.kind is SpanKind.CLIENT
    assert found[names.GEN_AI_OPERATION_NAME] == "chat"
    assert found[names.GEN_AI_PROVIDER_NAME] == "openai"
    assert found[names.GEN_AI_REQUEST_MODEL] == "gpt-4.1"
    assert found[names.GEN_AI_RESPONSE_ID] == "resp_1"
    assert found[names.GEN_AI_USAGE_INPUT_TOKENS] == 1_000
    assert found[names.GEN_AI_USAGE_OUTPUT_TOKENS] == 10
    assert found[names.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS] == 0, "a zero that was reported is one"
    assert names.GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS not in found, "unknown is absent"
    assert found[names.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] == 0.1
    assert (found["promptcache.cause"], found["promptcache.template"]) == ("PC101", "support")
    assert (found["promptcache.lost_tokens"], found["promptcache.cost_usd"]) == (800, 0.25)
    assert found["promptcache.changes"] == ("prompt_cache_key",)
    assert SECRET not in str(found)
    assert span.start_time == 1_800_000_000 * 10**9
    assert span.end_time == span.start_time + 300_000_000
    assert span.status.status_code is StatusCode.UNSET
    assert span.resource.attributes["service.name"] == "promptcache-gateway"


@pytest.mark.parametrize(
    ("known", "name", "provider"),
    [
        ({"dialect": "openai.completions"}, "text_completion m", "openai"),
        ({"dialect": "openai.embeddings", "model": ""}, "embeddings", "openai"),
        ({"dialect": "anthropic.messages"}, "chat m", "anthropic"),
        ({"dialect": "openai.chat", "model": "claude-opus-5"}, "chat claude-opus-5", "anthropic"),
        ({"dialect": "openai.chat", "model": "gemini-2.5-pro"}, "chat gemini-2.5-pro", "gcp.gemini"),
    ],
)
def test_operations_and_providers(known: dict[str, Any], name: str, provider: str) -> None:
    one = record(hit(), **known)
    assert span_name(one) == name
    assert attributes_of(one)["gen_ai.provider.name"] == provider


def test_a_failed_request_is_a_failed_span() -> None:
    spans = written(record(status=503), record(error="upstream_timeout", status=504))
    assert [span.status.status_code for span in spans] == [StatusCode.ERROR] * 2
    assert [dict(span.attributes or {})["error.type"] for span in spans] == ["503", "upstream_timeout"]


def test_a_span_joins_the_callers_trace() -> None:
    inside, outside = written(record(trace=TRACE), record())
    assert inside.parent is not None
    assert f"{inside.parent.span_id:016x}" == "b7ad6b7169203331"
    assert f"{inside.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert outside.parent is None
    assert written(record(trace=TRACE[:-1] + "0")) == (), "the caller's trace is not sampled"


@pytest.mark.parametrize(
    "sent", [None, "", "x", "00-" + "0" * 32 + "-b7ad6b7169203331-01", TRACE.upper(), TRACE + "0", TRACE[3:]]
)
def test_what_is_no_trace_is_none(sent: str | None) -> None:
    assert parent_of(record(trace=sent)) is None


class _Stuck(SpanExporter):
    """Takes nothing until it is let."""

    def __init__(self) -> None:
        self.taken: list[Sequence[ReadableSpan]] = []
        self.open = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.open.wait(10)
        self.taken.append(spans)
        return SpanExportResult.SUCCESS if len(self.taken) > 1 else SpanExportResult.FAILURE

    def shutdown(self) -> None: ...


def test_a_stuck_collector_holds_nobody_up_and_what_is_lost_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("promptcache_gateway.telemetry.spans._GATHER_S", 0.0)
    stuck = _Stuck()
    spans = Spans(replace(ON, max_queue=5), stuck)
    spans.start()
    spans.put(record())
    wait_until(spans._queue.empty)
    for _ in range(20):
        spans.put(record())
    assert spans.dropped == 15
    stuck.open.set()
    spans.stop()
    assert [len(batch) for batch in stuck.taken] == [1, 5]
    assert spans.dropped == 16, "the first batch was not taken"
    (counter,) = spans.collect()
    assert counter.samples[0].value == 16


def test_an_exporter_that_raises_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(InMemorySpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            raise ValueError(SECRET)

    spans = Spans(ON, Broken())
    spans.put(record())
    spans.start()
    spans.stop()
    assert spans.dropped == 1
    assert SECRET not in caplog.text


def test_through_the_gateway_to_a_collector(mock: MockUpstream, tmp_path: Path) -> None:
    upstream = UpstreamSettings(url=mock.url, name="u")
    with receiver() as collector:
        otel = OtelSettings(endpoint=f"{collector.url}/v1/traces", service_name="gw")
        with serve(Settings(upstreams=(upstream,), data_dir=tmp_path, otel=otel)) as served:
            body = {"model": "m", "messages": [{"role": "user", "content": SECRET}]}
            answer = served.post(body, traceparent=TRACE)
            assert mock.last.headers["traceparent"] == TRACE, "the upstream sees the caller's own"
            assert "promptcache_spans_dropped_total 0.0" in served.get("/metrics").text
    (found,) = collector.spans
    assert collector.paths == ["/v1/traces"]
    assert collector.resources[0]["service.name"] == "gw"
    assert found["name"] == "chat m"
    assert found["span"].trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert found["attributes"]["gen_ai.usage.cache_read.input_tokens"] == 1920
    assert found["attributes"]["promptcache.request_id"] == answer.headers["x-promptcache-request-id"]
    assert SECRET not in str(found)


def read(folder: Path, text: str, **environ: str) -> OtelSettings:
    file = folder / "promptcache.toml"
    file.write_text(text)
    values = {"XDG_DATA_HOME": str(folder)} | environ
    return make_settings(parse_arguments(["--config", str(file)]), values).otel


def test_where_spans_go(tmp_path: Path) -> None:
    general = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://general:4318/"}
    exact = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://exact/spans"}
    assert read(tmp_path, "", **general) == OtelSettings(), "without the table nothing is sent"
    assert read(tmp_path, '[otel]\nendpoint = "http://c:4318"').endpoint == "http://c:4318/v1/traces"
    assert read(tmp_path, '[otel]\nendpoint = "http://c/v1/traces"').endpoint == "http://c/v1/traces"
    assert read(tmp_path, "[otel]", **general).endpoint == "http://general:4318/v1/traces"
    assert read(tmp_path, "[otel]", **general, **exact).endpoint == "http://exact/spans"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[otel]", "otel.endpoint: is missing."),
        ('[otel]\nendpoint = "grpc://secret"', "otel.endpoint: is no http:// or https:// address."),
        ('[otel]\nendpoint = "http://a"\nmax_queue = 0', "otel.max_queue: must be from 1"),
        ('[otel]\nendpoint = "http://a"\nservice_name = " "', "otel.service_name: must not be empty."),
        ('[otel]\nendpont = "http://a"', "Did you mean endpoint?"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read(tmp_path, text)
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_missing_extra_is_one_clear_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("promptcache_gateway.telemetry.otel_settings.find_spec", lambda name: None)
    with pytest.raises(StartupError, match=r"pip install 'promptcache\[otel\]'"):
        read(tmp_path, '[otel]\nendpoint = "http://a"')
    assert cli.main(["--check", "--config", str(tmp_path / "promptcache.toml")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "opentelemetry.sdk.trace" in said


def test_nothing_is_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, promptcache_gateway.app, promptcache_gateway.observe.journal\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry.sdk')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
