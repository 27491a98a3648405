"""What a break of the prefix is: its causes, the costliest first, what each cost, and where each stands.

Asked where something diverges before the newest user turn that both requests were meant to share. Whether
that is a miss at all is `verdict`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause
from promptcache.quick_values import changed, quick
from promptcache_gateway.observe.alive import unread
from promptcache_gateway.observe.codes import causes_of, unnamed
from promptcache_gateway.observe.evidence import found_once
from promptcache_gateway.observe.marked import has_no_marks
from promptcache_gateway.observe.own_keys import KEY_CHANGED, follows_from_first_message, own_key_changed
from promptcache_gateway.observe.places import Place, Spot, spot_of
from promptcache_gateway.observe.reason import UNEXPLAINED
from promptcache_gateway.observe.shares import split_loss, weigh_causes
from promptcache_gateway.observe.shortfall import begins_a_setting, explain_away
from promptcache_gateway.observe.tokens import Tokens
from promptcache_gateway.observe.unsteady import SETTING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache_gateway.observe.comparison import Comparison
    from promptcache_gateway.observe.diagnosis import Attribution
    from promptcache_gateway.observe.evidence import Evidence
    from promptcache_gateway.observe.reason import Reason

_ELSEWHERE = {
    "PC302": "The tools are others than in the earlier request",
    "PC403": "The system prompt is another than in the earlier request",
}
"""Titles of causes that speak of one conversation, where two are compared."""

_EDITED = "PC403"
_DYNAMIC = "PC401"
_UNSTEADY = frozenset({_DYNAMIC, "PC404"})
"""What is said of instructions that are dynamic or come and go; those of a new version do neither."""
_UNORDERED = "PC204"
"""Said of sections in another order: an order that is left to chance is another one again before long."""
_DRAWN = "PC103"
"""Said of examples that come in another order each time, which no collection does."""
_OF_A_VERSION = frozenset({"PC301", "PC302"})
"""Said of tools in another order and of other tools; a new version's are as expected as its instructions."""
_PAID_ONCE = _OF_A_VERSION | {_EDITED}
_FILLED_IN = "PC303"
_OTHER_TOOL = "PC302"
_MODEL = "PC503"
_EXPIRED = "PC802"
_IN_TURN = "The prefix comes in two forms in turn, and each is written to the cache by itself."


@quick
@dataclass(frozen=True, slots=True)
class Break:
    """A break.

    Attributes:
        codes: every cause, the one that cost most first.
        weights: bytes that each made new.
        reasons: those that would have lost the prefix anyway.
        attribution: whose doing the first cause is.
        spot: where the first cause stands; None: beside the text.
        due: tokens in front of it that its upstream should have read and did not.
    """

    codes: tuple[str, ...]
    weights: Mapping[str, int]
    reasons: Mapping[str, Reason]
    attribution: Attribution
    spot: Spot | None
    due: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Account:
    """A break, explained.

    Attributes:
        losses: the lost tokens of each cause that cost any, most first.
        places: where each cause stands, in their order.
        summary: one sentence for people.
        estimated: the first cause's position is no exact one.
    """

    losses: Mapping[str, int]
    places: tuple[Place, ...]
    summary: str
    estimated: bool


def find_break(evidence: Evidence, tokens: Tokens) -> Break:
    """A break of the caller's, what would have lost the prefix anyway, and what was due in front of it."""
    known = certain_break(evidence)
    found = _find_break(evidence, tokens) if known is None else known
    missed = unread(evidence, tokens)
    return found if missed is None else _beside(found, missed, tokens)


def _beside(found: Break, missed: Reason, tokens: Tokens) -> Break:
    """The break with what its upstream did not read of the prefix in front of it."""
    first, *others = found.codes
    due = missed.lost_tokens or 0
    reasons = {**found.reasons, missed.code: missed}
    if due <= split_loss((tokens.lost or 0) - due, found.weights).get(first, 0):
        return changed(found, codes=(first, missed.code, *others), reasons=reasons, due=due)
    return Break((missed.code, *found.codes), found.weights, reasons, missed.attribution, None, due)


@found_once
def certain_break(evidence: Evidence) -> Break | None:
    """The break, where no count changes it; None where one may."""
    if has_no_marks(evidence):
        return None
    found = _find_break(evidence, Tokens())
    return None if tuple(found.reasons) == (_EXPIRED,) else found


def _find_break(evidence: Evidence, tokens: Tokens) -> Break:
    comparison, match = evidence.comparison, evidence.match
    assert comparison is not None
    reasons = {reason.code: reason for reason in explain_away(evidence, tokens)}
    away = tuple(reasons)
    kept = _kept_by_others(evidence, tokens) if away == (_EXPIRED,) else 0
    weights, codes = _weighed(evidence, comparison, away, kept)
    code = codes[0]
    first = reasons.get(code)
    own_key = own_key_changed(comparison) is not None
    named = [one for one in comparison.divergence.causes if not (own_key and one == KEY_CHANGED)]
    attribution: Attribution = first.attribution if first else "caller" if named else "unknown"
    if code in _PAID_ONCE and _is_paid_once(evidence):
        attribution = "expected"
    if match is not None and match.driven and code == _MODEL:
        attribution = "upstream"
    return Break(codes, weights, reasons, attribution, spot_of(comparison, code) if first is None else None)


