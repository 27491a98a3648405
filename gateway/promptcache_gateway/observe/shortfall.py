"""Why less was read than an unbroken prefix allowed: what the upstream, time or a setting did.

Only asked where nothing the caller sent breaks the prefix. The engine's own knowledge comes first,
then what is certain from the request and the clock. An identical prefix that should still have
been there and was not read is the upstream's doing, and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.quick_values import changed
from promptcache_gateway.observe.alive import with_what_was_due
from promptcache_gateway.observe.evidence import found_once
from promptcache_gateway.observe.marked import has_no_marks, readable_at_any_age, readable_segments
from promptcache_gateway.observe.own_keys import (
    KEY_CHANGED,
    follows_from_first_message,
    is_of_another_place,
    own_key_changed,
    said_of,
)
from promptcache_gateway.observe.own_marks import MISSING, follow_from_break, own_marks_amiss
from promptcache_gateway.observe.reason import CALLERS_OWN, UNEXPLAINED, Reason
from promptcache_gateway.observe.tokens import Tokens
from promptcache_gateway.observe.unmarked import (
    codes_beside_text,
    unmarked_history,
    what_is_unmarked,
    worth_marking,
)
from promptcache_gateway.observe.unsteady import SETTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.exchange import EngineFacts, Placement
    from promptcache_gateway.observe.evidence import Evidence

# What routing knows by estimate it knows to a piece of the prompt, and to a share of its tokens.
_LEAST_ELSEWHERE = 128
_LEAST_SHARE = 0.125


def explain_away(evidence: Evidence, tokens: Tokens) -> list[Reason]:
    """Reasons for which the prefix would not have been read even if the caller had not broken it."""
    return [
        *_switched_off(evidence),
        *_unmarked(evidence, tokens),
        *away_anyway(evidence),
        *_keyed_anew(evidence),
    ]


@found_once
def away_anyway(evidence: Evidence) -> Sequence[Reason]:
    """Reasons in the clock and the route for which nothing of the predecessor's can have been read."""
    return (
        *_first_of_model(evidence),
        *_emptied(evidence),
        *_sent_elsewhere(evidence),
        *_expired(evidence),
    )


def explain_shortfall(
    evidence: Evidence, tokens: Tokens, engine: EngineFacts | None, placement: Placement | None = None
) -> list[Reason]:
    """The reasons, the costliest first; none where nothing that can be seen is one."""
    reasons = [] if engine is None else reasons_of(evidence, engine)
    return reasons or _from_request(evidence, tokens, placement)


@found_once
def certain_reasons(evidence: Evidence) -> Sequence[Reason] | None:
    """The reasons where neither an engine nor a fleet knows more, and no count; None: one may."""
    known = unmarked_history(evidence) is None and not has_no_marks(evidence)
    return (*_switched_off(evidence), *_from_evidence(evidence)) if known else None


def reasons_of(evidence: Evidence, engine: EngineFacts) -> list[Reason]:
    """What the built-in engine says; none where it does not say why."""
    on_demand = bool(_emptied(evidence))
    known = (
        ("PC803", engine.evicted, f"had been cached and were {'cleared' if on_demand else 'evicted'}"),
        ("PC808", engine.isolated, "are cached for another tenant or salt"),
        ("PC807", engine.granularity, "do not fill a page"),
        ("PC807", engine.window, "have left the attention window"),
    )
    found = [one for one in sorted(known, key=lambda one: -one[1]) if one[1]]
    return [Reason(code, n, f"{n} tokens {said}.", on_demand and code == "PC803") for code, n, said in found]


def _from_request(evidence: Evidence, tokens: Tokens, placement: Placement | None) -> list[Reason]:
    """What is certain without the engine. The first of them explains the whole loss."""
    if placement is None and unmarked_history(evidence) is None:
        certain = _from_evidence(evidence)
    else:
        named = _named_by_divergence(evidence, tokens)
        certain = _in_order(evidence, named, _from_placement(tokens, placement))
    found = [*_switched_off(evidence), *_unmarked(evidence, tokens), *certain]
    if found:
        found[0] = changed(found[0], lost_tokens=tokens.lost)
    return found if placement is not None else with_what_was_due(evidence, tokens, found)


@found_once
def _switched_off(evidence: Evidence) -> list[Reason]:
    if evidence.rules.enabled:
        return []
    return [Reason("PC811", None, f"{evidence.route[0]} does not reuse prefixes.")]


