"""One exchange under way: its clock, its observation, and how it ends.

Whatever happens to a request, its observation is closed exactly once, with what was known by then: what its
answer says is found out before that is sent, and all else, which nobody waits for, after it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from promptcache.quick_values import changed
from promptcache.usage import Usage
from promptcache_gateway.exchange import Change, Outcome
from promptcache_gateway.failures import log_failure
from promptcache_gateway.mutations import MUTATIONS, Mutator
from promptcache_gateway.mutations.standing import standing_changes
from promptcache_gateway.plane import hangup
from promptcache_gateway.plane.answers import Answer
from promptcache_gateway.plane.dispatch import at
from promptcache_gateway.plane.estimate import OutputMeter, estimated
from promptcache_gateway.plane.questions import asking, for_line, own_question, question_of
from promptcache_gateway.plane.summary import final_summary, preview_summary, without_isolation
from promptcache_gateway.upstreams.base import WholeReply

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call, Question
    from promptcache_gateway.observe import Observer, RequestRecord
    from promptcache_gateway.observe.ending import Ended
    from promptcache_gateway.plane.dispatch import PassedOver
    from promptcache_gateway.plane.heartbeat import Heartbeat
    from promptcache_gateway.upstreams.base import Inbound, StreamReply
    from promptcache_gateway.upstreams.switchboard import Hop, Line

CALLER_GONE = 499
_LEFT = frozenset({hangup.CALLER_GONE, hangup.CALLER_STALLED})
# What a stream that had begun as a 200 is recorded as, where it was cut by something that went wrong.
_CUT = {"upstream_timeout": 504, "deadline_exceeded": 504, "engine_unavailable": 503, "engine_error": 500}
_CUT_OTHERWISE = 502


class Flight:
    """A call between its reception and its end.

    Attributes:
        call: the call as it is observed.
        received: the call as the caller sent it.
        reply: the upstream's reply once there is one.
        started: whether status and headers have been sent.
        record: what was recorded, once it is finished.
        tokens: what the request has used, prompt and answer together, as far as the upstream told or, of one
            that is metered, by an estimate.
        changes: what of it was changed for the upstream that was asked last.
        answer: the answer to a provider's own question about its cache, where there is one.
        meter: counts the text of the answer; None where nobody needs to know.
        heart: sends the pieces of a stream, once it has begun.
    """

    reply: WholeReply | StreamReply | None = None
    started = False
    record: RequestRecord | None = None
    tokens = 0
    changes: tuple[Change, ...] = ()
    answer: Answer | None = None
    heart: Heartbeat | None = None
    _departed = False
    _question: Question | None = None
    _has_ended = False
    _unfinished: Ended | None = None

    def __init__(
        self,
        call: Call,
        observer: Observer,
        mutator: Mutator | None = None,
        *,
        received: Call | None = None,
        admin: bool = True,
        metered: bool = False,
    ) -> None:
        """Begin one.

        Args:
            call: as it is observed.
            observer: observes it.
            mutator: changes what goes out; None: nothing does.
            received: as it was received; None: as it is observed.
            admin: the caller may know what other tenants' requests left in a cache.
            metered: what it uses is estimated where the upstream does not say.
        """
        self.received = call if received is None else received
        self._first = call
        self._been: list[tuple[Hop, Call, tuple[Change, ...]]] = []
        self._admin = admin
        self._mutator = Mutator() if mutator is None else mutator
        self.call = call
        self.meter = OutputMeter(call.dialect) if metered else None
        self._observer = observer
        self._begun = time.perf_counter()
        self._observation = observer.open(call)

    @property
    def streams_events(self) -> bool:
        """Whether a stream of events to the caller has begun."""
        return self.started and bool(getattr(self.reply, "events", False))

    @property
    def seam(self) -> bytes:
        """What ends an event that the caller has a part of, before another is sent."""
        return b"" if self.heart is None or self.heart.between_events else b"\n\n"

    def ask(self, line: Line) -> Question | None:
        """What is asked about the cache at the provider: by the caller, or by the gateway itself."""
        found = question_of(self.call)
        if found is None:
            asked = self._observer.answered.asks_about
            found = own_question(self.call, line, lambda: asked(self._observation))
        self._question = self._observation.question = found
        return found

    def expect(self, question: Question, line: Line) -> Answer:
        """Have the question answered by whoever answers it at the upstream that took the call."""
        asked = for_line(question, line)
        told = self._observer.answered.answer
        self.answer = Answer(asked, lambda usage: told(self._observation, asked, usage))
        return self.answer

    def depart(self, received: Call, hop: Hop, inbound: Inbound) -> tuple[Call, Inbound]:
        """What goes to one place of the route, of a call as it was received and what came with it.

        At another upstream, or with another model, than what it was opened for, the request is still one, and
        is observed as what goes there.
        """
        there = at(received, hop)
        sent = asking(there, self._question, hop.line)
        seen = self._mutator.prepare(sent, hop.line)
        self._move(seen)
        here, inbound = self._mutator.apply(seen, inbound, hop.line, self._observation)
        standing = standing_changes(received, sent, there.body, hop.line)
        self._departed = True
        self.changes = (*standing, *here.changes) if here.changes else standing
        self._been.append((hop, seen, self.changes))
        return here, inbound

    def come_back(self, hop: Hop, passed_over: PassedOver) -> None:
        """Be observed as what went to a place before: what was met there is told, for fallbacks refused it.

        One that was not asked, since it is left alone for a moment, is the first: it was opened for that.
        """
        seen, changes = next(((seen, made) for at, seen, made in self._been if at is hop), (self._first, ()))
        self._move(seen)
        self.changes = (*changes, Change("fallback", skipped=passed_over))

    def _move(self, seen: Call) -> None:
        """Be observed as ``seen`` from now on, where it goes to another upstream or model."""
        if (seen.upstream, seen.model) != (self.call.upstream, self.call.model):
            self.call = seen
            self._observation = self._observer.move(self._observation, seen)
            self._observation.question = self._question

    def prepare(self) -> None:
        """Compare it as what it has departed as, while the upstream works."""
        self._observer.prepare(self._observation, whatever_is_read=True)

    def preview(self) -> dict[str, Any]:
        """The summary of what is known before the first byte of the answer."""
        engine = self.reply.engine if self.reply is not None else None
        diagnosis = self._observer.preview(self._observation, engine)
        return self._shown(preview_summary(self.call.id, self._observation.template, diagnosis, engine))

    def end(self, status: int, error: str | None = None, *, whole: bool = False) -> dict[str, Any]:
        """Conclude the observation: what the answer says, which waits for nothing else.

        `finish` does the rest, and must be called. A second call of this one says only the request's id.

        Args:
            status: the HTTP status the caller got, which a reply's error in a stream still changes.
            error: what ended it, where that is not the reply's own error.
            whole: finish it, too.
        """
        if self._has_ended:
            return {"request_id": self.call.id}
        self._has_ended = True
        ended = self._observer.conclude(self._observation, self._outcome(status, error))
        if whole:
            self._finish(ended)
        else:
            self._unfinished = ended
        return self._shown(final_summary(ended))

    def finish(self) -> None:
        """Record what has ended, as soon as its answer has been sent; a second call changes nothing."""
        ended, self._unfinished = self._unfinished, None
        if ended is not None:
            self._finish(ended)

    def _finish(self, ended: Ended) -> None:
        try:
            if self.meter is not None:
                outcome = ended.outcome
                estimate = self._estimate(self.meter, outcome.error)
                ended = changed(ended, outcome=changed(outcome, estimate=estimate))
            record = self._observer.finish(ended)
        except Exception as error:  # noqa: BLE001 - the answer is out, and the next one's turn has come
            log_failure(f"request {self.call.id}", error)
            return
        self.record = record
        told = (record.prompt_tokens or 0) + (record.output_tokens or 0)
        self.tokens = told if record.estimated_tokens is None else record.estimated_tokens

    def _shown(self, summary: dict[str, Any]) -> dict[str, Any]:
        shown = summary if self._admin else without_isolation(summary)
        if not self.changes:
            return shown
        made = [change.name for change in self.changes if change.name in MUTATIONS and change.paths]
        return {**shown, "mutations": made} if made else shown

    def _outcome(self, status: int, error: str | None) -> Outcome:
        reply, answer, begun = self.reply, self.answer, self._begun
        took_ms = (time.perf_counter() - begun) * 1000.0
        question, theirs = (None, None) if answer is None else (answer.question, answer.theirs)
        if reply is None:
            status = _status(status, error)
            usage = Usage.unreported()
            return Outcome(status, usage, None, took_ms, None, error, None, question, theirs, self.changes)
        error = error or reply.error
        first = reply.first_output_at
        return Outcome(
            status if error is None else _status(status, error),
            reply.usage,
            None if first is None else (first - begun) * 1000.0,
            took_ms,
            reply.engine,
            error,
            reply.response_id,
            question,
            theirs,
            self.changes,
        )

    def _estimate(self, meter: OutputMeter, error: str | None) -> Usage | None:
        """What a request that is paid for at the provider has used, where it must be estimated."""
        reply = self.reply
        answered = self._departed and error in _LEFT if reply is None else reply.status < 400
        if not answered:
            return None
        if isinstance(reply, WholeReply):
            meter.whole(reply.body)
        usage = reply.usage if reply is not None else Usage.unreported()
        cut = error is not None
        return estimated(usage, len(self.received.body), meter.seen, cut=cut)


def _status(status: int, error: str | None) -> int:
    """What is recorded of an answer that was a 200 until something went wrong."""
    return _CUT.get(error, _CUT_OTHERWISE) if error is not None and status < 400 else status
