"""Shapes of identifiers: UUID, ULID, prefixed and labelled ids, trace headers, signed links, e-mail.

An id counts when its form is unmistakable (a UUID) or when the word before it says what it is
("request_id:"). Digests and versions are not ids: they change when what they name changes.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from promptcache.detectors.span import Candidate, Grade

if TYPE_CHECKING:
    from collections.abc import Iterator

_UUID = re.compile(
    r"-(?<=[0-9a-fA-F]{8}-)(?<![0-9a-zA-Z_][0-9a-fA-F]{8}-)"
    r"[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?![0-9a-zA-Z_])"
)
_NIL = "00000000-0000-0000-0000-000000000000"
_TRACEPARENT = re.compile(r"00-(?<![\w-]00-)[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?![\w-])")
# Times of 2004 to 2039 make a ULID begin with 01.
_ULID = re.compile(r"01(?<![0-9A-Za-z_]01)(?=[0-9]*[A-Z])[0-9A-HJKMNP-TV-Z]{24}(?![0-9A-Za-z_])")
_PREFIXED = re.compile(
    r"[_-](?<=[a-z0-9][_-])(?=[0-9A-Za-z]*[0-9])[0-9A-Za-z]{8,64}(?![0-9A-Za-z])",
)
_PREFIX = re.compile(
    r"(?<![\w-])(?:req|request|msg|call|toolu|srvtoolu|chatcmpl|cmpl|resp|run|thread|asst|sess|session|trace|span"
    r"|txn|evt|event|conv|conversation|job|task|fc|rs|gen|batch|cus|usr|pi|ch|in|sub)$"
)
_LABELLED = re.compile(
    r"[:=#] ?[\"'`(]?(?=[A-Za-z_-]{0,40}[0-9])([0-9A-Za-z_-]{4,128})(?![0-9A-Za-z_/@]|\.\w)"
)
_LABEL = re.compile(
    r"(?:(?P<id>\b(?:x-)?(?:request|req|trace|span|session|sess|correlation|conversation|chat|run|job|thread|invocation"
    r"|execution|transaction|txn|message|msg|event|batch|build|deployment|pod|task|ticket|instance|container)"
    r"[ _-]?(?:id|uuid|guid|ref)|\b(?:uuid|guid|session token|idempotency[ _-]key|traceparent|etag))"
    r"|(?P<random>\b(?:nonce|salt|random(?: (?:number|id|token|string))?|cache[ _-]?buster))"
    r"|(?P<user>\b(?:user|customer|tenant|account|org|organi[sz]ation|member|client|patient|employee|owner|visitor"
    r"|profile|workspace|team)[ _-]?(?:id|uuid|guid|number|no\.?)))$",
    re.IGNORECASE,
)
_LABEL_ENDS: Final = (
    *("id", "ref", "no", "no.", "number", "nonce", "seed", "salt", "key", "token", "string", "random"),
    *("buster", "traceparent", "etag"),
)
_BARE_KEY: Final = "\"'{,(\n"
"""Stands before a bare ``id``, which says nothing; so does the text's beginning, as an empty string."""
_DRAWN = re.compile(r"[0-9a-fA-F]+")
_CODES: Final = {"id": ("PC102", "id"), "random": ("PC103", "random"), "user": ("PC104", "user-id")}

_EMAIL_AT = re.compile(r"@(?<=[0-9A-Za-z_+-]@)[0-9A-Za-z-]{1,63}(?:\.[0-9A-Za-z-]{1,63})*\.[A-Za-z]{2,24}\b")
_EMAIL_LOCAL = re.compile(r"[0-9A-Za-z._%+-]{1,64}$")
_ROLE_MAILBOX = re.compile(
    r"^(?:support|info|help|helpdesk|sales|contact|admin|no-?reply|donotreply|hello|team|security|privacy|press"
    r"|billing|office|service|feedback|abuse|legal|hr|jobs|careers|orders?|returns?|bookings?|postmaster|webmaster"
    r"|marketing|media|partners|accounts?|finance|git|user|username|you|name|email|me|someone|john\.?doe"
    r"|jane\.?doe)(?:[+_.-].*)?$",
    re.IGNORECASE,
)
_EXAMPLE_DOMAIN = re.compile(
    r"(?:^|[.@])(?:example|test|invalid|localhost)(?:\.(?:com|org|net|edu))?$", re.IGNORECASE
)

