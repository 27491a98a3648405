"""Says what kind of value changed between two texts, or that it cannot tell.

Here the evidence is stronger than in one text, since the value did differ; so shapes that prove nothing
alone count when both sides have them. What fits no detector on both sides is nobody's fault.
"""

from __future__ import annotations

import re
from typing import Final

from promptcache.detectors import clock, counter, identity, scan
from promptcache.detectors.phrases import phrase_code
from promptcache.detectors.scan import candidates
from promptcache.detectors.span import Candidate, Grade

_REACH: Final = 320
"""Characters looked at on each side of the difference."""
_CLOSE_TIMES: Final = 400 * 86_400
"""Two unlabelled epochs further apart than this (in seconds) are taken for other numbers."""
_WIDE_MARKS = r"\u3001\u3002\u300c-\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\u201c\u201d"
_TOKEN_LEFT = re.compile(rf"[^\s\"'`<>(){{}}\[\],;|{_WIDE_MARKS}]*$")
_TOKEN_RIGHT = re.compile(rf"[^\s\"'`<>(){{}}\[\],;|{_WIDE_MARKS}]*")
_NUMBER = re.compile(r"[$€£]?\d{1,3}(?:,?\d{3})?(?:\.\d+)?%?$")
_FIGURE = re.compile(r"[\d.,]+")
_PLAIN_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_COMMAS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_POINTS = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_HEX = re.compile(r"[0-9a-f]{16,64}|[0-9A-F]{16,64}")

_ENVIRONMENT_LABEL = re.compile(
    r"\b(?:cwd|pwd|(?:current |working )+dir(?:ectory)?|host(?:[ _-]?name)?|platform|os(?:[ _-]version)?"
    r"|operating system|shell|arch(?:itecture)?|kernel|pid|process id|node|pod|container|region|zone|machine"
    r"|python(?:[ _-]version)?|git branch|branch|current branch|locale|workspace(?: root| path)?|home)"
    r"\s?(?:is\s)?[:=]\s?[\"'`]?$",
    re.IGNORECASE,
)
_USER_LABEL = re.compile(
    r"\b(?:user[ _-]?name|user[ _-]?id|username|e-?mail(?: address)?"
    r"|(?:customer|tenant|account|client|company"
    r"|organi[sz]ation|workspace|member)(?:[ _-]?(?:name|id|number))?|name of the (?:user|customer)"
    r"|logged in as|signed in as)\s?(?:is\s)?[:=]?\s?[\"'`]?$",
    re.IGNORECASE,
)
_TIME_LABEL = re.compile(
    r"\b(?:(?:current |local |server )?(?:time|datetime|timestamp)|now|clock)\s?(?:is\s)?[:=]?\s?[\"'`]?$",
    re.IGNORECASE,
)
_DATE_LABEL = re.compile(
    r"\b(?:today(?:'s date)?|(?:current )?date)\s?(?:is\s)?[:=]?\s?[\"'`]?$", re.IGNORECASE
)
_SECRET_LABEL = re.compile(
    r"\b(?:nonce|seed|salt|random(?: \w+)?)\s?(?:is\s)?[:=]?\s?[\"'`]?$", re.IGNORECASE
)
_FRACTION = re.compile(r"0?\.\d{3,}")
"""What ``random.random()`` gives; alone on its line it means nothing else."""
_PERSON_LABEL = re.compile(
    r"\b(?:(?:user|customer|client|member|caller|patient|employee)(?:['\u2019]s)?(?: name)?"
    r"\s?(?:is\s|[:=]\s?)"
    r"|(?:talking|speaking|chatting) (?:to|with) |on behalf of |my name is |name:\s?)"
    r"[\"'`]?(?:[A-Z][\w'-]+ )?$",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Z][a-z'\u2019-]+(?:[A-Z][a-z'-]+)*")
_WITH_ADDRESS = re.compile(
    r"(?:[^\W\d_][\w.'\u2019-]{0,40},? ){1,4}[(<\[]?(?:mailto:)?[\w.+-]{1,64}@[\w-]+\.\w"
)
"""A name that its bearer's address follows: ``Ann Lee (ann@example.com)``."""


def classify_change(before: str, after: str, offset: int) -> str | None:
    """Return the code of the volatile value in which ``before`` and ``after`` first differ, or None.

    ``offset`` is where they first differ, in code points; it may fall inside the value. A code is returned
    only when the values around it fit the same detector on both sides.
    """
    offset = max(0, min(offset, len(before), len(after)))
    low = _left_edge(before, offset)
    left, right = before[low : offset + _REACH], after[low : offset + _REACH]
    at = offset - low
    return (
        _same_number(left, right, at)
        or phrase_code(left, right, at)
        or _same_shape(left, right, at)
        or _same_label(left, right, at)
    )


def _left_edge(text: str, offset: int) -> int:
    low = max(0, offset - _REACH)
    # Begin after a space, so that no value is cut at its left; a line's beginning matters to some.
    space = text.find(" ", low, offset) if low else -1
    return space + 1 if space >= 0 else low


