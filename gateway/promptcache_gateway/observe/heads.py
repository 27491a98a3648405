"""The heads that a tenant's requests came with, and how one of them is found again.

At a glance by its key in this process; by its key in all; by its likeness where it is new; by a beginning or
an end where it is only akin. What is known of a name goes when its head is dropped: texts that led to it are
known anew when they come again. Which head is a template is `templates`' business.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from promptcache_gateway.observe.lodgers import Lodgers
from promptcache_gateway.observe.prompt import TRIVIAL_CHARS
from promptcache_gateway.observe.renames import LEARNED
from promptcache_gateway.observe.signatures import AKIN, ALIKE, NEAR, SHORT, tools_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.signatures import Signature

_NONE = 2.0  # more than any likeness
_KEYS = 8_192  # heads whose name is known at a glance, and conversations


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A head that has not come before.

    Attributes:
        signature: what it looks like from afar.
        front: the runs of its first words.
        prompt: the request that it came with.
    """

    signature: Signature
    front: frozenset[int]
    prompt: Prompt


@dataclass(frozen=True, slots=True)
class Place:
    """Where a new head belongs.

    Attributes:
        known: it is this one with another value; None: it is none that is known.
        host: it may be this template with other documents, or another agent's; None: it is like none.
        alike: it says mostly what its host says.
        one: it says mostly what its host says, and presents itself in the same way.
        another: it is another agent's by its own words or tools.
    """

    known: str | None = None
    host: str | None = None
    alike: bool = False
    one: bool = False
    another: bool = False


