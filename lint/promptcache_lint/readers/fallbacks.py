"""What is taken only where something else is missing: ``message.created_at or datetime.now()``.

As a rule the first is there, so that the second proves nothing; where the first is a record's own hour or id,
the second is not seen at all. A clock that may be handed in (``now or datetime.now()``) is another matter.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.values import map_traits
from promptcache_lint.rulebook import in_words

if TYPE_CHECKING:
    from promptcache_lint.prompts import Trait
    from promptcache_lint.readers.python.values import Value

__all__ = ["as_fallback", "is_seam"]

_DRAWN = {"PC101", "PC102", "PC103", "PC109"}
_SEAM = re.compile(r"(?:\w+_)?(?:now|clock|today|current\w*|seed|rng)(?:_\w+)?")
"""How a program calls what only its tests hand in."""
_OF_A_RECORD = re.compile(
    r"(?:\w+_)?(?:created|updated|modified|sent|received|published|posted|edited|started|generated|recorded)"
    r"(?:_\w+)?|(?:\w+_)?(?:timestamp|ts|created_ts|when)|(?:message|msg|event|entry|record|tool_call|call|item)_id"
)


def as_fallback(value: Value, first: str) -> Value:
    """``value`` as it counts behind what the source calls ``first``, which is a field of something."""
    name = in_words(re.split(r"[.\s]", first)[-1])
    most = _most(name) if name else None
    if most is None:
        return value

    def milder(trait: Trait) -> Trait:
        if trait.mark.code not in _DRAWN or trait.mark.severity <= most:
            return trait
        return replace(trait, mark=replace(trait.mark, severity=most))

    return map_traits(value, milder)


def is_seam(first: str) -> bool:
    """Whether what the source spells so is handed in by tests only: ``now``, ``options["now"]``."""
    words = re.findall(r"\w+", first)
    return bool(words) and _SEAM.fullmatch(in_words(words[-1])) is not None


@lru_cache(maxsize=1024)
def _most(name: str) -> Severity | None:
    if _SEAM.fullmatch(name):
        return None
    return Severity.INFO if _OF_A_RECORD.fullmatch(name) else Severity.WARNING