def _same_shape(left: str, right: str, at: int) -> str | None:
    one, other = _covering(left, at), _covering(right, at)
    if one is None or other is None:
        return None
    if left[one.start : one.end] == right[other.start : other.end]:
        return None
    codes = {one.code, other.code}
    if codes == {"PC101", "PC109"}:
        return "PC101"  # a date became a timestamp
    if len(codes) > 1 or not (_believed(left, one) and _believed(right, other)):
        return None
    if one.kind == other.kind == "epoch" and not _plausible_epochs(left, one, right, other):
        return None
    return one.code


def _covering(text: str, at: int) -> Candidate | None:
    for found in candidates(text):
        if found.start <= at <= found.end:
            return found
        if found.start > at:
            return None
    return None


def _believed(text: str, found: Candidate) -> bool:
    if found.grade is not Grade.WEAK or found.kind in {"address", "email", "date"}:
        return True
    return scan.is_labelled(text, found)


def _plausible_epochs(left: str, one: Candidate, right: str, other: Candidate) -> bool:
    if one.grade is Grade.PLAIN or scan.is_labelled(left, one):
        return True
    first = clock.epoch_seconds(left[one.start : one.end])
    second = clock.epoch_seconds(right[other.start : other.end])
    return first is not None and second is not None and abs(first - second) < _CLOSE_TIMES


def _same_label(left: str, right: str, at: int) -> str | None:
    start = at - len(_match_left(left[:at]))
    one, other = _match_right(left, start), _match_right(right, start)
    label = left[max(0, start - 48) : start]
    label = label[label.rfind("\n") + 1 :]
    if not one or not other or one == other:
        return None
    if _WITH_ADDRESS.match(left, start) and _WITH_ADDRESS.match(right, start):
        return "PC104"
    return _by_label(label, one, other) or _by_look(one, other)


def _same_number(left: str, right: str, at: int) -> str | None:
    """PC205 where one number is written in another locale's way."""
    start = at
    while start and (left[start - 1].isdigit() or left[start - 1] in ".,"):
        start -= 1
    one, other = (_figure_at(side, start) for side in (left, right))
    if one == other or (_PLAIN_NUMBER.fullmatch(one) and _PLAIN_NUMBER.fullmatch(other)):
        return None  # without a grouped number on either side, nothing shows a locale
    standing_alone = not (start and left[start - 1].isalnum())
    return "PC205" if standing_alone and _readings(one) & _readings(other) else None


def _figure_at(text: str, start: int) -> str:
    found = _FIGURE.match(text, start)
    return found.group().rstrip(".,") if found else ""


def _readings(number: str) -> set[float]:
    """The values a grouped or plain number can stand for; empty where it is no number."""
    found = {float(number)} if _PLAIN_NUMBER.fullmatch(number) else set[float]()
    if _COMMAS.fullmatch(number):
        found.add(float(number.replace(",", "")))
    if _POINTS.fullmatch(number):
        found.add(float(number.replace(".", "").replace(",", ".")))
    return found


def _match_left(text: str) -> str:
    match = _TOKEN_LEFT.search(text)
    return match.group() if match else ""


def _match_right(text: str, start: int) -> str:
    match = _TOKEN_RIGHT.match(text, start)
    return match.group().rstrip(".:!?") if match else ""


def _by_label(label: str, one: str, other: str) -> str | None:
    numbers = _NUMBER.match(one) is not None and _NUMBER.match(other) is not None
    digits = any(map(str.isdigit, one)) and any(map(str.isdigit, other))
    if numbers and counter.is_ordinal_label(label):
        return "PC107"
    if _ENVIRONMENT_LABEL.search(label):
        return "PC105"
    if _USER_LABEL.search(label) and not (label.endswith(" ") and _is_word(label, one, other)):
        return "PC104"
    if _PERSON_LABEL.search(label) and _NAME.fullmatch(one) and _NAME.fullmatch(other):
        return "PC104"
    if not label.strip(" -*>") and _FRACTION.fullmatch(one) and _FRACTION.fullmatch(other):
        return "PC103"
    if digits and _SECRET_LABEL.search(label):
        return "PC103"
    if digits and _TIME_LABEL.search(label):
        return "PC101"
    if digits and _DATE_LABEL.search(label):
        return "PC109"
    return None


def _is_word(label: str, one: str, other: str) -> bool:
    """Whether "customer" is a part of speech here, with what follows it: nothing says that it is a label."""
    signed = label.rstrip().endswith((":", "=", " is", " as"))
    return not signed and all(side.isalpha() and side[0].islower() for side in (one, other))


def _by_look(one: str, other: str) -> str | None:
    if _HEX.fullmatch(one) and _HEX.fullmatch(other) and len(one) == len(other):
        return "PC102"
    values = [token.rpartition("=")[2] for token in (one, other)]
    if all(
        len(value) >= 12 and value.isascii() and value.isalnum() and identity.looks_random(value)
        for value in values
    ):
        return "PC103"
    return None