@dataclass(slots=True)
class Heads:
    """One tenant's heads by name. Not safe to share between threads.

    Attributes:
        signatures: of each name.
        lodgers: those that are shown under another's name.
    """

    signatures: dict[str, Signature] = field(default_factory=dict)
    lodgers: Lodgers = field(default_factory=Lodgers)
    _by_masked: OrderedDict[int, str] = field(default_factory=OrderedDict)
    _by_key: OrderedDict[int, str] = field(default_factory=OrderedDict)
    _talks: OrderedDict[int, str] = field(default_factory=OrderedDict)
    _openings: dict[int, set[str]] = field(default_factory=dict)
    _chunks: dict[int, set[str]] = field(default_factory=dict)
    _tools: dict[str, frozenset[int]] = field(default_factory=dict)
    _fronts: dict[str, frozenset[int]] = field(default_factory=dict)

    def add(self, name: str, signature: Signature, front: frozenset[int] | None = None) -> None:
        """Remember a head under a name; ``front``: the runs of its first words, where they are known."""
        self.signatures[name] = signature
        if front is not None:
            self._fronts[name] = front
        self._tools[name] = tools_of(signature)
        _put(self._by_key, signature.key, name)
        for digest in signature.ends:
            self._openings.setdefault(digest, set()).add(name)
        for digest in signature.chunks:
            self._chunks.setdefault(digest, set()).add(name)

    def drop(self, name: str) -> None:
        """Forget a head and what leads to it."""
        signature = self.signatures.pop(name)
        del self._tools[name]
        self._fronts.pop(name, None)
        self.lodgers.close(name)
        for index, digests in ((self._openings, signature.ends), (self._chunks, signature.chunks)):
            for digest in digests:
                index[digest].discard(name)
                if not index[digest]:
                    del index[digest]

    def free_name(self, key: int) -> str | None:
        """A name for a new template, made of its key; None where all such are taken."""
        names = (f"{LEARNED}{key:016x}"[: len(LEARNED) + digits] for digits in (4, 6, 8, 12, 16))
        return next((name for name in names if name not in self.signatures), None)

    def at_a_glance(self, prompt: Prompt) -> str | None:
        """The name of a request's head by its key in this process, which volatile values do not change."""
        return self._known(self._by_masked, prompt.masked[prompt.head])

    def by_key(self, key: int) -> str | None:
        """The name of a head by its key with volatile values masked."""
        return self._known(self._by_key, key)

    def note(self, prompt: Prompt, name: str) -> None:
        """Remember the name of a request's head."""
        _put(self._by_masked, prompt.masked[prompt.head], name)

    def note_key(self, key: int, name: str) -> None:
        """Remember the name of a masked text."""
        _put(self._by_key, key, name)

    def note_talk(self, prompt: Prompt, name: str) -> bool:
        """Remember which head a conversation has, by its first message; whether it was known to have it."""
        talk = _talk_of(prompt)
        if not talk:
            return False
        known = self._talks.get(talk) == name
        if not known:
            _put(self._talks, talk, name)
        return known

    def most_alike(self, signature: Signature) -> str | None:
        """The head that says mostly the same, one agent's before others; a lodger only if it all but does."""
        alike = {
            name: other
            for name, other in self._near(signature, ALIKE, NEAR).items()
            if (signature.is_near(other) if name in self.lodgers else signature.is_like(other))
        }
        if not alike:
            end = signature.long_end
            return None if end is None else self._host_by(end, signature)
        like = {name: signature.likeness(other) for name, other in alike.items()}
        best = max(like, key=lambda name: (like[name], name))
        who = signature.persona
        if not who or like[best] >= NEAR:
            return best
        return max(like, key=lambda name: (alike[name].persona == who, like[name], name))

    def place(self, new: Newcomer) -> Place:
        """Where a head belongs that has not come before."""
        known = self.most_alike(new.signature)
        if known is not None and not self._says_other(known, new.signature):
            return Place(known=known)
        host = self.most_akin(new.signature) if known is None else self.lodgers.host_of(known)
        if host is None:
            return Place()
        if new.signature.is_another(self.signatures[host]):
            return Place(host=host, alike=known is not None, another=True)
        if (before := self.of_talk(new.prompt, host)) is not None:
            return Place(known=before)
        if known is not None and self.lodgers.changes_each_time(host):
            return Place(known=host)
        return Place(host=host, alike=known is not None, one=known is not None and self._is_one(host, new))

    def _says_other(self, known: str, signature: Signature) -> bool:
        """Whether a head may be another agent's than the one it is like: a lodger all but says the same."""
        other = self.signatures[known]
        return signature.is_another(other) if known in self.lodgers else signature.says_other(other)

    def _is_one(self, host: str, new: Newcomer) -> bool:
        """Whether a head presents itself as its host does: by who answers, or in the way it begins."""
        known, signature = self.signatures[host], new.signature
        if (signature.persona and signature.persona == known.persona) or (
            signature.line and signature.line == known.line
        ):
            return True
        front = self._fronts.get(host, frozenset())
        return 2 * len(front & new.front) >= max(len(front), len(new.front), 1)

    def agents_like(self, signature: Signature) -> list[str]:
        """The templates that say mostly what a head says, each of which is no lodger."""
        near = self._near(signature, ALIKE, _NONE).items()
        found = {name for name, other in near if signature.is_like(other)}
        if (end := signature.long_end) is not None:
            found |= self._openings.get(end, set())
        return [name for name in found if name not in self.lodgers]

    def most_akin(self, signature: Signature) -> str | None:
        """The template that shares a beginning or an end with a head, or some of the little that it says."""
        for opening in reversed(signature.ends):
            host = self._host_by(opening, signature)
            if host is not None:
                return host
        if len(signature.chunks) > SHORT:
            return None
        near = self._near(signature, AKIN, AKIN)
        return self._host_of(name for name, other in near.items() if signature.is_akin(other))

    def of_talk(self, prompt: Prompt, host: str) -> str | None:
        """The head of a host's whose conversation a request goes on with, under another head."""
        if len(prompt.segments) <= prompt.head + 1:
            return None
        name = self._known(self._talks, _talk_of(prompt))
        return name if name is not None and self.lodgers.host_of(name) == host else None

    def __len__(self) -> int:
        """How many things are remembered, in every structure there is."""
        known = len(self.signatures) + len(self.lodgers) + len(self._tools) + len(self._fronts)
        glances = len(self._by_masked) + len(self._by_key) + len(self._talks)
        names = sum(len(names) + 1 for index in (self._openings, self._chunks) for names in index.values())
        return known + glances + names

    def _known(self, memory: OrderedDict[int, str], key: int) -> str | None:
        """The name that stands there, if it has not been forgotten since."""
        name = memory.get(key)
        if name not in self.signatures:
            return None
        memory.move_to_end(key)
        return name

    def _near(self, signature: Signature, least: float, lodging: float) -> dict[str, Signature]:
        """The heads whose likeness may be so much, and that of those which lodge."""
        shared = Counter(chain.from_iterable(self._chunks.get(chunk, ()) for chunk in signature.chunks))
        tools, known, lodgers = tools_of(signature), self.signatures, self.lodgers
        return {
            name: known[name]
            for name, count in shared.items()
            if signature.reach(known[name], count) >= (lodging if name in lodgers else least)
            and not self._has_others(name, tools)
        }

    def _has_others(self, name: str, tools: frozenset[int]) -> bool:
        """Whether a head has tools, and none of these."""
        own = self._tools[name]
        return bool(tools and own) and tools.isdisjoint(own)

    def _host_by(self, opening: int, signature: Signature) -> str | None:
        """The template that is known by a beginning or an end, or whose lodger is."""
        tools = tools_of(signature)
        names = self._openings.get(opening, ())
        return self._host_of(name for name in names if not self._has_others(name, tools))

    def _host_of(self, names: Iterable[str]) -> str | None:
        return min({self.lodgers.host_of(name) for name in names} & self.signatures.keys(), default=None)


def _talk_of(prompt: Prompt) -> int:
    """The key of a conversation's first message, 0 for one that says nothing of its own."""
    first = prompt.segments[prompt.head : prompt.head + 1]
    return prompt.keys[prompt.head] if first and len(first[0].text) >= TRIVIAL_CHARS else 0


def _put(memory: OrderedDict[int, str], key: int, name: str) -> None:
    memory[key] = name
    while len(memory) > _KEYS:
        memory.popitem(last=False)
