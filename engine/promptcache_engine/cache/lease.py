"""What a sequence holds of the cache while it runs, and why its prompt was not cached further."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from promptcache_engine.cache.hints import Use
from promptcache_engine.cache.namespaces import Namespace
from promptcache_engine.cache.tokens import UNIT

if TYPE_CHECKING:
    from promptcache_engine.cache.node import Node

NO_PAGE = -1
"""Stands in a page list where a sliding window has left no page."""


@dataclass(frozen=True, slots=True)
class PageCopy:
    """Copy the first ``tokens`` slots of page ``src`` into page ``dst`` before computing."""

    src: int
    dst: int
    tokens: int


class AdmissionReason(NamedTuple):
    """Where a prompt's tokens went; every count is in tokens, and no token is counted twice.

    ``reused``: taken from the cache. ``evicted``: were cached once and had to go (``evicted_at`` on the
    cache's clock). ``isolated``: lie ready in another namespace. ``granularity``: match, but end inside a
    page that may only be reused whole. ``window``: match, but a page the sliding window still needs is
    gone. ``diverged_at``: position of the first token that nothing the cache remembers continues with; None
    when the whole prompt is known. ``shared``: tokens in common with something cached now, reusable or not.
    """

    reused: int
    evicted: int = 0
    isolated: int = 0
    granularity: int = 0
    window: int = 0
    diverged_at: int | None = None
    lookahead: int = 0
    shared: int = 0
    evicted_at: float | None = None


@dataclass(slots=True, eq=False)
class Lease:
    """The pages of one running sequence.

    ``hit``: tokens that need not be computed. ``pages``: page ids covering the sequence; token i lives in
    slot ``pages[i // page_size] * page_size + i % page_size`` (NO_PAGE left of a sliding window).
    ``copies``: what the runner must copy before it computes. The rest is the cache's own: ``node`` is the
    deepest tree node this lease locks, ``published`` how many pages lie on the way to it, ``own_from`` the
    first page this lease itself brought into the tree, ``source`` the node a pending copy reads, ``use`` what
    the eviction policy hears of it at the end, ``parent`` the lease whose own page a fork has yet to copy,
    ``forks`` those that have yet to copy from this one.
    """

    namespace: str | Namespace
    hit: int
    pages: list[int]
    copies: list[PageCopy]
    reason: AdmissionReason
    data: bytes
    node: "Node"
    published: int
    own_from: int
    source: "Node | None" = None
    use: Use | None = None
    parent: "Lease | None" = None
    forks: "list[Lease]" = field(default_factory=list)
    fresh: bytearray = field(default_factory=bytearray)
    closed: bool = False

    @property
    def length(self) -> int:
        """Tokens of the sequence so far: prompt and appended."""
        return (len(self.data) + len(self.fresh)) // UNIT

    def settle(self) -> bytes:
        """Return all tokens of the sequence, packed."""
        if self.fresh:
            self.data += bytes(self.fresh)
            self.fresh.clear()
        return self.data
