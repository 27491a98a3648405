"""Which template a request belongs to: named by its caller, or learned from what requests share.

A learned template is what its tools and instructions say once volatile values are masked, so a
changing clock does not split it. A head that is new is laid beside the known ones: one that says mostly
the same joins it, one that shares less lodges there until it is known what it is (`lodgers`). A name comes
from the first head's own digest and is the same after a restart. Requests without instructions are known by
how their first message begins. Only digests are kept, and only a bounded number of them: prompts that
never recur end up in one bucket. Templates that nobody has used for a day give way to new ones (`slots`).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Literal

from promptcache_gateway.observe.faces import face_of
from promptcache_gateway.observe.heads import Heads, Newcomer, Place
from promptcache_gateway.observe.renames import Renames, family_of
from promptcache_gateway.observe.signatures import Signature, digest_of, sign
from promptcache_gateway.observe.slots import Slots
from promptcache_gateway.observe.template_name import NAMELESS, TemplateName, clean_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptcache_gateway.observe.masking import Masker
    from promptcache_gateway.observe.prompt import Prompt

    Moved = Callable[[str, str, str, Callable[[Prompt], bool]], None]

_Sight = Literal["same", "like", "new"]

UNSTRUCTURED = NAMELESS.name
"""Requests that share neither instructions nor the beginning of a first message."""

OVERFLOW = "learned-other"
"""Requests for which no further template may be learned."""

MIXED = frozenset({UNSTRUCTURED, OVERFLOW})
"""Names under which requests of several templates stand together: their rates are no single prompt's."""

_SEEN_ONCE = 2_048  # heads that came once, remembered in case they recur
AGENTS = 16
"""So many templates that say mostly the same are not agents', but one with other values."""
_OPENING_CHARS = 256  # a first message with less than this is a question, not a template


@dataclass(frozen=True, slots=True)
class LearnedTemplate:
    """What has to be kept of a learned template so that a restart finds it again.

    ``apart``: it is like another one, and known not to be that one.
    """

    tenant: str
    name: str
    signature: Signature
    apart: bool = False


@dataclass(slots=True)
class _Tenant:
    learned: Slots
    named: Slots
    heads: Heads = field(default_factory=Heads)
    seen_once: OrderedDict[int, int] = field(default_factory=OrderedDict)
    fresh: list[LearnedTemplate] = field(default_factory=list)