_SIGNATURE = re.compile(
    r"[?&](?:X-Amz-(?:Signature|Credential|Date|Security-Token)|X-Goog-(?:Signature|Credential|Date)|Signature|sig"
    r"|Key-Pair-Id|token|st|se|Expires)=[^\s&\"'<>)\]]{6,}"
)
_SIGNED = re.compile(r"[?&](?:X-(?:Amz|Goog)-(?:Signature|Credential)|Signature|sig|token)=")
_URL_END = re.compile(r"[\s\"'<>)\]}]|$")
_HEADER = re.compile(
    r"[xX]-(?<![\w-][xX]-)[A-Za-z-]*(?:[Bb]illing|[Rr]equest|[Tt]race|[Ss]ession|[Cc]orrelation|[Nn]once)"
    r"[A-Za-z-]*: ?(?=[^\n]*\d)[^\n]+"
)
_CCH = re.compile(r"cch=(?<!\wcch=)[0-9A-Za-z]{4,}")
_JWT = re.compile(r"eyJ(?<!\weyJ)[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}")


def scan(text: str) -> Iterator[Candidate]:
    """Yield every identifier in ``text``; they may overlap."""
    joined = "-" in text
    if joined:
        yield from _uuids(text)
    if "01" in text:
        for match in _ULID.finditer(text):
            yield Candidate(match.start(), match.end(), "PC102", "ulid", Grade.PLAIN)
    if joined or "_" in text:
        yield from _prefixed(text)
    if ":" in text or "=" in text or "#" in text:
        yield from _labelled(text)
    if "@" in text:
        yield from _emails(text)
    if "=" in text:
        yield from _signed_links(text)
    if joined or "cch=" in text or "eyJ" in text:
        yield from _whole(text)


def looks_random(token: str) -> bool:
    """Tell whether a token looks drawn by a generator and not written: long, with digits mixed in.

    >>> looks_random("011CSHoEeqs5C35K2UUqR7Fy"), looks_random("integration2"), looks_random("1234567890")
    (True, False, False)
    """
    letters = sum(char.isalpha() for char in token)
    digits = sum(char.isdigit() for char in token)
    if len(token) < 8 or digits < 2 or letters < 2:
        return False
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(token))
    return changes >= 3


def _uuids(text: str) -> Iterator[Candidate]:
    for match in _UUID.finditer(text):
        start = match.start() - 8
        if text[start : match.end()] != _NIL:
            yield Candidate(start, match.end(), "PC102", "uuid", Grade.PLAIN)


def _prefixed(text: str) -> Iterator[Candidate]:
    for match in _PREFIXED.finditer(text):
        prefix = _PREFIX.search(text[max(0, match.start() - 14) : match.start()])
        if prefix and looks_random(match.group()[1:]):
            start = match.start() - len(prefix.group())
            yield Candidate(start, match.end(), "PC102", "id", Grade.PLAIN)


def _labelled(text: str) -> Iterator[Candidate]:
    for match in _LABELLED.finditer(text):
        before = text[max(0, match.start() - 40) : match.start()].rstrip("\"'*`]) ")
        # A cheap look at the last letters first: in data nearly every value follows a colon.
        if before[-3:-2] in _BARE_KEY or not before[-12:].lower().endswith(_LABEL_ENDS):
            continue
        label = _LABEL.search(before)
        if label is not None and label.lastgroup:
            code, kind = _CODES[label.lastgroup]
            if kind != "random" or _DRAWN.fullmatch(match[1]) or looks_random(match[1]):
                yield Candidate(match.start(1), match.end(1), code, kind, Grade.PLAIN)


def _emails(text: str) -> Iterator[Candidate]:
    for match in _EMAIL_AT.finditer(text):
        local = _EMAIL_LOCAL.search(text[max(0, match.start() - 64) : match.start()])
        if not local or text[max(0, match.start() - len(local.group()) - 1)] == "\\":
            continue  # an escaped newline before a decorator
        public = _ROLE_MAILBOX.match(local.group()) or _EXAMPLE_DOMAIN.search(match.group())
        start = match.start() - len(local.group())
        yield Candidate(start, match.end(), "PC104", "email", Grade.WEAK if public else Grade.PLAIN)


def _signed_links(text: str) -> Iterator[Candidate]:
    done = 0
    for match in _SIGNATURE.finditer(text):
        if match.start() < done:
            continue
        stop = _URL_END.search(text, match.start())
        done = stop.start() if stop else len(text)
        query = text.rfind("?", max(0, match.start() - 2048), match.start() + 1)
        url = text.rfind("://", max(0, match.start() - 2048), match.start())
        if query > url >= 0 and _SIGNED.search(text, query, done):
            yield Candidate(query + 1, done, "PC102", "signed-link", Grade.PLAIN)


def _whole(text: str) -> Iterator[Candidate]:
    for pattern, kind in ((_HEADER, "header"), (_CCH, "header"), (_JWT, "token"), (_TRACEPARENT, "trace")):
        for match in pattern.finditer(text):
            start = match.start()
            if pattern is _HEADER:
                start = text.index(":", start) + 1
                start += text[start] == " "
            yield Candidate(start, match.end(), "PC102", kind, Grade.PLAIN)
