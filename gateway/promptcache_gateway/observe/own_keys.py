"""Names of a cache that the gateway puts in itself, where an operator asks for it: no caller changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.observe.settings import CACHE_NAMES

if TYPE_CHECKING:
    from promptcache_gateway.observe.comparison import Comparison

KEY_CHANGED = "PC607"


def own_key_changed(comparison: Comparison) -> str | None:
    """The key or salt that is another than before, where the gateway put it in; None where a caller did."""
    earlier, later = comparison.earlier, comparison.later
    changed = {name for name in CACHE_NAMES if earlier.parameters.get(name) != later.parameters.get(name)}
    return min(changed) if changed and changed <= earlier.own | later.own else None


def said_of(name: str) -> str:
    """What is said of a change of it."""
    return f"The gateway's own {name} is another than before, as [mutations] has it"
