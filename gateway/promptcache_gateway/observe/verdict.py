"""From evidence to a diagnosis.

Everything that decides is evidence: the bytes, the upstream's own counters, the built-in engine's
exact facts, and times. Where the evidence does not reach, the answer is "unknown", and nobody is
blamed. Texts and remedies of the causes are the SDK's (`promptcache.causes`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause
from promptcache_gateway.observe.counting import count_tokens
from promptcache_gateway.observe.diagnosis import Diagnosis, Draft
from promptcache_gateway.observe.drafts import (
    contradicted,
    counted,
    draft_break,
    draft_counted_hit,
    draft_shortfall,
)
from promptcache_gateway.observe.marked import breaks_behind_marks
from promptcache_gateway.observe.plain import (
    NOTHING,
    plain_answer,
    plain_break,
    plain_hit,
    plain_miss,
    plain_shortfall,
)
from promptcache_gateway.observe.read_past import was_read_past
from promptcache_gateway.observe.shortfall import away_anyway

if TYPE_CHECKING:
    from promptcache.usage import Usage
    from promptcache_gateway.exchange import EngineFacts, Placement
    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.tokens import Tokens

_LEAST_BYTES_A_TOKEN = 2

_DUE = Diagnosis(summary="Nothing diverges; the answer is due.")

_UNLIKE = (
    "It came through another API than the request that it is most like; whether both are one is not known."
)

_OPENING_TOKENS = 512
"""What a chat template may put in front of any prompt; reading that much is no sign of a known prefix."""


def diagnose(
    evidence: Evidence,
    usage: Usage | None,
    engine: EngineFacts | None,
    placement: Placement | None = None,
) -> Diagnosis:
    """Diagnose one request. ``usage`` and ``engine`` are None while the upstream has not told yet.

    ``placement``: which replica of a fleet took it, None where there is no fleet.
    """
    return draft(evidence, usage, engine, placement).whole()


def draft(
    evidence: Evidence,
    usage: Usage | None,
    engine: EngineFacts | None,
    placement: Placement | None = None,
) -> Diagnosis | Draft:
    """What an answer says of the diagnosis; its ``whole()`` is the same for all."""
    comparison, plain = evidence.comparison, None
    if comparison is not None and comparison.broken:
        plain = plain_break(evidence, usage, engine)
    elif engine is not None:
        plain = plain_answer(evidence, engine) if placement is None else None
    elif usage is not None:
        hit = plain_hit(evidence, usage)
        if hit is not None:
            return hit
        if placement is None:
            plain = plain_miss(evidence, usage) or plain_shortfall(evidence, usage)
    return weigh(evidence, usage, engine, placement) if plain is None else plain


def weigh(
    evidence: Evidence,
    usage: Usage | None,
    engine: EngineFacts | None,
    placement: Placement | None = None,
) -> Diagnosis | Draft:
    """What `draft` says, from all that can be measured of the request."""
    tokens = count_tokens(evidence, usage, engine)
    if not evidence.use_cache:
        return Diagnosis(summary="The caller opted this request out of the cache.", attribution="expected")
    if evidence.prompt is None:
        return Diagnosis(
            summary="The request has no known shape, or is nested too deeply to be looked at, "
            "so nothing can be said of its prefix."
        )
    reported = tokens.cached is not None
    answered = usage is not None or engine is not None
    if evidence.comparison is None:
        return _without_predecessor(evidence, tokens)
    if evidence.comparison.shares_nothing:
        return _nothing_shared(tokens)
    if tokens.contradicted:
        return contradicted(tokens)
    if evidence.comparison.broken and not breaks_behind_marks(evidence):
        return _lossless_first(_broken(evidence, tokens, unreported=answered and not reported), tokens)
    if not reported:
        return _unreported(tokens) if answered else _DUE
    if evidence.comparison.other_api and not tokens.cached and _knows_nothing_else(evidence):
        return _unlike(evidence, tokens)
    return _lossless_first(_unbroken(evidence, tokens, engine, placement), tokens)


def _without_predecessor(evidence: Evidence, tokens: Tokens) -> Diagnosis:
    match = evidence.match
    if match is None or not (match.first or evidence.rules.reports_exactly):
        read = bool(tokens.cached)
        summary = "No earlier request of this template is in memory to compare with."
        return counted(tokens, hit=True if read else None, lost_tokens=0 if read else None, summary=summary)
    return _first(tokens, "The first request of this template: there was nothing to reuse.")


def _nothing_shared(tokens: Tokens) -> Diagnosis:
    return _first(tokens, "Nothing in this prompt was shared with an earlier request.")


def _first(tokens: Tokens, summary: str) -> Diagnosis:
    if tokens.cached and tokens.prompt and tokens.cached >= max(_OPENING_TOKENS, tokens.prompt // 2):
        return counted(
            tokens, hit=True, lost_tokens=0, attribution="expected", summary="Read from the cache."
        )
    return counted(
        tokens,
        cause="PC801",
        causes=("PC801",),
        hit=False,
        lost_tokens=0 if tokens.cached is not None else None,
        summary=summary,
        remedy=get_cause("PC801").remedy,
        attribution="expected",
    )


def _knows_nothing_else(evidence: Evidence) -> bool:
    """Whether neither the upstream itself nor another request tells what could have been read."""
    return not evidence.rules.reports_exactly and (evidence.match is None or evidence.match.living is None)


def _unlike(evidence: Evidence, tokens: Tokens) -> Diagnosis:
    """It came through another API than its predecessor, and nothing was read: time and route may say why."""
    match, away = evidence.match, away_anyway(evidence)
    compared = None if match is None or match.predecessor is None else match.predecessor.id
    if not away:
        return counted(tokens.settled(), summary=_UNLIKE, compared_with=compared)
    first = away[0]
    return counted(
        tokens.settled(),
        cause=first.code,
        causes=(first.code,),
        hit=False,
        lost_tokens=0 if first.code == "PC801" else None,
        summary=first.summary,
        remedy=get_cause(first.code).remedy,
        compared_with=compared,
        attribution=first.attribution,
    )


def _lossless_first(found: Diagnosis | Draft, tokens: Tokens) -> Diagnosis | Draft:
    """The diagnosis; a first request has lost nothing, for this model's cache never held any of it."""
    if found.cause != "PC801" or not found.lost_tokens:
        return found
    said = found.whole()
    return _expected("PC801", tokens.settled(), said.summary, compared_with=said.compared_with)


