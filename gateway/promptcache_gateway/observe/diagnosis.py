"""A diagnosis: why a request was not served from the cache, where it broke, what that cost, what to do.

A plain value and its JSON, and what an answer says of it before it is written out. How it is reached is
`verdict`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from promptcache.quick_values import changed, quick
from promptcache_gateway.observe.places import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Attribution = Literal["caller", "expected", "upstream", "unknown"]
"""Whose doing a miss is."""


@quick
@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is known about one request's use of the cache. Unknown is None, never 0.

    Attributes:
        cause: the code that cost most, None for a hit and where there is nothing to report.
        causes: every code found, the one that costs most first.
        hit: nothing diverged and what could be read was read; None where that cannot be told.
        path: the segment in which the cause stands, as in ``messages[0]``.
        char_offset: code points into that segment's own text.
        token_offset: tokens before that place; exact with the built-in engine.
        expected_cached_tokens: what the bytes as sent allowed.
        reusable_tokens: what would have matched had the differing spans been equal.
        lost_tokens: ``max(0, reusable - cached)``.
        lost_usd: what the lost tokens cost more than cached ones would have.
        losses: the lost tokens of each cause.
        places: where each cause stands, in the order of ``causes``; the first is the place above.
        estimated: no position was exact, every count rests on the request's byte-to-token ratio.
        before: a short excerpt of the predecessor around the difference. In memory only.
        after: the same of this request. In memory only.
        compared_with: id of the predecessor.
        summary: one sentence for people.
        remedy: what to do about it, None where nothing is to be done.
        attribution: whose doing it is.
    """

    cause: str | None = None
    causes: tuple[str, ...] = ()
    hit: bool | None = None
    path: str | None = None
    char_offset: int | None = None
    token_offset: int | None = None
    expected_cached_tokens: int | None = None
    reusable_tokens: int | None = None
    lost_tokens: int | None = None
    lost_usd: float | None = None
    losses: Mapping[str, int] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    estimated: bool = False
    before: str | None = None
    after: str | None = None
    compared_with: str | None = None
    summary: str = ""
    remedy: str | None = None
    attribution: Attribution = "unknown"

    def whole(self) -> Diagnosis:
        """Itself: there is no more to it."""
        return self

    def priced(self, lost_usd: float) -> Diagnosis:
        """The same with what the loss cost."""
        return changed(self, lost_usd=lost_usd)

    def to_dict(self, *, excerpts: bool = True) -> dict[str, Any]:
        """The diagnosis as JSON; without ``excerpts`` no text of a prompt is in it."""
        return {
            "cause": self.cause,
            "causes": list(self.causes),
            "hit": self.hit,
            "path": self.path,
            "char_offset": self.char_offset,
            "token_offset": self.token_offset,
            "expected_cached_tokens": self.expected_cached_tokens,
            "reusable_tokens": self.reusable_tokens,
            "lost_tokens": self.lost_tokens,
            "lost_usd": self.lost_usd,
            "losses": dict(self.losses),
            "places": [place.to_dict(excerpts=excerpts) for place in self.places or self._own_place()],
            "estimated": self.estimated,
            "before": self.before if excerpts else None,
            "after": self.after if excerpts else None,
            "compared_with": self.compared_with,
            "summary": self.summary,
            "remedy": self.remedy,
            "attribution": self.attribution,
        }

    def _own_place(self) -> tuple[Place, ...]:
        """The place of the only cause, where none was noted apart."""
        if self.cause is None or self.path is None:
            return ()
        lost = None if self.lost_tokens is None else self.losses.get(self.cause, 0)
        where = (self.path, self.char_offset, self.token_offset)
        return (Place(self.cause, *where, lost, self.before, self.after),)


@quick
@dataclass(frozen=True, slots=True)
class Draft:
    """What an answer says of a request. The rest is written out when nobody waits for it.

    Attributes:
        cause: as in the whole, and so are those that follow.
        path: its place.
        char_offset: its place in that.
        lost_tokens: what was lost.
        remedy: what to do about it.
        attribution: whose doing it is.
        rest: writes the whole; money is not in it.
        lost_usd: what the loss cost.
    """

    cause: str | None
    path: str | None
    char_offset: int | None
    lost_tokens: int | None
    remedy: str | None
    attribution: Attribution
    rest: Callable[[], Diagnosis]
    lost_usd: float | None = None

    def whole(self) -> Diagnosis:
        """The diagnosis, written out."""
        found = self.rest()
        return found if self.lost_usd is None else found.priced(self.lost_usd)

    def priced(self, lost_usd: float) -> Draft:
        """The same with what the loss cost."""
        return Draft(
            self.cause,
            self.path,
            self.char_offset,
            self.lost_tokens,
            self.remedy,
            self.attribution,
            self.rest,
            lost_usd,
        )