def _unmarked(evidence: Evidence, tokens: Tokens) -> list[Reason]:
    """Only what is marked is kept, and the request marks nothing. Counters that deny it are believed."""
    if not has_no_marks(evidence) or tokens.cached or tokens.written:
        return []
    if evidence.rules.on_request:
        summary = "The request asks that only what it marks be kept, and marks nothing."
        return [Reason("PC811", None, summary, on_demand=True)]
    comparison = evidence.comparison
    if evidence.match is None or not evidence.match.alive or comparison is None:
        return []  # it would have been gone anyway
    if follow_from_break(comparison):
        return []
    if (own := own_marks_amiss(comparison, MISSING)) is not None:
        return [Reason(MISSING, None, own, on_demand=True)]
    return [Reason(MISSING, None, "Nothing is marked, and this provider keeps only what is.")]


@found_once
def _first_of_model(evidence: Evidence) -> list[Reason]:
    """Another conversation may well run on another model: then this one's first request is just that."""
    earlier = _other_model(evidence)
    if earlier is None or _is_one_conversation(evidence) or _is_known_to_model(evidence):
        return []
    return [Reason("PC801", None, f"The first request of this template for {evidence.route[1]}.")]


@found_once
def _switched_model(evidence: Evidence) -> list[Reason]:
    earlier = _other_model(evidence)
    if earlier is None or not _is_one_conversation(evidence):
        return []
    if evidence.match is not None and evidence.match.driven:
        summary = f"{earlier} did not answer; the conversation goes on with {evidence.route[1]}."
        return [Reason("PC503", None, summary, driven=True)]
    return [Reason("PC503", None, f"The conversation ran on {earlier} and now asks {evidence.route[1]}.")]


@found_once
def begins_a_setting(evidence: Evidence) -> bool:
    """Whether another setting is a program's, a user's or a new version's own, and this request is its first.

    No conversation changed it, and it does not change with every request.
    """
    match, comparison = evidence.match, evidence.comparison
    if match is None or comparison is None or match.unsteady or SETTING not in comparison.changed_settings:
        return False
    return not _is_one_conversation(evidence)


@found_once
def _first_of_setting(evidence: Evidence) -> list[Reason]:
    if evidence.comparison is None or not begins_a_setting(evidence):
        return []
    name = evidence.comparison.divergence.details.get("parameter", "setting")
    return [Reason("PC801", None, f"The first request of this template with this {name}.")]


def _other_model(evidence: Evidence) -> str | None:
    """The predecessor's model where it is another: of this one's no request shares as much that is alive."""
    match = evidence.match
    if match is None or match.predecessor is None:
        return None
    model = match.predecessor.model
    return model if model != evidence.route[1] else None


def _is_known_to_model(evidence: Evidence) -> bool:
    """Whether anything of this model's that is alive begins like the request."""
    return evidence.match is not None and evidence.match.living is not None


def _is_one_conversation(evidence: Evidence) -> bool:
    comparison = evidence.comparison
    return comparison is not None and (comparison.same_conversation or comparison.divergence.append_only)


@found_once
def _from_evidence(evidence: Evidence) -> Sequence[Reason]:
    """What is certain whatever was counted, where no fleet took it and no history is unmarked."""
    return _in_order(evidence, _named_by_divergence(evidence, Tokens()), ())


def _in_order(evidence: Evidence, named: Sequence[Reason], placed: Sequence[Reason]) -> Sequence[Reason]:
    switched, expired = _switched_model(evidence), _expired(evidence)
    beside = (*switched, *named)
    gone = bool(switched or (beside and _is_gone(evidence)))  # whatever was changed, it would have been
    return (
        *_first_of_model(evidence),
        *(expired if gone else _first_of_setting(evidence)),
        *beside,
        *_emptied(evidence),
        *_sent_elsewhere(evidence),
        *placed,
        *(() if gone else expired),
        *_unanswered_leader(evidence),
    )


