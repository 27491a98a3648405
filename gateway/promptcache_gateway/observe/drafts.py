"""Drafts: what the answer says at once, and the whole diagnosis that is written out behind it.

That something is a hit or a miss is `verdict`'s finding. A miss's first cause, that one's place and what was
lost follow from it with little more than arithmetic; what each of several causes cost, where all of them
stand, and the sentence on it take longer, and no caller waits for them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause
from promptcache.quick_values import changed
from promptcache_gateway.observe.breaks import Break, explain_break, find_break
from promptcache_gateway.observe.compaction import goes_on_from_summary
from promptcache_gateway.observe.diagnosis import Diagnosis, Draft
from promptcache_gateway.observe.reason import UNEXPLAINED
from promptcache_gateway.observe.shares import losses_by_cause
from promptcache_gateway.observe.shortfall import explain_shortfall, unexplained
from promptcache_gateway.observe.tokens import Tokens
from promptcache_gateway.observe.unmarked import unmarked_history

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptcache_gateway.exchange import EngineFacts, Placement
    from promptcache_gateway.observe.counting import Counting
    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.reason import Reason


def counted(tokens: Tokens, **known: Any) -> Diagnosis:
    """A diagnosis with the counts in it."""
    return Diagnosis(
        expected_cached_tokens=tokens.at_least(tokens.expected),
        reusable_tokens=tokens.reusable,
        estimated=tokens.estimated,
        **known,
    )


def draft_hit(evidence: Evidence, cached: int) -> Draft:
    """A hit of so many tokens, which are all that could be read."""
    return Draft(None, None, None, 0, None, "expected", partial(_write_hit, evidence, cached))


def _write_hit(evidence: Evidence, cached: int) -> Diagnosis:
    assert evidence.match is not None
    assert evidence.match.predecessor is not None
    return Diagnosis(
        hit=True,
        expected_cached_tokens=cached,
        reusable_tokens=cached,
        lost_tokens=0,
        estimated=True,
        compared_with=evidence.match.predecessor.id,
        summary=what_was_read(evidence),
        attribution="expected",
    )


def draft_counted_hit(evidence: Evidence, tokens: Tokens) -> Draft:
    """A hit by those counts."""
    lost = None if tokens.cached is None else 0
    return Draft(None, None, None, lost, None, "expected", partial(_write_counted_hit, evidence, tokens))


def draft_engines_hit(evidence: Evidence, counting: Counting) -> Draft:
    """A hit by the built-in engine's counts; ``counting`` counts the rest, later."""
    return Draft(None, None, None, 0, None, "expected", partial(_write_engines_hit, evidence, counting))


def _write_engines_hit(evidence: Evidence, counting: Counting) -> Diagnosis:
    return _write_counted_hit(evidence, counting.tokens(None))


def _write_counted_hit(evidence: Evidence, tokens: Tokens) -> Diagnosis:
    assert evidence.match is not None
    assert evidence.match.predecessor is not None
    return counted(
        tokens.settled(),
        hit=True,
        lost_tokens=None if tokens.cached is None else 0,
        summary=what_was_read(evidence),
        attribution="expected",
        compared_with=evidence.match.predecessor.id,
    )


def what_was_read(evidence: Evidence) -> str:
    """A sentence on a hit."""
    comparison = evidence.comparison
    if comparison is not None and goes_on_from_summary(comparison.earlier, comparison.later):
        return "The conversation goes on from a summary of it; all that stands before that was read."
    unmarked = unmarked_history(evidence)
    if unmarked is not None:
        return unmarked.summary
    return "Everything that could be read from the cache was."


def draft_break(evidence: Evidence, tokens: Tokens, *, unreported: bool) -> Draft:
    """A break of the caller's; ``unreported``: the upstream did not say how much it read."""
    found = find_break(evidence, tokens)
    return _break(found, tokens.lost, partial(_write_break, evidence, tokens, found, unreported=unreported))


def draft_counted_break(evidence: Evidence, found: Break, lost: int, counting: Counting) -> Draft:
    """A break that no count changes, which lost so many tokens; ``counting`` counts the rest, later."""
    return _break(found, lost, partial(_write_counted_break, evidence, found, counting))


def draft_contradicted(lost: int, counting: Counting) -> Draft:
    """A break that the counters refute; were it one, so many tokens would have been lost."""
    rest = partial(_write_contradicted, counting)
    if lost:
        return Draft(None, None, None, None, None, "unknown", rest)
    return Draft(None, None, None, 0, None, "expected", rest)


def _write_contradicted(counting: Counting) -> Diagnosis:
    return contradicted(counting.tokens(None))


