"""The observer of a worker: what its peers see is known to it too, and its own is told to them.

A conversation's next turn may reach any worker. So each tells the others of every request it has looked at,
cut and keyed as it is, of what was put into it on its way, and of how it ended; a template that one learns is
known to all. Keys rest on Python's hash of strings, so all workers of one gateway are started with one seed.
Records go to the parent.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from promptcache.segments import Segment
from promptcache_gateway.observe import Observer
from promptcache_gateway.observe.arrivals import Arrivals
from promptcache_gateway.observe.history import Entry
from promptcache_gateway.observe.prompt import Prompt, marked_segments, share_texts
from promptcache_gateway.shared.frames import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from promptcache_gateway.exchange import Call, EngineFacts
    from promptcache_gateway.observe.diagnosis import Diagnosis, Draft
    from promptcache_gateway.observe.ending import Ended
    from promptcache_gateway.observe.money import Money
    from promptcache_gateway.observe.observation import Observation, Sight
    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.observe.rules import CachedUpstream
    from promptcache_gateway.observe.templates import LearnedTemplate

    Tell = Callable[[Kind, Any], bool]

_MOMENT_S = 0.01
_SEGMENT = attrgetter(*(field.name for field in fields(Segment)))
_PROMPT = attrgetter(*(field.name for field in fields(Prompt) if field.name != "pieces"))  # found out anew

Packed = tuple[tuple[tuple[Any, ...], ...], tuple[Any, ...]]
"""A prompt's segments, and its other fields."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that a worker has looked at: what its peers keep of it. `Packed` is how a prompt travels.

    ``given`` is the name that its caller used. Whoever hears of it finds the template as if it had come
    there: so all know the same of what comes again, and look for it in the same place.
    """

    tenant: str
    given: str | None
    id: str
    model: str
    upstream: str
    received_at: float
    lifetime_s: float
    prompt: Packed


@dataclass(frozen=True, slots=True)
class Additions:
    """What a gateway put into a request on its way: settings, which of these are its own, breakpoints.

    ``lifetime_s``: how long what it left is kept for then, in seconds.
    """

    parameters: Mapping[str, Any]
    own: frozenset[str]
    breakpoints: tuple[tuple[int, Any], ...]
    lifetime_s: float

    def within(self, prompt: Prompt) -> Prompt:
        """The prompt as its upstream saw it."""
        segments = list(prompt.segments)
        for at, mark in self.breakpoints:
            segments[at] = replace(segments[at], breakpoint=mark)
        return replace(
            prompt,
            segments=tuple(segments),
            marks=marked_segments(segments),
            parameters=self.parameters,
            own=self.own,
        )


@dataclass(frozen=True, slots=True)
class Settled:
    """How it ended. ``answered_at`` None: no upstream worked on it, and it is no predecessor."""

    id: str
    answered_at: float | None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    response_id: str | None = None
    additions: Additions | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What was known before a worker was there: templates, and every rename (tenant, own name, shown).

    ``others_served``: requests were answered before, of which this worker does not know.
    ``drained``: replicas (upstream, name) that are to get nothing.
    """

    templates: tuple[LearnedTemplate, ...]
    renames: tuple[tuple[str, str, str], ...]
    others_served: bool = False
    drained: tuple[tuple[str, str], ...] = ()


