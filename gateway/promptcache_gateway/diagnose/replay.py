"""Plays a log's requests through the gateway's observer, at the times at which they were sent.

The diagnosis is the gateway's own; this module only gives it what a log has and takes back what a log cannot
tell. Where a log does not say what was read, nothing is said of the upstream. Where it leaves out part of the
prompt, an identical prefix is not known to be identical, and nobody is blamed for it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptcache.price_list import load_price_list
from promptcache.quick_values import quick
from promptcache.segments import cut_request
from promptcache.usage import Usage
from promptcache_gateway.diagnose.bounded import keep
from promptcache_gateway.diagnose.ordering import MAX_TENANTS
from promptcache_gateway.exchange import Call, Outcome
from promptcache_gateway.observe.history import History
from promptcache_gateway.observe.money import Money
from promptcache_gateway.observe.observer import Observer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from promptcache_gateway.diagnose.exchange import LoggedExchange
    from promptcache_gateway.diagnose.ordering import Place
    from promptcache_gateway.exchange import Dialect
    from promptcache_gateway.observe.diagnosis import Diagnosis
    from promptcache_gateway.observe.record import RequestRecord

BYTES_A_TOKEN = 4
"""What a token is taken to stand for where the log does not count: an estimate, and marked as one."""

_UPSTREAM = "the upstream"
_NEED_IT_WHOLE = frozenset({"PC602", "PC809"})
_NEED_TIMES = frozenset({"PC608", "PC802", "PC809"})
_FAILED = 400
_FIRST_OUTPUT_S = 10.0  # a long prompt's first output may take so long
_REMEMBERED = 4096
_MAY_WAIT = (
    "The request before it was sent a moment earlier; whether it had begun to be answered is not logged."
)
_TIMELESS = "Less was read than before; the log lacks the times that would say whether the entry had expired."
_TICK_S = 1e-6  # between requests of a log without times: of any number of them none is said to have expired


@dataclass(slots=True)
class LoggedUpstream:
    """Whatever the log's requests went to: judged by what is known of each request's model."""

    name: str = _UPSTREAM
    kind: str = "hosted"
    granularity: int | None = None


@quick
@dataclass(frozen=True, slots=True)
class Judged:
    """One request of the log, diagnosed.

    Attributes:
        line: where it stands in the log.
        record: what the gateway would have recorded.
        counted: the log says how many tokens the prompt had; else they are estimated from its bytes.
        exchange: what was logged.
    """

    line: int
    record: RequestRecord
    counted: bool
    exchange: LoggedExchange


@dataclass(frozen=True, slots=True)
class _Sent:
    """When a request was sent, None where that is not logged, and whether its answer's beginning is."""

    time: float | None
    told: bool


