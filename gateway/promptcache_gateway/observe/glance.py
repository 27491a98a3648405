"""The predecessor of a request that repeats one up to its newest question: found at a glance.

Where the same route was sent the same messages under the same settings, and the cache should still hold them,
nothing that `lookup` weighs can change which request it is. Most requests are of that kind; of any other
nothing is said here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry, Row


def repeated(row: Row, prompt: Prompt, route: tuple[str, str], not_before: float, at: float) -> Entry | None:
    """The newest request that a new one repeats but for one question, and goes on from in no other way.

    It is what `lookup.best_predecessor` and `lookup.longest_living` find then, and `lookup.others_of` finds
    none beside it; its examples are in the same order, and its instructions are the same.
    """
    depth = len(prompt.segments) - 1
    if depth < 1 or prompt.turn != depth:
        return None
    exact = prompt.exact
    if exact[-1] in row.exact or prompt.masked[-1] in row.masked:  # the question itself came before
        return None
    entry = row.exact.get(exact[depth])
    if entry is None or entry.upstream != route[0] or entry.model != route[1]:
        return None
    known = entry.prompt
    if known.turn != depth or known.head != prompt.head or known.parameters != prompt.parameters:
        return None
    return entry if entry.lives(not_before, at) else None
