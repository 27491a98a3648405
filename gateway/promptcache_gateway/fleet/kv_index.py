"""Exactly what one replica's cache holds, as its own events tell.

An engine names its pages by hashes of its own making, with seeds and functions that differ by version and
setting. They are not imitated here: every event says which tokens a page holds and which page it follows, so
that the page gets a chained key of ours, and a prompt whose tokens are known is looked up by these keys.

What events do not tell is not guessed: which salt a page has, or which adapter, where some have one; and
which of two went, where an engine gives pages of two namespaces one name (older SGLang).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from promptcache_gateway.fleet.kv_events import CacheCleared, PagesRemoved, PagesStored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.fleet.kv_events import Hash, KvEvent
    from promptcache_gateway.fleet.prefix import Prefix

_MAX_REMOVED = _MAX_DOUBTFUL = 100_000
_MAX_NAMES = 64
_KEY_BYTES = 8


@dataclass(slots=True)
class _Page:
    key: bytes
    copies: set[tuple[str, int]] = field(default_factory=set)


class KvIndex:
    """The pages of one replica.

    Attributes:
        whole: nothing was missed since the cache was empty, so that what is not here is not there.
        page_size: tokens a page holds, None before the first.
        orphans: pages that followed one we do not know.
    """

    def __init__(self) -> None:
        self.whole = False
        self.page_size: int | None = None
        self.orphans = 0
        self._pages: dict[Hash, _Page] = {}
        self._held: dict[bytes, int] = {}
        self._removed: OrderedDict[bytes, None] = OrderedDict()
        self._loras: set[str] = set()
        self._names: set[str] = set()
        self._tells_salts = self._has_salts = False
        self._doubtful: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def tokens(self) -> int:
        """Tokens that are held."""
        return len(self._held) * (self.page_size or 0)

    def begin(self, *, whole: bool) -> None:
        """Begin anew; ``whole``: with a cache that is known to be empty."""
        self._pages.clear()
        self._held.clear()
        self._removed.clear()
        self._doubtful.clear()
        self.whole = whole
        self.orphans = 0

    def apply(self, events: Iterable[KvEvent]) -> None:
        """Take events, in their order."""
        for event in events:
            if isinstance(event, PagesStored):
                self._store(event)
            elif isinstance(event, PagesRemoved):
                self._remove(event)
            elif isinstance(event, CacheCleared):
                self._clear()

    def held(self, prefix: Prefix) -> tuple[int, int] | None:
        """Leading tokens of a prompt that are held, and how many more were and have been removed.

        None where it cannot be told: the prompt's tokens are not known, events were missed, or its salt or
        adapter is not in them. The last token is always computed anew, as engines do.
        """
        self._has_salts |= bool(prefix.namespace)
        if len(self._names) < _MAX_NAMES:
            self._names.add(prefix.model)
        if not self.whole or not prefix.token_ids:
            return None
        if self.page_size is None:
            return 0, 0  # nothing has been stored yet
        if not self._tells(prefix):
            return None
        lora = prefix.model if prefix.model in self._loras else ""
        keys = page_keys(prefix.token_ids, self.page_size, lora, prefix.namespace)
        held = next((at for at, key in enumerate(keys) if key not in self._held), len(keys))
        if self._doubtful and not self._doubtful.isdisjoint(keys[: held + 1]):
            return None
        known = held
        while known < len(keys) and (keys[known] in self._removed or keys[known] in self._held):
            known += 1
        usable = (len(prefix.token_ids) - 1) // self.page_size
        held, known = min(held, usable), min(known, usable)
        return held * self.page_size, (known - held) * self.page_size

    def _tells(self, prefix: Prefix) -> bool:
        """Whether the events tell a prompt's pages from those of another salt or adapter."""
        if self._has_salts and not self._tells_salts:
            return False
        return prefix.model in self._loras or len(self._names - self._loras) == 1

    def _clear(self) -> None:
        gone = list(self._held)[-_MAX_REMOVED:]
        self.begin(whole=True)
        self._removed.update(dict.fromkeys(gone))

    def _store(self, event: PagesStored) -> None:
        if event.component or self.page_size not in {None, event.page_size}:
            self.whole = False  # layers of several kinds: one list of pages does not tell what can be read
            return
        self.page_size = event.page_size
        if event.lora is not None:
            self._loras.add(event.lora)
        self._tells_salts |= event.salt is not None
        if event.parent is None:
            before = _root(event.lora or "", event.salt or "")
        elif (parent := self._pages.get(event.parent)) is not None:
            before = parent.key
        else:
            self.orphans += len(event.hashes)
            self.whole = False
            return
        for at, name in enumerate(event.hashes):
            tokens = event.tokens[at * event.page_size : (at + 1) * event.page_size]
            before = _next(before, tokens, event.extra[at] if event.extra else "")
            page = self._pages.get(name)
            if page is None:
                page = self._pages[name] = _Page(before)
                self._held[before] = self._held.get(before, 0) + 1
                self._removed.pop(before, None)
            elif page.key != before or (event.copy in page.copies and event.salt is None):
                self._doubt(page.key, before)
            page.copies.add(event.copy)

    def _doubt(self, *keys: bytes) -> None:
        """Two pages have one name: which of them is here, once one is gone, nobody can tell."""
        self._doubtful.update(keys)
        if len(self._doubtful) > _MAX_DOUBTFUL:
            self.begin(whole=False)

    def _remove(self, event: PagesRemoved) -> None:
        for name in event.hashes:
            page = self._pages.get(name)
            if page is None:
                continue
            page.copies.discard(event.copy)
            if page.copies:
                continue
            del self._pages[name]
            self._held[page.key] -= 1
            if not self._held[page.key]:
                del self._held[page.key]
                self._removed[page.key] = None
                if len(self._removed) > _MAX_REMOVED:
                    self._removed.popitem(last=False)


@lru_cache(maxsize=4)
def page_keys(token_ids: tuple[int, ...], page_size: int, lora: str, salt: str) -> tuple[bytes, ...]:
    """The keys of a prompt's whole pages; the same for every replica, so that they are made once."""
    before, keys = _root(lora, salt), []
    for at in range(0, len(token_ids) - page_size + 1, page_size):
        before = _next(before, token_ids[at : at + page_size], "")
        keys.append(before)
    return tuple(keys)


def _root(lora: str, salt: str) -> bytes:
    return blake2b(f"{lora}\0{salt}".encode(), digest_size=_KEY_BYTES).digest()


def _next(before: bytes, tokens: tuple[int, ...], extra: str) -> bytes:
    data = b"".join([token.to_bytes(8, "little", signed=True) for token in tokens])
    return blake2b(before + data + extra.encode(), digest_size=_KEY_BYTES).digest()