class Templates:
    """Names templates and learns them. Safe to share between threads.

    Attributes:
        renames: what operators call them instead.
    """

    def __init__(
        self,
        masker: Masker,
        *,
        max_learned: int = 256,
        max_named: int = 512,
        clock: Callable[[], float] = time.time,
        moved: Moved | None = None,
    ) -> None:
        """The bounds hold for each tenant.

        Half of ``max_learned`` is given to heads at their first sight, the rest only to heads that recur.
        ``moved`` is told when a head that was compared with its host's is compared with its own only: the
        tenant, the families before and after, and which requests go along.
        """
        self._masker = masker
        self._max_learned = max_learned
        self._max_named = max_named
        self._clock = clock
        self._moved = moved
        self._tenants: dict[str, _Tenant] = {}
        self._fresh = False
        self._lock = Lock()
        self.renames = Renames()

    def recall(self, known: Iterable[LearnedTemplate]) -> None:
        """Know the templates of earlier runs again."""
        with self._lock:
            for template in known:
                owner = self._tenant(template.tenant)
                owner.learned.add(template.name, self._clock(), settled=True)
                owner.heads.add(template.name, template.signature)
                self._leave(template.tenant, owner, template.name)

    def known(self) -> list[LearnedTemplate]:
        """Every template that is known."""
        with self._lock:
            return [
                LearnedTemplate(tenant, name, signature)
                for tenant, owner in self._tenants.items()
                for name, signature in owner.heads.signatures.items()
                if name not in owner.heads.lodgers
            ]

    def alike(self, template: LearnedTemplate) -> str | None:
        """The known template that this one is, by its name, key or wording; None where it is a new one."""
        with self._lock:
            heads, signature = self._tenant(template.tenant).heads, template.signature
            if template.name in heads.signatures and template.name not in heads.lodgers:
                return template.name
            known = heads.by_key(signature.key) or heads.most_alike(signature)
            if (
                known is None
                or known in heads.lodgers
                or (template.apart and signature.says_other(heads.signatures[known]))
            ):
                return None
            return known

    def name(self, tenant: str, given: str | None, prompt: Prompt | None) -> TemplateName:
        """The template of a request; ``given`` is the name its caller used, if any."""
        return self.renames.apply(tenant, self._own_name(tenant, given, prompt))

    def _own_name(self, tenant: str, given: str | None, prompt: Prompt | None) -> TemplateName:
        cleaned = clean_name(given)
        with self._lock:
            owner = self._tenant(tenant)
            if cleaned is not None:
                return self._named(owner, cleaned)
            if prompt is None or not prompt.segments:
                return NAMELESS
            name = (self._by_head if prompt.head else self._by_opening)(tenant, owner, prompt)
            lodger = owner.heads.lodgers.get(name)
            shown = name if lodger is None else lodger.host
            family = shown if lodger is not None and lodger.joined else name
            if shown in owner.learned:
                owner.learned.use(shown, self._clock())
            return TemplateName(shown, learned=True, family=family if prompt.head else UNSTRUCTURED)

    def forget(self, tenant: str) -> None:
        """Forget a tenant's templates."""
        with self._lock:
            self._tenants.pop(tenant, None)
        self.renames.forget(tenant)

    def take_learned(self) -> list[LearnedTemplate]:
        """The templates learned since the last call, for the store."""
        if not self._fresh:
            return []
        with self._lock:
            self._fresh = False
            taken = [template for owner in self._tenants.values() for template in owner.fresh]
            for owner in self._tenants.values():
                owner.fresh.clear()
            return taken

    def _tenant(self, tenant: str) -> _Tenant:
        owner = self._tenants.get(tenant)
        if owner is None:
            owner = self._tenants[tenant] = _Tenant(Slots(self._max_learned), Slots(self._max_named))
        return owner

    def _named(self, owner: _Tenant, name: str) -> TemplateName:
        now = self._clock()
        if name not in owner.named:
            if not owner.named.make_room(now)[0]:
                return TemplateName(OVERFLOW, learned=True, family=OVERFLOW)
            owner.named.add(name, now)
        owner.named.use(name, now)
        return TemplateName(name, learned=False, family=family_of(name))

    def _by_head(self, tenant: str, owner: _Tenant, prompt: Prompt) -> str:
        heads, sight = owner.heads, "same"
        name = heads.at_a_glance(prompt)
        if name is None:
            name, sight = self._by_text(tenant, owner, prompt)
            if name == OVERFLOW:
                return name
            heads.note(prompt, name)
        goes_on = heads.note_talk(prompt, name)
        lodger = heads.lodgers.get(name)
        if sight == "new":
            return name
        if lodger is None:
            if not (goes_on and prompt.turn > prompt.head):
                heads.lodgers.note_own(name)
        elif (sight == "same" or lodger.counts_like) and heads.lodgers.returns(name, prompt, self._clock()):
            self._settle(tenant, owner, name)
        return name

    def _by_text(self, tenant: str, owner: _Tenant, prompt: Prompt) -> tuple[str, _Sight]:
        """The name of a head that is not known at a glance, and whether that very text has come before."""
        heads, head = owner.heads, prompt.segments[: prompt.head]
        key = digest_of([self._masker.digests(segment.text) for segment in head])
        name = heads.by_key(key)
        return self._learn(tenant, owner, key, prompt) if name is None else (name, "same")

    def _settle(self, tenant: str, owner: _Tenant, name: str) -> None:
        """A head that lodged is a template of its own, unless the rest of all of them changes each time."""
        heads = owner.heads
        lodger, signature = heads.lodgers.get(name), heads.signatures[name]
        heads.lodgers.note_return(name)
        if lodger is None or (lodger.host in heads.signatures and not heads.lodgers.may_leave(name)):
            return
        if lodger.alike and not lodger.another and len(heads.agents_like(signature)) >= AGENTS:
            return
        if self._has_room(owner):
            self._note(tenant, owner, name, apart=lodger.alike)
            self._leave(tenant, owner, name)

    def _leave(self, tenant: str, owner: _Tenant, name: str) -> None:
        """A head lodges no longer; what came of it before goes along."""
        heads = owner.heads
        lodger = heads.lodgers.leave(name)
        if lodger is None or not lodger.joined or self._moved is None:
            return
        names = (TemplateName(one, learned=True, family=one) for one in (lodger.host, name))
        before, after = (self.renames.apply(tenant, one).family for one in names)
        self._moved(tenant, before, after, lambda prompt: heads.at_a_glance(prompt) == name)

    def _by_opening(self, tenant: str, owner: _Tenant, prompt: Prompt) -> str:
        text = prompt.segments[0].text
        if len(text) < _OPENING_CHARS:
            return UNSTRUCTURED
        key = digest_of(
            [self._masker.digests(text[: 2 * _OPENING_CHARS].rpartition(" ")[0][:_OPENING_CHARS])]
        )
        known = owner.heads.by_key(key)
        if known is not None:
            return known
        if not _recurs(owner, key, hash(text)):
            return UNSTRUCTURED
        return self._create(tenant, owner, Signature(key=key, openings=(), chunks=()))

    def _learn(self, tenant: str, owner: _Tenant, key: int, prompt: Prompt) -> tuple[str, _Sight]:
        """The name of a head that is seen for the first time: a known one's that is like it, or a new one."""
        heads, head = owner.heads, prompt.segments[: prompt.head]
        face = face_of(head, self._masker)
        new = Newcomer(sign(key, head, self._masker, (face.persona, face.line)), face.front, prompt)
        place = heads.place(new)
        if place.known is not None:
            heads.note_key(key, place.known)
            return place.known, "like"
        if place.host is not None:
            return self._lodge(tenant, owner, new, place), "new"
        room = len(owner.learned) < self._max_learned // 2
        if not room and not _recurs(owner, key, None):
            return OVERFLOW, "new"
        return self._create(tenant, owner, new.signature, new.front), "new"

    def _lodge(self, tenant: str, owner: _Tenant, new: Newcomer, place: Place) -> str:
        assert place.host is not None, "whoever lodges has a host"
        heads = owner.heads
        name = heads.free_name(new.signature.key) or OVERFLOW
        agents = {self.renames.shown(tenant, one) for one in heads.agents_like(new.signature)}
        one = place.one and not 1 < len(agents) < AGENTS
        sort = {"alike": place.alike, "one": one, "another": place.another}
        gone = heads.lodgers.take_in(name, place.host, new.prompt, self._clock(), **sort)
        if gone is not None:
            heads.drop(gone)
        heads.add(name, new.signature, new.front)
        return name

    def _create(
        self, tenant: str, owner: _Tenant, signature: Signature, front: frozenset[int] | None = None
    ) -> str:
        if not self._has_room(owner):
            return OVERFLOW
        name = owner.heads.free_name(signature.key) or OVERFLOW
        owner.heads.add(name, signature, front)
        self._note(tenant, owner, name)
        return name

    def _has_room(self, owner: _Tenant) -> bool:
        """Whether one more template can be learned; an idle one may have given way."""
        room, idle = owner.learned.make_room(self._clock())
        if idle is not None:
            owner.heads.drop(idle)
        return room

    def _note(self, tenant: str, owner: _Tenant, name: str, *, apart: bool = False) -> None:
        """A name is a template's from now on, and the store is told so."""
        owner.learned.add(name, self._clock())
        self._fresh = True
        owner.fresh.append(LearnedTemplate(tenant, name, owner.heads.signatures[name], apart))


def _recurs(owner: _Tenant, key: int, text: int | None) -> bool:
    """Whether a key was seen before (in another text than this one, where a text is given)."""
    before = owner.seen_once.get(key)
    if before is None:
        owner.seen_once[key] = text or 0
        while len(owner.seen_once) > _SEEN_ONCE:
            owner.seen_once.popitem(last=False)
        return False
    return text is None or before != text