def contradicted(tokens: Tokens) -> Diagnosis:
    """The counters know better: what this request really continues is no longer in memory."""
    if not tokens.lost:
        return counted(
            tokens.settled(), hit=True, lost_tokens=0, attribution="expected", summary="Read from the cache."
        )
    return counted(
        tokens.settled(),
        summary="More was read than any request in memory has in common with this one; what it continues is"
        " not known.",
    )


def _break(found: Break, lost: int | None, rest: Callable[[], Diagnosis]) -> Draft:
    code, spot = found.codes[0], found.spot
    remedy = get_cause(code).remedy
    if spot is None:
        return Draft(code, None, None, lost, remedy, found.attribution, rest)
    return Draft(code, spot.path, spot.char_offset, lost, remedy, found.attribution, rest)


def _write_counted_break(evidence: Evidence, found: Break, counting: Counting) -> Diagnosis:
    return _write_break(evidence, counting.tokens(None), found, unreported=False)


def _write_break(evidence: Evidence, tokens: Tokens, found: Break, *, unreported: bool) -> Diagnosis:
    assert evidence.match is not None
    assert evidence.match.predecessor is not None
    told = explain_break(evidence, tokens, found)
    place = told.places[0]
    return counted(
        changed(tokens, estimated=told.estimated),
        cause=found.codes[0],
        causes=(*found.codes, "PC810") if unreported else found.codes,
        hit=False,
        path=place.path,
        char_offset=place.char_offset,
        token_offset=place.token_offset,
        before=place.before,
        after=place.after,
        lost_tokens=tokens.lost,
        losses=told.losses,
        places=told.places,
        compared_with=evidence.match.predecessor.id,
        summary=told.summary,
        remedy=get_cause(found.codes[0]).remedy,
        attribution=found.attribution,
    )


def draft_shortfall(
    evidence: Evidence, tokens: Tokens, engine: EngineFacts | None, placement: Placement | None
) -> Draft:
    """A miss of a prefix that nothing the caller sent breaks."""
    reasons, lost = explain_shortfall(evidence, tokens, engine, placement), tokens.lost or 0
    if not reasons:
        return _unexplained(lost, partial(_write_unexplained, evidence, tokens))
    first = reasons[0]
    rest = partial(_write_shortfall, evidence, tokens, reasons)
    return Draft(first.code, None, None, lost, get_cause(first.code).remedy, first.attribution, rest)


def draft_counted_shortfall(
    evidence: Evidence,
    reasons: Sequence[Reason],
    lost: int,
    counting: Counting,
    *,
    written: int | None = None,
    engine: EngineFacts | None = None,
) -> Draft:
    """The same for reasons that no count changes; ``counting`` counts the rest, later."""
    rest = partial(_write_counted_shortfall, evidence, counting, written, engine)
    if not reasons:
        return _unexplained(lost, rest)
    first = reasons[0]
    return Draft(first.code, None, None, lost, get_cause(first.code).remedy, first.attribution, rest)


def _write_counted_shortfall(
    evidence: Evidence, counting: Counting, written: int | None, engine: EngineFacts | None
) -> Diagnosis:
    return draft_shortfall(evidence, counting.tokens(written), engine, None).whole()


def draft_unexplained(evidence: Evidence, prompt: int, lost: int) -> Draft:
    """A miss of a prefix that should be there: of ``prompt`` tokens none was read, and so many were lost."""
    return _unexplained(lost, partial(_write_unread, evidence, prompt, lost))


def _unexplained(lost: int, rest: Callable[[], Diagnosis]) -> Draft:
    return Draft(UNEXPLAINED, None, None, lost, get_cause(UNEXPLAINED).remedy, "upstream", rest)


def _write_unread(evidence: Evidence, prompt: int, lost: int) -> Diagnosis:
    return _write_unexplained(evidence, Tokens(prompt, 0, expected=lost, reusable=lost, estimated=True))


def _write_unexplained(evidence: Evidence, tokens: Tokens) -> Diagnosis:
    return _write_shortfall(evidence, tokens, [unexplained(evidence, tokens)])


def _write_shortfall(evidence: Evidence, tokens: Tokens, reasons: Sequence[Reason]) -> Diagnosis:
    assert evidence.match is not None
    assert evidence.match.predecessor is not None
    first, lost = reasons[0], tokens.lost or 0
    return counted(
        tokens,
        cause=first.code,
        causes=tuple(dict.fromkeys(reason.code for reason in reasons)),
        hit=False,
        token_offset=tokens.cached,
        lost_tokens=lost,
        losses=losses_by_cause(reasons, lost),
        compared_with=evidence.match.predecessor.id,
        summary=first.summary or get_cause(first.code).title,
        remedy=get_cause(first.code).remedy,
        attribution=first.attribution,
    )
