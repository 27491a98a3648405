"""Why a request was not served from the cache, where it broke, and what that cost.

Everything that decides is evidence: the bytes, the upstream's own counters, the built-in engine's
exact facts, and times. Where the evidence does not reach, the answer is "unknown", and nobody is
blamed. Texts and remedies of the causes are the SDK's (`promptcache.causes`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause
from promptcache_gateway.observe.shortfall import Attribution, Reason, attribution_of, explain_shortfall
from promptcache_gateway.observe.tokens import Tokens, count_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache.usage import Usage
    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.observe.evidence import Evidence

_OPENING_TOKENS = 512
"""What a chat template may put in front of any prompt; reading that much is no sign of a known prefix."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is known about one request's use of the cache. Unknown is None, never 0.

    Attributes:
        cause: the code that cost most, None for a hit and where there is nothing to report.
        causes: every code found, the one that costs most first.
        hit: nothing diverged and what could be read was read; None where that cannot be told.
        path: the segment in which the request leaves its predecessor, as in ``messages[0]``.
        char_offset: code points into that segment's own text.
        token_offset: tokens before the first difference; exact with the built-in engine.
        expected_cached_tokens: what the bytes as sent allowed.
        reusable_tokens: what would have matched had the differing spans been equal.
        lost_tokens: ``max(0, reusable - cached)``.
        lost_usd: what the lost tokens cost more than cached ones would have.
        losses: the lost tokens of each cause.
        estimated: the token counts rest on the request's byte-to-token ratio.
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
    estimated: bool = False
    before: str | None = None
    after: str | None = None
    compared_with: str | None = None
    summary: str = ""
    remedy: str | None = None
    attribution: Attribution = "unknown"

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
            "estimated": self.estimated,
            "before": self.before if excerpts else None,
            "after": self.after if excerpts else None,
            "compared_with": self.compared_with,
            "summary": self.summary,
            "remedy": self.remedy,
            "attribution": self.attribution,
        }


def diagnose(evidence: Evidence, usage: Usage | None, engine: EngineFacts | None) -> Diagnosis:
    """Diagnose one request. ``usage`` and ``engine`` are None while the upstream has not told yet."""
    tokens = count_tokens(evidence, usage, engine)
    if not evidence.use_cache:
        return Diagnosis(summary="The caller opted this request out of the cache.", attribution="expected")
    if evidence.prompt is None:
        return Diagnosis(summary="The request has no known shape, so nothing can be said of its prefix.")
    reported = tokens.cached is not None
    answered = usage is not None or engine is not None
    if evidence.comparison is None:
        return _without_predecessor(evidence, tokens)
    if evidence.comparison.shares_nothing:
        return _nothing_shared(tokens)
    if evidence.comparison.broken:
        return _broken(evidence, tokens, unreported=answered and not reported)
    if not reported:
        return _unreported(tokens) if answered else Diagnosis(summary="Nothing diverges; the answer is due.")
    return _unbroken(evidence, tokens, engine)


def _counted(tokens: Tokens, **known: Any) -> Diagnosis:
    """A diagnosis with the counts in it."""
    return Diagnosis(
        expected_cached_tokens=tokens.expected,
        reusable_tokens=tokens.reusable,
        estimated=tokens.estimated,
        **known,
    )


def _without_predecessor(evidence: Evidence, tokens: Tokens) -> Diagnosis:
    match = evidence.match
    if match is None or not (match.first or evidence.rules.reports_exactly):
        read = bool(tokens.cached)
        summary = "No earlier request of this template is in memory to compare with."
        return _counted(tokens, hit=True if read else None, lost_tokens=0 if read else None, summary=summary)
    return _first(tokens, "The first request of this template: there was nothing to reuse.")


def _nothing_shared(tokens: Tokens) -> Diagnosis:
    return _first(tokens, "Nothing in this prompt was shared with an earlier request.")