class PeerObserver(Observer):
    """An `Observer` without a journal, which tells and is told.

    Args:
        tell: sends a value to the parent, or through it to the peers; never waits.

    Attributes:
        lost: records that could not be handed over.
        onlookers: are told of what a peer put into a request: whose it was, and the request as it was sent.
    """

    def __init__(
        self,
        upstreams: Iterable[CachedUpstream] = (),
        *,
        tell: Tell,
        listeners: Iterable[Callable[[RequestRecord], None]] = (),
        money: Money | None = None,
    ) -> None:
        self._tell = tell
        self._theirs: WeakValueDictionary[str, _Theirs] = WeakValueDictionary()
        self._told: WeakKeyDictionary[Entry, Prompt] = WeakKeyDictionary()
        self.lost = 0
        self.onlookers: list[Callable[[str, Entry], None]] = []
        super().__init__(upstreams, None, listeners=(self._ship, *listeners), money=money)
        # What its peers have to tell of an earlier answer should be there when the next request is looked at.
        self._arrivals = Arrivals(self._look, self.prepare, self._note_end, moment_s=_MOMENT_S)

    def welcome(self, known: Known) -> None:
        """Know what was learned before."""
        self._templates.recall(known.templates)
        self.renames.recall(known.renames)
        if known.others_served:
            self._history.has_gaps()

    def recall(self, template: LearnedTemplate) -> None:
        """Know a template that a peer has learned."""
        self._templates.recall((template,))

    @property
    def open_requests(self) -> frozenset[str]:
        """The ids of the requests under way."""
        return frozenset(self._open)

    def saw(self, seen: Seen) -> None:
        """Know a request that a peer has looked at."""
        route = (seen.upstream, seen.model)
        prompt = _unpacked(seen.prompt)
        family = self._templates.name(seen.tenant, seen.given, prompt).family
        self._tell_learned()
        known = self._history.same_beginning(seen.tenant, family, prompt, route)
        if known is not None:
            prompt = share_texts(prompt, known.prompt)
        theirs = _Theirs(seen.tenant, family, seen.id, prompt, *reversed(route), seen.received_at)
        theirs.lifetime_s = seen.lifetime_s
        self._history.add(seen.tenant, family, theirs)
        self._theirs[seen.id] = theirs

    def settled(self, settled: Settled) -> None:
        """Know how a peer's request ended."""
        entry = self._theirs.get(settled.id)
        if entry is None:
            return
        if settled.answered_at is None:
            self._history.discard(entry.tenant, entry.family, entry)
            return
        entry.prompt_tokens, entry.cached_tokens = settled.prompt_tokens, settled.cached_tokens
        entry.answered_at = settled.answered_at
        if settled.additions is not None:
            entry.prompt = settled.additions.within(entry.prompt)
            entry.lifetime_s = settled.additions.lifetime_s
            for told in self.onlookers:
                told(entry.tenant, entry)
        self._history.learn(entry.tenant, entry.family, entry, ())  # its upstream answers
        self.answered.add(entry.tenant, entry, settled.response_id)

    def move(self, observation: Observation, call: Call) -> Observation:
        """Note that a request goes to another upstream after all; peers take back what they were told."""
        if observation.sight.entry is not None:
            self._tell(Kind.SETTLED, Settled(observation.call.id, None))
        return super().move(observation, call)

    def preview(self, observation: Observation, engine: EngineFacts | None) -> Diagnosis | Draft:
        """What is known before the answer's body; peers are told that it has begun."""
        known = observation.sight.entry
        pending = known is not None and known.answered_at is None
        found = super().preview(observation, engine)
        if known is not None and pending:
            self._tell_end(known)
        return found

    def _observe(self, call: Call) -> Sight:
        sight = super()._observe(call)
        self._tell_learned()
        if (entry := sight.entry) is not None:
            told = (entry.id, entry.model, entry.upstream, entry.received_at, entry.lifetime_s)
            self._told[entry] = entry.prompt
            self._tell(Kind.SEEN, Seen(call.tenant, call.template, *told, _packed(entry.prompt)))
        return sight

    def _tell_learned(self) -> None:
        for template in self._templates.take_learned():
            self._tell(Kind.LEARNED, template)

    def _settle(self, ended: Ended) -> None:
        super()._settle(ended)
        entry = ended.observation.sight.entry
        if entry is not None:
            self._tell_end(entry)

    def _tell_end(self, entry: Entry) -> None:
        told = self._told.pop(entry, entry.prompt)  # told once
        counts = (entry.prompt_tokens, entry.cached_tokens, entry.response_id)
        added = None if told is entry.prompt else _added_to(told, entry)
        self._tell(Kind.SETTLED, Settled(entry.id, entry.answered_at, *counts, added))

    def _ship(self, record: RequestRecord) -> None:
        if not self._tell(Kind.RECORD, record):
            self.lost += 1


class _Theirs(Entry):
    """A peer's request, with where it stands in history."""

    __slots__ = ("family", "tenant")

    def __init__(self, tenant: str, family: str, *fields: Any) -> None:
        super().__init__(*fields)
        self.tenant, self.family = tenant, family


def _packed(prompt: Prompt) -> Packed:
    """A prompt as plain tuples, which are pickled and read many times faster than its own classes."""
    segments, *others = _PROMPT(prompt)
    return tuple(_SEGMENT(segment) for segment in segments), tuple(others)


def _unpacked(packed: Packed) -> Prompt:
    segments, others = packed
    return Prompt(tuple(Segment(*fields) for fields in segments), *others)


def _added_to(told: Prompt, entry: Entry) -> Additions:
    sent = entry.prompt
    marks = [(at, sent.segments[at].breakpoint) for at in sent.marks if at not in told.marks]
    return Additions(sent.parameters, sent.own, tuple(marks), entry.lifetime_s)
