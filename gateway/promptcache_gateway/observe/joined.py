"""A text and a list of nothing but that text, at the built-in engine: it is sent the same for both.

That they differ is no fault there. Providers that read them alike are `read_alike`'s business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.quick_values import changed

if TYPE_CHECKING:
    from promptcache_gateway.observe.comparison import Comparison


def unless_joined(comparison: Comparison) -> Comparison:
    """The comparison; where only shapes differ, nothing in it is broken for an engine that joins texts."""
    earlier, later, at = comparison.earlier, comparison.later, comparison.depth
    end = min(len(earlier.segments), later.turn)
    pairs = zip(earlier.segments[at:end], later.segments[at:end], strict=False)
    if not comparison.broken or any(
        one.text != other.text or one.extra != other.extra for one, other in pairs
    ):
        return comparison
    return changed(comparison, broken=False, matching_bytes=comparison.shared_bytes, matching_full=None)