def _first(tokens: Tokens, summary: str) -> Diagnosis:
    if tokens.cached and tokens.prompt and tokens.cached >= max(_OPENING_TOKENS, tokens.prompt // 2):
        return _counted(
            tokens, hit=True, lost_tokens=0, attribution="expected", summary="Read from the cache."
        )
    return _counted(
        tokens,
        cause="PC801",
        causes=("PC801",),
        hit=False,
        lost_tokens=0 if tokens.cached is not None else None,
        summary=summary,
        remedy=get_cause("PC801").remedy,
        attribution="expected",
    )


def _unreported(tokens: Tokens) -> Diagnosis:
    return _counted(
        tokens,
        cause="PC810",
        causes=("PC810",),
        summary="The upstream does not say how much it read from its cache.",
        remedy=get_cause("PC810").remedy,
        attribution="unknown",
    )


def _broken(evidence: Evidence, tokens: Tokens, *, unreported: bool) -> Diagnosis:
    """Something diverges before the newest user turn."""
    assert evidence.comparison is not None
    assert evidence.match is not None
    assert evidence.match.predecessor is not None
    divergence = evidence.comparison.divergence
    lost = tokens.lost
    place: dict[str, Any] = {
        "path": divergence.path,
        "char_offset": divergence.char_offset,
        "token_offset": tokens.offset,
        "before": divergence.before,
        "after": divergence.after,
        "compared_with": evidence.match.predecessor.id,
    }
    if lost == 0:
        summary = f"{divergence.path} differs from the predecessor, but nothing was lost by it."
        return _counted(tokens, hit=False, lost_tokens=0, summary=summary, attribution="expected", **place)
    codes = divergence.causes
    if unreported:
        codes = (*codes, "PC810")
    return _counted(
        tokens,
        cause=codes[0] if codes else None,
        causes=codes,
        hit=False,
        lost_tokens=lost,
        losses={codes[0]: lost} if codes and lost is not None else {},
        summary=_what_broke(codes, divergence.path, lost),
        remedy=divergence.remedy or (get_cause(codes[0]).remedy if codes else None),
        attribution="caller" if divergence.causes else "unknown",
        **place,
    )


def _what_broke(codes: tuple[str, ...], path: str | None, lost: int | None) -> str:
    title = get_cause(codes[0]).title if codes else "The prompt changed"
    cost = "" if lost is None else f" {lost} tokens behind it were computed again."
    return f"{title}, in {path}.{cost}"


def _unbroken(evidence: Evidence, tokens: Tokens, engine: EngineFacts | None) -> Diagnosis:
    """Nothing the caller sent breaks the prefix: a hit, or a shortfall with another reason."""
    assert evidence.match is not None
    assert evidence.match.predecessor is not None
    compared = evidence.match.predecessor.id
    lost = tokens.lost or 0
    if not tokens.fell_short and lost <= max(tokens.tolerance, 0):
        return _hit(evidence, tokens, compared)
    reasons = explain_shortfall(evidence, tokens, engine)
    first = reasons[0]
    return _counted(
        tokens,
        cause=first.code,
        causes=tuple(dict.fromkeys(reason.code for reason in reasons)),
        hit=False,
        token_offset=tokens.cached,
        lost_tokens=lost,
        losses=_losses(reasons, lost),
        compared_with=compared,
        summary=first.summary or get_cause(first.code).title,
        remedy=get_cause(first.code).remedy,
        attribution=attribution_of(first.code),
    )


def _hit(evidence: Evidence, tokens: Tokens, compared: str) -> Diagnosis:
    assert evidence.comparison is not None
    short = evidence.rules.minimum and tokens.cached == 0 and (tokens.prompt or 0) < evidence.rules.minimum
    if short:
        return _counted(
            tokens,
            cause="PC604",
            causes=("PC604",),
            hit=False,
            lost_tokens=0,
            compared_with=compared,
            summary=f"{tokens.prompt} tokens are fewer than the {evidence.rules.minimum} the cache takes.",
            remedy=get_cause("PC604").remedy,
            attribution="expected",
        )
    return _counted(
        tokens,
        hit=True,
        lost_tokens=tokens.lost,
        compared_with=compared,
        summary="Everything that could be read from the cache was.",
        attribution="expected",
    )


def _losses(reasons: list[Reason], lost: int) -> dict[str, int]:
    """The loss by cause: what is known apart, the rest with the first."""
    shares: dict[str, int] = {}
    left = lost
    for reason in reasons:
        share = min(left, reason.lost_tokens or 0)
        if share:
            shares[reason.code] = shares.get(reason.code, 0) + share
        left -= share
    if left and reasons:
        shares[reasons[0].code] = shares.get(reasons[0].code, 0) + left
    return shares
