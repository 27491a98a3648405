"""promptcache: prompts whose prefix never moves, and words for what breaks the cache.

Names are imported when they are first used, so that a program pays only for what it needs.
"""

from __future__ import annotations

from importlib import import_module

from promptcache._version import __version__

TYPE_CHECKING = False  # typing takes longer to load than all that is loaded here
if TYPE_CHECKING:
    from promptcache.batches import PrefixBatch, group_by_prefix
    from promptcache.cache_keys import cache_key
    from promptcache.canonical import canonical_json
    from promptcache.causes import CAUSES, Cause, get_cause
    from promptcache.conversation import Conversation
    from promptcache.detectors import VolatileSpan, classify_change, find_volatile, mask_volatile
    from promptcache.divergence import Divergence, compare_requests
    from promptcache.errors import PromptCacheError, PromptCacheWarning
    from promptcache.fan_out import awarm_then_fan_out, warm_then_fan_out
    from promptcache.prices import cost_usd
    from promptcache.segments import Segment, cut_request
    from promptcache.template import Template
    from promptcache.turns.images import Image
    from promptcache.turns.prefix_move import PrefixMove
    from promptcache.usage import Usage

__all__ = [
    "CAUSES",
    "Cause",
    "Conversation",
    "Divergence",
    "Image",
    "PrefixBatch",
    "PrefixMove",
    "PromptCacheError",
    "PromptCacheWarning",
    "Segment",
    "Template",
    "Usage",
    "VolatileSpan",
    "__version__",
    "awarm_then_fan_out",
    "cache_key",
    "canonical_json",
    "classify_change",
    "compare_requests",
    "cost_usd",
    "cut_request",
    "find_volatile",
    "get_cause",
    "group_by_prefix",
    "mask_volatile",
    "warm_then_fan_out",
]

_HOMES = {
    "batches": ("PrefixBatch", "group_by_prefix"),
    "cache_keys": ("cache_key",),
    "canonical": ("canonical_json",),
    "causes": ("CAUSES", "Cause", "get_cause"),
    "conversation": ("Conversation",),
    "detectors": ("VolatileSpan", "classify_change", "find_volatile", "mask_volatile"),
    "divergence": ("Divergence", "compare_requests"),
    "errors": ("PromptCacheError", "PromptCacheWarning"),
    "fan_out": ("awarm_then_fan_out", "warm_then_fan_out"),
    "prices": ("cost_usd",),
    "segments": ("Segment", "cut_request"),
    "template": ("Template",),
    "turns.images": ("Image",),
    "turns.prefix_move": ("PrefixMove",),
    "usage": ("Usage",),
}
_HOME_OF = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
