"""Which of a row's requests a new one continues: a few keys looked up, a few texts compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.observe.row import TRIVIAL_CHARS
from promptcache_gateway.observe.texts import common_prefix

if TYPE_CHECKING:
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry, Row

_NEAR_MESSAGES = 8  # messages before the newest turn that are looked up one by one
_SCANNED = 32  # recent requests whose differing segment is compared character by character


def longest_living(
    row: Row, prompt: Prompt, route: tuple[str, str], not_before: float
) -> tuple[Entry | None, int]:
    """The request with the longest identical prefix that its route should still hold, and its segments."""
    index = row.routes.get(route, {})
    for depth in range(len(prompt.segments), 0, -1):
        entry = index.get(prompt.exact[depth])
        if entry is not None and entry.last_used >= not_before:
            return entry, depth
    return None, 0


def best_predecessor(row: Row, prompt: Prompt, route: tuple[str, str], not_before: float) -> Entry:
    """The earlier request that the new one continues, volatile values bridged; the row is not empty."""
    depth = _deepest(row.masked, prompt.masked)
    if depth >= max(prompt.turn, 1):  # only the newest turn differs: any holder will do
        holders = (row.exact.get(prompt.exact[depth]), row.masked[prompt.masked[depth]])
        known = [entry for entry in holders if entry is not None]
        return next((entry for entry in known if entry.last_used >= not_before), known[0])
    sibling = _same_conversation(row, prompt)
    if sibling is not None:
        return sibling
    return max(
        _candidates(row, prompt, depth),
        key=lambda entry: (
            _shared_chars(entry.prompt, prompt, depth),
            entry.route == route,
            entry.last_used >= not_before,
            entry.received_at,
        ),
    )


def _deepest(index: dict[int, Entry], chain: tuple[int, ...]) -> int:
    """How many leading segments are known to an index."""
    for depth in range(len(chain) - 1, 0, -1):
        if chain[depth] in index:
            return depth
    return 0


def _same_conversation(row: Row, prompt: Prompt) -> Entry | None:
    """The request with most of the messages just before the newest turn, wherever they stand in it."""
    votes: dict[str, tuple[int, Entry]] = {}
    looked_at = 0
    for index in range(prompt.turn - 1, prompt.head - 1, -1):
        text = prompt.segments[index].text
        if len(text) < TRIVIAL_CHARS:
            continue
        entry = row.messages.get(hash(text))
        if entry is not None:
            votes[entry.id] = (votes.get(entry.id, (0, entry))[0] + 1, entry)
        looked_at += 1
        if looked_at == _NEAR_MESSAGES:
            break
    if not votes:
        return None
    return max(votes.values(), key=lambda vote: (vote[0], vote[1].received_at))[1]


def _candidates(row: Row, prompt: Prompt, depth: int) -> list[Entry]:
    """Recent requests that share the first ``depth`` segments, newest first, and the index's own."""
    key = prompt.masked[depth]
    found = [row.masked[key]] if depth else []
    for entry in reversed(row.entries):
        if len(found) >= _SCANNED:
            break
        masked = entry.prompt.masked
        if len(masked) > depth and masked[depth] == key:
            found.append(entry)
    return found


def _shared_chars(earlier: Prompt, later: Prompt, depth: int) -> int:
    if depth >= len(earlier.segments) or depth >= len(later.segments):
        return 0
    return common_prefix(earlier.segments[depth].text, later.segments[depth].text)