def explain_break(evidence: Evidence, tokens: Tokens, found: Break) -> Account:
    """What a break cost, where, and what is to be said of it."""
    comparison, codes = evidence.comparison, found.codes
    assert comparison is not None
    losses = split_loss((tokens.lost or 0) - found.due, found.weights)
    if found.due:
        losses[UNEXPLAINED] = found.due
    places = tuple([_place(comparison, tokens, code, losses, found.reasons) for code in codes])
    first = found.reasons.get(codes[0])
    summary = first.summary if first else _what_broke(comparison, places, tokens.lost)
    behind = [place for place in places if place.code not in found.reasons and place.lost_tokens]
    if found.due and first and behind:
        summary = f"{summary} Behind it: {_listed(comparison, behind)}."
    if first is None and evidence.match is not None and evidence.match.in_turn:
        summary = f"{summary} {_IN_TURN}"
    return Account(
        dict(sorted(losses.items(), key=lambda share: -share[1])),
        places,
        summary,
        tokens.estimated or (found.spot is not None and found.spot.start != comparison.shared_bytes),
    )


def _weighed(
    evidence: Evidence, comparison: Comparison, away: tuple[str, ...], kept: int
) -> tuple[dict[str, int], tuple[str, ...]]:
    """What each code weighs, and the codes, the heaviest first."""
    known: dict[Any, tuple[dict[str, int], tuple[str, ...]]] = evidence.found.setdefault(weigh_causes, {})
    found = known.get((away, kept))
    if found is None:
        weights = weigh_causes(comparison, away, _causes(evidence), kept=kept)
        found = weights, tuple(sorted(weights, key=lambda code: -weights[code]))
        known[away, kept] = found
    return found


@found_once
def _causes(evidence: Evidence) -> tuple[str, ...]:
    """The codes of what differs, as they are called where history knows more than the two requests."""
    comparison, match = evidence.comparison, evidence.match
    assert comparison is not None
    causes = causes_of(comparison)
    deploy = "none" if match is None else match.deploy
    paid_once = _is_paid_once(evidence)
    if match is not None and match.shuffled:
        causes = tuple(_DRAWN if code == _UNORDERED else code for code in causes)
    if deploy != "none":
        steady = {_DYNAMIC} if deploy == "switched" else _UNSTEADY | ({_UNORDERED} if paid_once else set())
        causes = tuple(dict.fromkeys(_EDITED if code in steady else code for code in causes))
    if paid_once:  # a definition that stood still was not filled in
        causes = tuple(dict.fromkeys(_OTHER_TOOL if code == _FILLED_IN else code for code in causes))
    if begins_a_setting(evidence):
        causes = tuple(code for code in causes if code != SETTING) or (unnamed(comparison),)
    if own_key_changed(comparison) is None:
        return causes
    left = tuple(code for code in causes if code != KEY_CHANGED)  # it is among what would have lost it anyway
    return left or ((unnamed(comparison),) if follows_from_first_message(comparison) else ())


def _is_paid_once(evidence: Evidence) -> bool:
    """Whether the instructions are a new version's, which every conversation pays for once."""
    comparison, match = evidence.comparison, evidence.match
    if comparison is None or match is None:
        return False
    return match.deploy == "known" or (match.deploy == "new" and not comparison.same_conversation)


def _kept_by_others(evidence: Evidence, tokens: Tokens) -> int:
    """Bytes of instructions that others keep alive, and that would have been read but for values in them."""
    comparison, match = evidence.comparison, evidence.match
    if comparison is None or match is None or not match.head_alive or tokens.ruler is None:
        return 0
    later = comparison.later
    if evidence.rules.marked_only or comparison.depth >= later.head:
        return 0
    size = later.offsets[later.head]
    return size if tokens.ruler.at(size).guess >= evidence.rules.minimum else 0


def _place(
    comparison: Comparison,
    tokens: Tokens,
    code: str,
    losses: Mapping[str, int],
    reasons: Mapping[str, Reason],
) -> Place:
    lost = None if tokens.lost is None else losses.get(code, 0)
    if code in reasons:
        return Place(code, token_offset=tokens.cached, lost_tokens=lost)
    spot = spot_of(comparison, code)
    at_first = spot.start == comparison.shared_bytes
    offset = tokens.at_least(tokens.offset) if at_first else tokens.before(spot.start)
    return Place(code, spot.path, spot.char_offset, offset, lost, spot.before, spot.after)


def _what_broke(comparison: Comparison, places: Sequence[Place], lost: int | None) -> str:
    """What the costliest cause is and cost, and what stands in front of it and behind."""
    first, *others = places
    title = _title(comparison, first.code)
    spots = {place.code: spot_of(comparison, place.code).start for place in places}
    front = [  # a layout that cost nothing only says what follows from another cause
        place
        for place in others
        if spots[place.code] < spots[first.code] and (place.lost_tokens or not place.code.startswith("PC4"))
    ]
    behind = [place for place in others if place.lost_tokens and spots[place.code] >= spots[first.code]]
    if not front and not behind:
        cost = "" if lost is None else f" {lost} tokens behind it were computed again."
        where = "" if first.path is None else f", in {first.path}"
        return f"{title}{where}.{cost}"
    said = [f"{title}: {first.lost_tokens or 0} of the {lost or 0} tokens computed again."]
    if front:
        others_in = _listed(comparison, front)
        said.append(f"In front of it: {others_in}; nothing behind that is read until it is mended.")
    if behind:
        said.append(f"Behind it: {_listed(comparison, behind)}.")
    return " ".join(said)


def _listed(comparison: Comparison, places: Sequence[Place]) -> str:
    return ", ".join(
        f"{_inside(_title(comparison, place.code))} ({place.code}, {place.lost_tokens or 0} tokens)"
        for place in places
    )


def _inside(title: str) -> str:
    """A title as it stands within a sentence."""
    return title[:1].lower() + title[1:] if title[1:2].islower() or title[1:2] == " " else title


def _title(comparison: Comparison, code: str) -> str:
    title = get_cause(code).title
    return title if comparison.same_conversation else _ELSEWHERE.get(code, title)