def _unreported(tokens: Tokens) -> Diagnosis:
    return counted(
        tokens,
        cause="PC810",
        causes=("PC810",),
        summary="The upstream does not say how much it read from its cache.",
        remedy=get_cause("PC810").remedy,
        attribution="unknown",
    )


def _broken(evidence: Evidence, tokens: Tokens, *, unreported: bool) -> Diagnosis | Draft:
    """Something diverges before the newest user turn."""
    assert evidence.comparison is not None
    assert evidence.match is not None
    assert evidence.match.predecessor is not None
    divergence = evidence.comparison.divergence
    lost = tokens.lost
    compared = evidence.match.predecessor.id
    if _is_too_short(evidence, tokens):
        summary = f"{divergence.path} differs from the predecessor; the prompt is too short to be cached."
        return counted(
            tokens,
            summary=summary,
            attribution="expected",
            path=divergence.path,
            char_offset=divergence.char_offset,
            before=divergence.before,
            after=divergence.after,
            compared_with=compared,
        )
    if lost is not None and lost <= NOTHING and (tokens.cached or not tokens.reusable):
        return _hit(evidence, tokens, compared)
    if was_read_past(evidence, tokens):
        return _hit(evidence, tokens, compared)
    return draft_break(evidence, tokens, unreported=unreported)


def _is_too_short(evidence: Evidence, tokens: Tokens) -> bool:
    """Before the upstream has counted: whether the prompt cannot reach what its cache takes."""
    assert evidence.prompt is not None
    rules = evidence.rules
    if tokens.prompt is not None or not rules.assured:
        return False
    return evidence.prompt.total_bytes < rules.minimum * _LEAST_BYTES_A_TOKEN


def _unbroken(
    evidence: Evidence, tokens: Tokens, engine: EngineFacts | None, placement: Placement | None
) -> Diagnosis | Draft:
    """Nothing the caller sent breaks the prefix: a hit, or a shortfall with another reason."""
    assert evidence.match is not None
    assert evidence.match.predecessor is not None
    compared = evidence.match.predecessor.id
    if not tokens.fell_short:
        if tokens.cached == 0 and engine is not None and engine.granularity:
            shared, page = engine.granularity, evidence.rules.granularity
            summary = f"The shared {shared} tokens do not fill a page of {page}."
            return _expected("PC807", tokens, summary, compared_with=compared)
        if tokens.uncertain:
            return _uncertain(evidence, tokens, compared_with=compared)
        return _hit(evidence, tokens, compared)
    return draft_shortfall(evidence, tokens, engine, placement)


def _uncertain(evidence: Evidence, tokens: Tokens, **place: Any) -> Diagnosis:
    """Nothing was read, and nothing proves that anything could have been."""
    if evidence.rules.whole_units:
        summary = "Nothing was read: a part of an earlier request is found only once it has recurred."
        return counted(tokens.settled(), lost_tokens=0, summary=summary, attribution="expected", **place)
    summary = "Nothing was read; whether the shared beginning is long enough to be cached cannot be told."
    return counted(tokens.settled(), lost_tokens=0, summary=summary, **place)


def _hit(evidence: Evidence, tokens: Tokens, compared: str) -> Diagnosis | Draft:
    """Whatever could be read was; where that is nothing, why."""
    least = evidence.rules.minimum
    if tokens.cached == 0 and (tokens.prompt or 0) < least:
        if not evidence.rules.assured:
            summary = "Nothing was read; whether this upstream caches so short a prompt is not known."
            return counted(tokens, lost_tokens=0, summary=summary, compared_with=compared)
        summary = f"{tokens.prompt} tokens are fewer than the {least} the cache takes."
        return _expected("PC604", tokens, summary, compared_with=compared)
    return draft_counted_hit(evidence, tokens)


def _expected(code: str, tokens: Tokens, summary: str, **place: Any) -> Diagnosis:
    """Nothing was read, nothing could be, and it is nobody's fault."""
    return counted(
        tokens,
        cause=code,
        causes=(code,),
        hit=False,
        lost_tokens=0,
        summary=summary,
        remedy=get_cause(code).remedy,
        attribution="expected",
        **place,
    )