class Replay:
    """Judges requests, one after the other.

    Args:
        money: prices; None: the shipped ones and the user's own.

    Attributes:
        money: the prices it goes by.
    """

    def __init__(self, money: Money | None = None) -> None:
        self._now = 0.0
        self._latest: OrderedDict[str, float] = (
            OrderedDict()
        )  # by tenant: each has a clock, files are read one after the other
        # Read once: an export that begins with the newest has a new observer for every stretch.
        self.money = money if money is not None else Money(load_price_list().find)
        self._observer = self._make_observer()
        self._numbers = 0
        self._sent: OrderedDict[str, _Sent] = OrderedDict()

    def judge(self, line: int, exchange: LoggedExchange, place: Place = "next") -> Judged:
        """Diagnose one request.

        Args:
            line: where it stands in the log.
            exchange: the request.
            place: ``late``: some that were sent after it have been judged; nobody is blamed for it then.
                ``anew``: it was sent before all that have been judged; they are forgotten.

        Raises:
            promptcache.errors.MalformedRequestError: its body is not one of the known shapes.
        """
        if place == "anew":
            self._latest.clear()
            self._observer = self._make_observer(gaps=True)
        segments = cut_request(exchange.body)
        self._now = self._time_of(exchange)
        usage, counted = exchange.usage, True
        if exchange.status >= _FAILED:
            usage = Usage.from_response({}) if usage is None else usage
        elif usage is None or usage.total_input is None:
            size = sum(len(segment.text.encode("utf-8", "surrogatepass")) for segment in segments)
            tokens = max(1, size // BYTES_A_TOKEN)
            usage, counted = Usage.from_response({"usage": {"prompt_tokens": tokens}}), False
        call = self._call(exchange)
        ttft = exchange.ttft_ms
        outcome = Outcome(exchange.status, usage, ttft, ttft or 0.0, None, None, None)
        observation = self._observer.open(call)
        record = self._observer.close(observation, outcome)
        known = _out_of_order(record) if place == "late" else _taken_back(record, exchange)
        if known.diagnosis.cause in _NEED_TIMES:
            known = self._by_the_clock(known, exchange)
        keep(self._sent, call.id, _Sent(exchange.time, told=ttft is not None), _REMEMBERED)
        return Judged(line, known, counted, exchange)

    def _time_of(self, exchange: LoggedExchange) -> float:
        """When a request was sent, never before its tenant's last one."""
        last = self._latest.get(exchange.tenant, 0.0)
        now = last + _TICK_S if exchange.time is None else max(last, exchange.time)
        keep(self._latest, exchange.tenant, now, MAX_TENANTS)
        return now

    def _by_the_clock(self, record: RequestRecord, exchange: LoggedExchange) -> RequestRecord:
        """The record of a request whose cause rests on times, without a verdict where the log lacks them.

        What it is compared with, of whose answer no beginning is logged, may still have waited, too.
        """
        diagnosis = record.diagnosis
        sent = self._sent.get(diagnosis.compared_with or "")
        if exchange.time is None or (sent is not None and sent.time is None):
            unread = replace(diagnosis, expected_cached_tokens=None, reusable_tokens=None)
            return replace(record, diagnosis=_unknown(unread, _TIMELESS))
        if diagnosis.cause != "PC809" or sent is None or sent.told or sent.time is None:
            return record
        waits = self._now - sent.time < _FIRST_OUTPUT_S
        return replace(record, diagnosis=_unknown(diagnosis, _MAY_WAIT)) if waits else record

    def _make_observer(self, *, gaps: bool = False) -> Observer:
        """An observer that knows no request; with ``gaps`` it says of none that nothing came before."""
        history = History()
        if gaps:
            history.has_gaps()
        upstreams = [LoggedUpstream()]
        return Observer(upstreams, history=history, money=self.money, clock=lambda: self._now)

    def _call(self, exchange: LoggedExchange) -> Call:
        self._numbers += 1
        model = exchange.body.get("model")
        return Call(
            id=exchange.id or f"request {self._numbers}",
            received_at=self._now,
            dialect=_dialect(exchange.body),
            path="",
            body=b"",
            payload=exchange.body,
            model=model if isinstance(model, str) else "",
            stream=False,
            tenant=exchange.tenant,
            template=exchange.template,
            upstream=_UPSTREAM,
            use_cache=True,
            want_body=False,
        )


def _dialect(body: Mapping[str, Any]) -> Dialect:
    if "messages" in body:
        return "anthropic.messages" if "system" in body else "openai.chat"
    return "openai.completions" if "prompt" in body else "openai.responses"


def _taken_back(record: RequestRecord, exchange: LoggedExchange) -> RequestRecord:
    """The record without what this log is no evidence of."""
    diagnosis = record.diagnosis
    if "PC810" in diagnosis.causes and (exchange.usage is None or exchange.usage.total_input is None):
        return replace(record, diagnosis=_without(diagnosis, "PC810"))
    if diagnosis.cause in _NEED_IT_WHOLE and not exchange.whole:
        summary = (
            "Less was read than before; the log leaves out the instructions and tools, which may differ."
        )
        return replace(record, diagnosis=_unknown(diagnosis, summary))
    return record


def _out_of_order(record: RequestRecord) -> RequestRecord:
    """The record of a request that stands far behind later ones: those are no evidence against it."""
    diagnosis = record.diagnosis
    if not diagnosis.causes:
        return record
    summary = "It stands far behind requests that were sent after it; nothing is said of it."
    return replace(record, diagnosis=_unknown(diagnosis, summary))


def _unknown(diagnosis: Diagnosis, summary: str) -> Diagnosis:
    """The diagnosis without a verdict; what was lost, if anything, is not known then either."""
    lost: dict[str, Any] = {"hit": None, "losses": {}, "places": (), "lost_tokens": None}
    return replace(
        diagnosis,
        cause=None,
        causes=(),
        remedy=None,
        attribution="unknown",
        summary=summary,
        lost_usd=None,
        **lost,
    )


def _without(diagnosis: Diagnosis, code: str) -> Diagnosis:
    causes = tuple(other for other in diagnosis.causes if other != code)
    if causes:
        return replace(diagnosis, causes=causes)
    summary = "Nothing the log shows breaks the prefix; it does not say what was read."
    return replace(diagnosis, cause=None, causes=(), remedy=None, attribution="unknown", summary=summary)
