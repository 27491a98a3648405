"""Shapes of what belongs to one machine or process: home paths, hosts, addresses, process ids, reprs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from promptcache.detectors.span import Candidate, Grade

if TYPE_CHECKING:
    from collections.abc import Iterator

_HOME = re.compile(
    r"[/\\](?:home|Users|root|tmp|private/tmp|private/var/folders|var/folders|var/tmp|mnt/[a-z]/Users)[/\\]"
    r"(?P<who>[^\s/\\\"'`<>|:;,)\]}{$*]+)(?P<rest>(?:[/\\][^\s/\\\"'`<>|:;,)\]}{$*]+)*)[/\\]?"
)
_PLACEHOLDER = re.compile(
    r"^(?:user|username|user_?name|your[_-]?\w*|you|me|name|someone|example|alice|bob|foo|bar|xxx+|runner|\.+)$",
    re.IGNORECASE,
)
_TEMPORARY = re.compile(
    r"[/]tmp\.?(?=[a-z_]*\d)[a-z0-9_]{8}\b|[/]tmp\.\w{6,}|\d{5}|[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{12}"
)
_PATH = re.compile(
    r"/(?<=[\s:=\"'`]/)(?=[\w.])[^\s\"'`<>|;,)\]}]*[\w/-]"
    r"|:(?<=[A-Za-z]:)\\[^\s\"'`<>|;,)\]}]*[\w\\-]"
)
_PATH_LABEL = re.compile(
    r"\b(?:cwd|pwd|working[ _-]dir(?:ectory)?|current[ _-](?:working[ _-])?dir(?:ectory)?|project[ _-]root"
    r"|workspace(?:[ _-](?:root|path|folder|dir(?:ectory)?))?|home(?:[ _-]dir(?:ectory)?)?"
    r"|root[ _-]dir(?:ectory)?)(?: is)?[\"'*`]{0,2}\s?[:=]?\s?[\"'`]?$",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"ost(?<=[Hh]ost)(?<!\w[Hh]ost)(?:[ _-]?name)?[\"'*`]{0,2}\s?[:=]\s?[\"'`]?"
    r"(?P<host>(?!host\d)(?=[A-Za-z0-9.-]*[\d-])[A-Za-z][A-Za-z0-9.-]{2,62}[A-Za-z0-9])(?![\w:/]|\.\w)"
)
_AWS_HOST = re.compile(r"ip-(?<![\w-]ip-)\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[a-z0-9.-]+)?(?!\w)")
_POD = re.compile(
    r"-(?<=[a-z0-9]-)(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,10}-"
    r"(?=[a-z]*\d)[bcdfghjklmnpqrstvwxz0-9]{5}(?![\w-])"
)
_POD_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,50}[a-z0-9])?$")
_PID = re.compile(r"[pP](?:id|ID|rocess [iI][dD])[\"']?\s?[:=]\s?(?P<pid>\d{2,7})\b")
_REPR = re.compile(r" at 0x[0-9a-fA-F]{6,16}>+")
_ADDRESS = re.compile(r"0x(?<!\w0x)(?:7f|55|56|10)[0-9a-f]{7,10}(?!\w)")

# Continues after one digit that the pass over digits has consumed.
FRAGMENTS: Final = {"ip": r"\d{0,2}(?:\.\d{1,3}){3}(?::\d{2,5})?(?![\w.]\w|\w|:)"}
_DOCUMENTATION_NET = ("192.0.2.", "198.51.100.", "203.0.113.", "127.", "0.0.0.", "255.")
_IP_LABEL = re.compile(
    r"\b(?:ip|address|addr|host|server|node|peer|client|remote)\b[^\n]{0,12}$", re.IGNORECASE
)


def scan(text: str) -> Iterator[Candidate]:
    """Yield every machine-bound value in ``text``; they may overlap."""
    if "/" in text or "\\" in text:
        yield from _homes(text)
        yield from _labelled_paths(text)
    if "ost" in text:
        for match in _HOST.finditer(text):
            yield Candidate(match.start("host"), match.end("host"), "PC105", "host", Grade.PLAIN)
    if "-" in text:
        for match in _AWS_HOST.finditer(text):
            yield Candidate(match.start(), match.end(), "PC105", "host", Grade.PLAIN)
        yield from _pods(text)
    if "pid" in text or "PID" in text or "rocess id" in text or "rocess ID" in text:
        for match in _PID.finditer(text):
            yield Candidate(match.start("pid"), match.end("pid"), "PC105", "pid", Grade.PLAIN)
    if "0x" in text:
        yield from _reprs(text)


def from_digits(_shape: str, text: str, start: int, end: int) -> Candidate | None:
    """Turn four dotted numbers into a candidate: an address with a port, or one that a word names as such."""
    value, _, port = text[start:end].partition(":")
    if any(int(part) > 255 for part in value.split(".")):
        return None
    documentation = value.startswith(_DOCUMENTATION_NET)
    named = _IP_LABEL.search(text[max(0, start - 24) : start]) is not None
    plain = (bool(port) or named) and not documentation
    return Candidate(start, end, "PC105", "address", Grade.PLAIN if plain else Grade.WEAK)


def _homes(text: str) -> Iterator[Candidate]:
    for match in _HOME.finditer(text):
        start = match.start()
        if text[start - 2 : start - 1].isalpha() and text[start - 1 : start] == ":":
            start -= 2  # the drive's letter
        elif start and (text[start - 1].isalnum() or text[start - 1] in "_.~/}>"):
            continue  # the middle of a longer path or of a link
        if not _PLACEHOLDER.match(match["who"]):
            end = match.end() - len(match.group()) + len(match.group().rstrip(".!?"))
            # "Write to /tmp/report.txt" stays; what tempfile made does not.
            fixed = "tmp/" in text[start : match.start("who")] and not _TEMPORARY.search(match.group())
            yield Candidate(start, end, "PC105", "path", Grade.HINT if fixed else Grade.PLAIN)


def _labelled_paths(text: str) -> Iterator[Candidate]:
    for match in _PATH.finditer(text):
        start = match.start() - (match.group()[0] == ":")
        if _PATH_LABEL.search(text[max(0, start - 32) : start]):
            yield Candidate(start, match.end(), "PC105", "path", Grade.PLAIN)


def _pods(text: str) -> Iterator[Candidate]:
    for match in _POD.finditer(text):
        name = _POD_NAME.search(text[max(0, match.start() - 52) : match.start()])
        if name:
            yield Candidate(match.start() - len(name.group()), match.end(), "PC105", "host", Grade.PLAIN)


def _reprs(text: str) -> Iterator[Candidate]:
    for match in _REPR.finditer(text):
        depth = match.group().count(">")
        start = match.start()
        for _ in range(depth):
            start = text.rfind("<", max(0, start - 300), start)
        if start >= 0 and "\n" not in text[start : match.start()]:
            yield Candidate(start, match.end(), "PC106", "repr", Grade.PLAIN)
    for match in _ADDRESS.finditer(text):
        yield Candidate(match.start(), match.end(), "PC106", "repr", Grade.HINT)