def _named_by_divergence(evidence: Evidence, tokens: Tokens) -> list[Reason]:
    """Parameters, breakpoints, keys: what the SDK finds beside the text, and history without a breakpoint."""
    others = {"PC503", SETTING} if begins_a_setting(evidence) else {"PC503"}
    codes = [code for code in codes_beside_text(evidence) if code in CALLERS_OWN - others]
    ruler = tokens.ruler
    unmarked = None if ruler is None else worth_marking(evidence, ruler, tokens.cached)
    codes += [] if unmarked is None or unmarked.code in codes else [unmarked.code]
    missing = what_is_unmarked(evidence, ruler, tokens.cached, tokens.lost) if MISSING in codes else ""
    if KEY_CHANGED in codes and is_of_another_place(evidence):
        codes.remove(KEY_CHANGED)
    own = {code: said for code in codes if (said := _own_doing(evidence, code)) is not None}
    return [
        Reason(code, None, own[code], on_demand=True)
        if code in own
        else Reason(code, None, missing if code == MISSING else "")
        for code in codes
    ]


def _own_doing(evidence: Evidence, code: str) -> str | None:
    """What is said of a fault that the gateway's own key or breakpoints are; None where it is a caller's."""
    comparison = evidence.comparison
    if comparison is None:
        return None
    if code != KEY_CHANGED:
        return own_marks_amiss(comparison, code)
    own = own_key_changed(comparison)
    return None if own is None else f"{said_of(own)}."


@found_once
def _keyed_anew(evidence: Evidence) -> list[Reason]:
    """The gateway's own key is another, and not because of what broke the prefix."""
    comparison = evidence.comparison
    if comparison is None or is_of_another_place(evidence) or follows_from_first_message(comparison):
        return []
    own = own_key_changed(comparison)
    return [] if own is None else [Reason(KEY_CHANGED, None, f"{said_of(own)}.", on_demand=True)]


@found_once
def _emptied(evidence: Evidence) -> list[Reason]:
    match = evidence.match
    if evidence.emptied_at is None or match is None or match.predecessor is None:
        return []
    if match.predecessor.last_used > evidence.emptied_at:
        return []
    return [Reason("PC803", None, "The cache was emptied since the prefix was last used.", on_demand=True)]


@found_once
def _sent_elsewhere(evidence: Evidence) -> list[Reason]:
    match = evidence.match
    if match is None or match.predecessor is None or match.predecessor.upstream == evidence.route[0]:
        return []
    where = match.predecessor.upstream
    return [Reason("PC804", None, f"The prefix was last sent to {where}, not to {evidence.route[0]}.")]


def _from_placement(tokens: Tokens, placement: Placement | None) -> list[Reason]:
    """What the fleet knew: warm on another replica; or removed, where the replicas' own events say so."""
    if placement is None or tokens.cached is None:
        return []
    found = []
    elsewhere = placement.available_tokens - max(placement.chosen_tokens, tokens.cached)
    if elsewhere >= max(_LEAST_ELSEWHERE, placement.available_tokens * _LEAST_SHARE):
        summary = f"{elsewhere} tokens more were cached on another replica than on {placement.replica}."
        found.append(Reason("PC804", elsewhere, summary))
    if placement.exact:
        gone = placement.removed_tokens + max(0, placement.chosen_tokens - tokens.cached)
        if gone > max(tokens.tolerance, 0):
            found.append(Reason("PC803", gone, f"{gone} tokens had been cached there and were evicted."))
    return sorted(found, key=lambda reason: -(reason.lost_tokens or 0))


def _is_gone(evidence: Evidence) -> bool:
    """Whether all that the predecessor left has outlived its time."""
    return evidence.idle_s is not None and evidence.idle_s > evidence.kept_s


@found_once
def _expired(evidence: Evidence) -> list[Reason]:
    idle, lifetime = evidence.idle_s, evidence.kept_s
    if idle is None:
        return []
    if _is_gone(evidence):
        summary = f"Last used {idle:.0f} s ago; the cache keeps entries for {lifetime:.0f} s."
        return [Reason("PC802", None, summary)]
    if evidence.rules.marked_only and readable_segments(evidence) < readable_at_any_age(evidence):
        return [Reason("PC802", None, f"Last used {idle:.0f} s ago; its breakpoint keeps it for less.")]
    return []


@found_once
def _unanswered_leader(evidence: Evidence) -> list[Reason]:
    if evidence.match is None or not evidence.match.pending:
        return []
    return [Reason("PC608", None, "The first request with this prefix had not begun to be answered.")]


def unexplained(evidence: Evidence, tokens: Tokens) -> Reason:
    """What is said where nothing that can be seen is the reason."""
    idle = evidence.idle_s
    since = "" if idle is None else f" {idle:.0f} s ago"
    return Reason(
        UNEXPLAINED,
        tokens.lost,
        f"The same prefix was sent{since} and should have been cached; {evidence.route[0]} did not read it.",
    )
