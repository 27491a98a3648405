"""Which template a request belongs to: named by its caller, or learned from what requests share.

A learned template is what its tools and instructions say once volatile values are masked, so a
changing clock does not split it. A head that is new is laid beside the known ones: one that begins
like a known head, or consists of mostly the same lines, joins it. Its name comes from the first
head's own digest and is the same after a restart. Requests without instructions are known by how
their first message begins. Only digests are kept, and only a bounded number of them: prompts that
never recur end up in one bucket. Templates that nobody has used for a day give way to new ones (`slots`).
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from promptcache_gateway.observe.renames import Renames, family_of
from promptcache_gateway.observe.signatures import Signature, digest_of, sign
from promptcache_gateway.observe.slots import Slots
from promptcache_gateway.observe.template_name import NAMELESS, TemplateName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptcache_gateway.observe.masking import Masker
    from promptcache_gateway.observe.prompt import Prompt

UNSTRUCTURED = NAMELESS.name
"""Requests that share neither instructions nor the beginning of a first message."""

OVERFLOW = "learned-other"
"""Requests for which no further template may be learned."""

MIXED = frozenset({UNSTRUCTURED, OVERFLOW})
"""Names under which requests of several templates stand together: their rates are no single prompt's."""

_MAX_NAME = 128
_SEEN_ONCE = 2_048  # heads that came once, remembered in case they recur
_KEYS = 8_192  # heads whose template is known at a glance
_OWN_PREFIX = re.compile(r"(?:named-)*learned-")
_OPENING_CHARS = 256  # a first message with less than this is a question, not a template


@dataclass(frozen=True, slots=True)
class LearnedTemplate:
    """What has to be kept of a learned template so that a restart finds it again."""

    tenant: str
    name: str
    signature: Signature


@dataclass(slots=True)
class _Tenant:
    learned: Slots
    named: Slots
    by_exact: OrderedDict[int, str] = field(default_factory=OrderedDict)
    by_key: OrderedDict[int, str] = field(default_factory=OrderedDict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    openings: dict[int, set[str]] = field(default_factory=dict)
    chunks: dict[int, set[str]] = field(default_factory=dict)
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
    ) -> None:
        """The bounds hold for each tenant.

        Half of ``max_learned`` is given to heads at their first sight, the rest only to heads that recur.
        """
        self._masker = masker
        self._max_learned = max_learned
        self._max_named = max_named
        self._clock = clock
        self._tenants: dict[str, _Tenant] = {}
        self._fresh = False
        self._lock = Lock()
        self.renames = Renames()

    def recall(self, known: Iterable[LearnedTemplate]) -> None:
        """Know the templates of earlier runs again."""
        with self._lock:
            for template in known:
                owner = self._tenant(template.tenant)
                self._remember(owner, template.name, template.signature, settled=True)

    def known(self) -> list[LearnedTemplate]:
        """Every template that is known."""
        with self._lock:
            return [
                LearnedTemplate(tenant, name, signature)
                for tenant, owner in self._tenants.items()
                for name, signature in owner.signatures.items()
            ]

    def alike(self, template: LearnedTemplate) -> str | None:
        """The known template that this one is, by its name, key or wording; None where it is a new one."""
        with self._lock:
            owner = self._tenant(template.tenant)
            if template.name in owner.signatures:
                return template.name
            return owner.by_key.get(template.signature.key) or _most_alike(owner, template.signature)

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
            if name in owner.learned:
                owner.learned.use(name, self._clock())
            return TemplateName(name, learned=True, family=name if prompt.head else UNSTRUCTURED)

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
        exact = prompt.exact[prompt.head]
        name = owner.by_exact.get(exact)
        if name is None:
            digests = [self._masker.digests(segment.text) for segment in prompt.segments[: prompt.head]]
            name = self._learn(tenant, owner, digest_of(digests), prompt)
            if name != OVERFLOW:
                _put(owner.by_exact, exact, name)
        return name

    def _by_opening(self, tenant: str, owner: _Tenant, prompt: Prompt) -> str:
        text = prompt.segments[0].text
        if len(text) < _OPENING_CHARS:
            return UNSTRUCTURED
        key = digest_of(
            [self._masker.digests(text[: 2 * _OPENING_CHARS].rpartition(" ")[0][:_OPENING_CHARS])]
        )
        known = owner.by_key.get(key)
        if known is not None:
            owner.by_key.move_to_end(key)
            return known
        if not _recurs(owner, key, hash(text)):
            return UNSTRUCTURED
        return self._create(tenant, owner, key, Signature(key=key, openings=(), chunks=()))

    def _learn(self, tenant: str, owner: _Tenant, key: int, prompt: Prompt) -> str:
        known = owner.by_key.get(key)
        if known is not None:
            owner.by_key.move_to_end(key)
            return known
        signature = sign(key, prompt.segments[: prompt.head], self._masker)
        alike = _most_alike(owner, signature)
        if alike is not None:
            _put(owner.by_key, key, alike)
            return alike
        room = len(owner.signatures) < self._max_learned // 2
        if not room and not _recurs(owner, key, None):
            return OVERFLOW
        return self._create(tenant, owner, key, signature)

    def _create(self, tenant: str, owner: _Tenant, key: int, signature: Signature) -> str:
        room, idle = owner.learned.make_room(self._clock())
        if not room:
            return OVERFLOW
        if idle is not None:
            _drop(owner, idle)
        name = _free_name(owner, key)
        self._remember(owner, name, signature)
        self._fresh = True
        owner.fresh.append(LearnedTemplate(tenant, name, signature))
        return name

    def _remember(self, owner: _Tenant, name: str, signature: Signature, *, settled: bool = False) -> None:
        owner.learned.add(name, self._clock(), settled=settled)
        owner.signatures[name] = signature
        _put(owner.by_key, signature.key, name)
        for opening in signature.openings:
            owner.openings.setdefault(opening, set()).add(name)
        for chunk in signature.chunks:
            owner.chunks.setdefault(chunk, set()).add(name)


