"""Which causes of a request stand in front of which: mending one behind another saves nothing.

A cause beside the text (a setting, an expiry) stands nowhere, and so in front of none.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def in_front(places: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The codes that stand in front of each code that has any.

    Args:
        places: where each cause of one request stands, as a request's ``places`` are kept.
    """
    placed = [place for place in places if place["path"] is not None and place["token_offset"] is not None]
    found = {
        place["code"]: [other["code"] for other in placed if _is_before(other, place) and _is_fault(other)]
        for place in placed
    }
    return {code: front for code, front in found.items() if front}


def mostly_in_front(requests: Iterable[Sequence[Mapping[str, Any]]]) -> dict[str, list[str]]:
    """The same of many requests: the codes that stand in front of another in most of those that show both."""
    both: Counter[tuple[str, str]] = Counter()
    before: Counter[tuple[str, str]] = Counter()
    for places in requests:
        codes = [place["code"] for place in places]
        both.update((one, other) for one in codes for other in codes if one != other)
        before.update((code, other) for code, front in in_front(places).items() for other in front)
    found: dict[str, list[str]] = {}
    for (code, other), count in sorted(before.items()):
        if 2 * count > both[code, other]:
            found.setdefault(code, []).append(other)
    return found


def _is_fault(place: Mapping[str, Any]) -> bool:
    """Not a layout that cost nothing: that only says what follows from another cause."""
    return bool(place["lost_tokens"]) or not place["code"].startswith("PC4")


def _is_before(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if one["path"] == other["path"]:  # tokens are often estimates, characters are not
        return (one["char_offset"] or 0) < (other["char_offset"] or 0)
    return bool(one["token_offset"] < other["token_offset"])
