"""Gathers requests whose prompts were not kept into rows, and judges each row when it is complete.

Requests are gathered by conversation where the log names one, else by tenant, template and model. What a row
proves is `rows`' business, what it only shows is `patterns`'.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache.quick_values import changed, quick
from promptcache.usage import Usage
from promptcache_gateway.diagnose.patterns import Pattern, pattern_of
from promptcache_gateway.diagnose.replay import Judged
from promptcache_gateway.diagnose.rows import judge_row
from promptcache_gateway.observe.record import RequestRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache.counters import CounterRecord
    from promptcache_gateway.diagnose.exchange import LoggedExchange
    from promptcache_gateway.observe.diagnosis import Diagnosis
    from promptcache_gateway.observe.money import Money

_MOST_LINES = 65_536  # in all rows; then the row that has been idle for longest is judged
_MOST_REQUESTS = 512  # of a row; then it is judged, and begun anew with its last request
_OF_SEVERAL = 0.1  # of all sessions: where fewer go on than that, a session is a request


@quick
@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    exchange: LoggedExchange
    counts: CounterRecord


class Counted:
    """Gathers requests of which only counters are known, and judges them in rows.

    Args:
        money: prices.
    """

    def __init__(self, money: Money) -> None:
        self._money = money
        self._rows: OrderedDict[tuple[str, ...], list[_Line]] = OrderedDict()
        self._carried: set[int] = set()  # lines that begin a row and were judged in the one before
        self._lines = 0
        self._gone: set[int] = set()  # rows that were judged before their end
        self._sessions, self._grown = 0, 0  # how many were begun, and how often one went on

    def add(self, number: int, exchange: LoggedExchange) -> Iterator[tuple[list[Judged], Pattern | None]]:
        """Take a request; yields the rows that are complete with it."""
        assert exchange.counts is not None
        model = str(exchange.body.get("model"))
        key = (exchange.tenant, exchange.template or "", *_of_session(exchange.session, model))
        row = self._rows.setdefault(key, [])
        self._rows.move_to_end(key)
        row.append(_Line(number, exchange, exchange.counts))
        if key[2] == "session":
            self._grown += len(row) > 1 or hash(key) in self._gone
            self._sessions += len(row) == 1 and hash(key) not in self._gone
        self._lines += 1
        if len(row) >= _MOST_REQUESTS:
            yield self._judge(key, row)
            self._carried.add(number)
            self._rows[key] = row[-1:]
            self._lines += 1
        while self._lines > _MOST_LINES:
            yield from self._end_of(*self._rows.popitem(last=False))

    def rest(self) -> Iterator[tuple[list[Judged], Pattern | None]]:
        """The log has ended; yields all that are left."""
        while self._rows:
            yield from self._end_of(*self._rows.popitem(last=False))

    def _end_of(
        self, key: tuple[str, ...], row: list[_Line]
    ) -> Iterator[tuple[list[Judged], Pattern | None]]:
        """A row that ends here, judged.

        Some logs give each request a session of its own; those are joined to the others of their model.
        """
        lonely = self._grown <= _OF_SEVERAL * self._sessions
        if lonely and key[2] == "session" and len(row) == 1 and hash(key) not in self._gone:
            self._rows.setdefault((*key[:2], *_of_session(None, str(row[0].counts.model))), []).extend(row)
        else:
            yield self._judge(key, row)

    def _judge(self, key: tuple[str, ...], row: list[_Line]) -> tuple[list[Judged], Pattern | None]:
        self._lines -= len(row)
        known = row[0].number in self._carried
        self._carried.discard(row[0].number)
        named, begins = key[2] == "session", hash(key) not in self._gone
        verdicts = judge_row([line.counts for line in row], named=named, begins=begins)
        if len(self._gone) < _MOST_LINES:
            self._gone.add(hash(key))
        judged = [self._judged(*pair) for pair in zip(row, verdicts, strict=True)][known:]
        if not judged or any(verdict.cause not in {None, "PC801"} for verdict in verdicts):
            return judged, None
        return judged, pattern_of([line.counts for line in row], judged[0].record.template)

    def _judged(self, line: _Line, verdict: Diagnosis) -> Judged:
        exchange, counts = line.exchange, line.counts
        usage = exchange.usage if exchange.usage is not None else Usage.unreported()
        model = counts.model or ""
        if verdict.lost_tokens is not None:
            counted = changed(usage, total_input=counts.total_input, cache_write=counts.write)
            verdict = self._money.price_loss(verdict, model, counted)
        record = RequestRecord(
            id=exchange.id or f"entry {line.number}",
            time=exchange.time or 0.0,
            template=exchange.template or f"{model or 'unknown model'} (counters only)",
            learned=exchange.template is None,
            tenant=exchange.tenant,
            upstream="the upstream",
            model=model,
            dialect="counters",
            status=exchange.status,
            error=None,
            prompt_tokens=counts.total_input,
            cached_tokens=counts.read,
            cache_write_tokens=counts.write,
            uncached_tokens=counts.uncached,
            output_tokens=usage.output,
            reported=counts.read is not None and counts.total_input is not None,
            ttft_ms=exchange.ttft_ms,
            duration_ms=0.0,
            response_id=None,
            saved_usd=self._money.saved(usage, model),
            diagnosis=verdict,
        )
        return Judged(line.number, record, counted=True, exchange=exchange)


def _of_session(session: str | None, model: str) -> tuple[str, str]:
    return ("session", session) if session is not None else ("model", model)
