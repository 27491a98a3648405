"""Watches every request: names its template, finds its predecessor, says why it missed, records it.

`open` is on the request's path and only notes that it came; the look at it, and the comparison, wait until
it is on its way. What goes wrong in here is logged without prompt text: a request unobserved is still served.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache.errors import PromptCacheError
from promptcache.price_list import load_price_list
from promptcache_gateway.observe.answered import Answered
from promptcache_gateway.observe.arrivals import Arrivals
from promptcache_gateway.observe.conventions import Conventions
from promptcache_gateway.observe.diagnosis import Diagnosis, Draft
from promptcache_gateway.observe.ending import Ended, settle, was_computed
from promptcache_gateway.observe.forecast import foretell
from promptcache_gateway.observe.history import History
from promptcache_gateway.observe.known_upstreams import KnownUpstreams
from promptcache_gateway.observe.lookout import Lookout
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.money import Money
from promptcache_gateway.observe.observation import Observation, Sight
from promptcache_gateway.observe.plausible import believed
from promptcache_gateway.observe.preparing import prepare
from promptcache_gateway.observe.reading import PromptReader
from promptcache_gateway.observe.recording import make_record
from promptcache_gateway.observe.refused import refused
from promptcache_gateway.observe.renames import Renames, family_of
from promptcache_gateway.observe.template_name import NAMELESS, TemplateName
from promptcache_gateway.observe.templates import Templates
from promptcache_gateway.observe.verdict import draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptcache.usage import Usage
    from promptcache_gateway.exchange import Call, EngineFacts, Outcome
    from promptcache_gateway.observe.journal import Journal
    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.observe.rules import CachedUpstream
    from promptcache_gateway.observe.templates import LearnedTemplate

_log = logging.getLogger(__name__)

_FAILED = Diagnosis(summary="The diagnosis failed; the gateway's log says where.")
_UNSTRUCTURED_DIALECTS = frozenset({"openai.embeddings"})
"""Calls that no provider keeps prefixes for: they are counted, and nothing is said of their prompts."""


class Observer:
    """Opens, previews and closes observations. Safe to share between threads; never raises.

    Args:
        upstreams: those that calls may name; others are judged by what every provider promises.
        journal: where records go; None: nowhere but to the listeners.
        listeners: called with every record once its request has ended.
        history: the requests to compare with; None: an empty one with its ordinary bounds.
        money: prices; None: the shipped ones, with the user's own over them.
        clock: Unix time in seconds.

    Attributes:
        forgetters: called with a tenant that is to be forgotten, by others who remember something of it.
        renamers: called with a tenant, a template's name and what it is called from now on.
    """

    def __init__(
        self,
        upstreams: Iterable[CachedUpstream] = (),
        journal: Journal | None = None,
        *,
        listeners: Iterable[Callable[[RequestRecord], None]] = (),
        history: History | None = None,
        money: Money | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.journal = journal
        self.forgetters: list[Callable[[str], None]] = []
        self.renamers: list[Callable[[str, str, str], None]] = []
        self._clock = clock
        self._masker = Masker()
        self._reader = PromptReader(self._masker)
        self._history = history if history is not None else History()
        self._templates = Templates(self._masker, clock=clock, moved=self._history.part)
        self._money = money if money is not None else Money(load_price_list().find)
        self._upstreams = KnownUpstreams(upstreams)
        self.conventions = Conventions()
        self._lookout = Lookout(self._reader, self._templates, self._upstreams, self._history)
        self._listeners = (*(() if journal is None else (journal.record,)), *listeners)
        self._open: set[str] = set()
        self.answered = Answered()
        self._arrivals = Arrivals(self._look, self.prepare, self._note_end)

    def serve(self, upstreams: Iterable[CachedUpstream]) -> None:
        """Take other upstreams than before."""
        self._upstreams.serve(upstreams)

    async def start(self) -> None:
        """Open the journal, if there is one; raises `StartupError` where its database is unusable."""
        if self.journal is not None:
            await self.journal.start(self._templates)

    async def stop(self) -> None:
        """Write what the journal still holds."""
        if self.journal is not None:
            await self.journal.stop()

    def price(self, money: Money) -> None:
        """Go by other prices."""
        self._money = money

    def cost(self, usage: Usage, model: str) -> float | None:
        """What so much use of a model costs in USD; None where that is not known."""
        return self._money.cost(usage, model)

    @property
    def renames(self) -> Renames:
        """What operators call templates."""
        return self._templates.renames

    def rename(self, tenant: str, name: str, to: str) -> dict[str, str]:
        """Show a template under another name from now on; the own names that this concerns."""
        changed = self.renames.rename(tenant, name, to)
        self._history.rename(tenant, family_of(name), family_of(to))
        if self.journal is not None:
            self.journal.rename(tenant, name, to)
        for told in self.renamers:
            told(tenant, name, to)
        return changed

    def others_serve(self) -> None:
        """Note that others answer requests too, which are not known here: none is said to be the first."""
        self._history.has_gaps()

    def learn(self, template: LearnedTemplate) -> str | None:
        """Know a template that another process has learned; the name of the one that is the same, if any."""
        earlier = self._templates.alike(template)
        if earlier != template.name:
            self._templates.recall((template,))
        return None if earlier == template.name else earlier

    def forget(self, tenant: str) -> None:
        """Forget what is remembered of a tenant; what is in the database is the store's to delete."""
        self._templates.forget(tenant)
        self._history.forget(tenant)
        self._reader.forget(tenant)
        if self.journal is not None:
            self.journal.forget(tenant)
        for forget in self.forgetters:
            forget(tenant)

    def open(self, call: Call) -> Observation:
        """Note a request that has come in."""
        self._open.add(call.id)
        observation = Observation(call, self._arrivals.look_at)
        self._arrivals.add(observation)
        return observation

    def move(self, observation: Observation, call: Call) -> Observation:
        """Note that a request goes to another upstream after all; ``call`` is what goes there."""
        sight = observation.sight
        if sight.entry is not None:
            self._history.discard(call.tenant, sight.name.family, sight.entry)
        return self.open(call)

    def prepare(
        self, observation: Observation, *, whatever_is_read: bool = False, at_leisure: bool = False
    ) -> None:
        """Compare while the upstream still works, so that its answer need not wait for it (`preparing`)."""
        try:
            evidence = observation.evidence(self._masker)
            prepare(evidence, whatever_is_read=whatever_is_read, at_leisure=at_leisure)
            self.answered.foresee(observation)
        except Exception as error:  # noqa: BLE001 - as above
            _report("compare", observation.call, error)

    def preview(self, observation: Observation, engine: EngineFacts | None) -> Diagnosis | Draft:
        """What is known before the answer's body; ``engine`` where the built-in engine serves it."""
        self._arrivals.look_at(observation)
        entry = observation.sight.entry
        if entry is not None and entry.answered_at is None:
            entry.answered_at = max(self._clock(), observation.call.received_at)
        return self._diagnose(observation, None, engine)

    def conclude(self, observation: Observation, outcome: Outcome) -> Ended:
        """What its answer says of a request, all that the caller waits for. Call it once for each.

        `finish` does the rest, and must be called; history hears of the end before it is asked again.
        """
        self._arrivals.look_at(observation)
        call, sight = observation.call, observation.sight
        if outcome.engine is None:
            usage = self.conventions.read(call, believed(outcome.usage, sight.prompt))
            if usage is not outcome.usage:
                outcome = replace(outcome, usage=usage)
        outcome = self._upstreams.placed(call, outcome)
        diagnosis = self._diagnose(observation, outcome, outcome.engine)
        shown = self._templates.renames.shown(call.tenant, sight.name.name)
        question = outcome.question
        named = None if question is None else self.answered.named(observation, question)
        ended = Ended(observation, outcome, diagnosis, shown, named)
        self._arrivals.end(ended)
        return ended

    def finish(self, ended: Ended) -> RequestRecord:
        """The final record of a request whose answer is out; it is handed to every listener.

        Call it once for each, and as soon as the answer has been sent.
        """
        self._arrivals.settle()
        call = ended.observation.call
        try:
            shown = self.renames.shown(call.tenant, ended.observation.template)  # it may be another by now
            record = make_record(ended, self._write(ended), self._money, template=shown)
            for listener in self._listeners:
                try:
                    listener(record)
                except Exception as error:  # noqa: BLE001 - one listener must not silence the others
                    _report("record", call, error)
            return record
        finally:
            self._open.discard(call.id)

    def close(self, observation: Observation, outcome: Outcome) -> RequestRecord:
        """Conclude and finish at once, where no answer waits: the final record."""
        return self.finish(self.conclude(observation, outcome))

    def warmed(self, call: Call) -> None:
        """Note that an upstream has computed and kept a call's prompt without answering it."""
        entry = self.open(call).sight.entry
        if entry is not None:
            entry.answered_at = max(self._clock(), call.received_at)
        self._open.discard(call.id)

    def is_open(self, request_id: str) -> bool:
        """Whether a request is still under way."""
        return request_id in self._open

    def cache_was_emptied(self, upstream: str) -> None:
        """Note that an upstream's cache holds nothing any more."""
        self._arrivals.catch_up()
        self._upstreams.was_emptied(upstream, self._clock())

    # --- opening ---

    def _look(self, observation: Observation) -> None:
        call = observation.call
        try:
            if call.dialect not in _UNSTRUCTURED_DIALECTS:
                observation.see(self._observe(call))
                return
        except (PromptCacheError, RecursionError):
            pass  # no known shape: the route says so to the caller; or it is nested as deep as can be read
        except Exception as error:  # noqa: BLE001 - observing must never cost a request
            _report("open", call, error)
        observation.see(Sight(self._unread_name(call), self._upstreams.rules(call)))

    def _observe(self, call: Call) -> Sight:
        return self._lookout.look(call)

    def _unread_name(self, call: Call) -> TemplateName:
        try:
            return self._templates.name(call.tenant, call.template, None)
        except Exception:  # noqa: BLE001 - as above
            return NAMELESS

    # --- closing ---

    def _diagnose(
        self, observation: Observation, outcome: Outcome | None, engine: EngineFacts | None
    ) -> Diagnosis | Draft:
        usage = placement = None
        if outcome is not None:
            if outcome.status >= 400 and not was_computed(outcome):
                return refused(observation, outcome.status)
            usage, placement = outcome.usage, outcome.placement
        try:
            evidence = observation.evidence(self._masker)
            if not evidence.rules.reports_exactly:
                diagnosis = draft(evidence, usage, engine, placement)
                return self._money.price_loss(diagnosis, observation.call.model, usage)
            if engine is not None:  # the built-in one, which has no prices
                observation.forecast = foretell(observation.forecast, evidence, engine)
                return observation.forecast.found
            return draft(evidence, usage, None, placement)
        except Exception as error:  # noqa: BLE001 - as above
            _report("diagnose", observation.call, error)
            return _FAILED

    def _write(self, ended: Ended) -> Diagnosis:
        try:
            return ended.diagnosis.whole()
        except Exception as error:  # noqa: BLE001 - as above
            _report("diagnose", ended.observation.call, error)
            return _FAILED

    def _note_end(self, ended: Ended) -> None:
        try:
            self._settle(ended)
        except Exception as error:  # noqa: BLE001 - as above
            _report("close", ended.observation.call, error)

    def _settle(self, ended: Ended) -> None:
        settle(ended, self._history, self.answered)


def _report(what: str, call: Call, error: Exception) -> None:
    """Log a failure by its place. The message is left out: it may quote the prompt."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "?"
    _log.error("observer: %s of %s failed: %s at %s", what, call.id, type(error).__name__, place)