def clean_name(given: str | None) -> str | None:
    """A caller's name fit for a header and a page: printable and short; None where nothing is left.

    Learned names begin with ``learned-``; a caller's that does too is told apart by ``named-`` in front.

    >>> clean_name(" support "), clean_name("learned-0b24")
    ('support', 'named-learned-0b24')
    """
    if given is None:
        return None
    printable = "".join(character for character in given[: 4 * _MAX_NAME] if character.isprintable())
    name = printable.strip()
    if _OWN_PREFIX.match(name):
        name = f"named-{name}"
    return name[:_MAX_NAME].rstrip() or None


def _most_alike(owner: _Tenant, signature: Signature) -> str | None:
    """The known template that begins like this head, or that has mostly its lines."""
    for opening in reversed(signature.openings):
        names = owner.openings.get(opening)
        if names:
            return min(names)
    shared: dict[str, int] = {}
    for chunk in signature.chunks:
        for name in owner.chunks.get(chunk, ()):
            shared[name] = shared.get(name, 0) + 1
    near = [name for name, same in shared.items() if signature.may_be_like(owner.signatures[name], same)]
    alike = [name for name in near if signature.is_like(owner.signatures[name])]
    return max(alike, key=lambda name: (shared[name], name), default=None)


def _drop(owner: _Tenant, name: str) -> None:
    """Forget a learned template and everything that leads to it."""
    del owner.signatures[name]
    for index in (owner.openings, owner.chunks):
        for digest in [digest for digest, names in index.items() if name in names]:
            index[digest].discard(name)
            if not index[digest]:
                del index[digest]
    for known in (owner.by_exact, owner.by_key):
        for key in [key for key, found in known.items() if found == name]:
            del known[key]


def _recurs(owner: _Tenant, key: int, text: int | None) -> bool:
    """Whether a key was seen before (in another text than this one, where a text is given)."""
    before = owner.seen_once.get(key)
    if before is None:
        owner.seen_once[key] = text or 0
        while len(owner.seen_once) > _SEEN_ONCE:
            owner.seen_once.popitem(last=False)
        return False
    return text is None or before != text


def _free_name(owner: _Tenant, key: int) -> str:
    digits = f"{key:016x}"
    for length in (4, 6, 8, 12, 16):
        name = f"learned-{digits[:length]}"
        if name not in owner.signatures:
            return name
    return OVERFLOW


def _put(memory: OrderedDict[int, str], key: int, name: str) -> None:
    memory[key] = name
    while len(memory) > _KEYS:
        memory.popitem(last=False)
