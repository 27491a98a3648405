"""The catalogue: every reason a prompt misses its cache, under one code.

The linter reports these codes when it sees a cause in source, the gateway when it sees it in traffic,
and the dashboard links both. The texts live in `promptcache.catalogue`, one module a family; this module
is the index.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from promptcache.catalogue import (
    conversation,
    itself,
    layout,
    media,
    provider,
    runtime,
    serialization,
    tools,
    volatile,
)
from promptcache.catalogue.cause import Cause
from promptcache.errors import UnknownCauseError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CAUSES", "FAMILIES", "Cause", "get_cause"]

FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "PC1": "Volatile values",
        "PC2": "Serialization",
        "PC3": "Tools",
        "PC4": "Layout",
        "PC5": "Conversation",
        "PC6": "Provider",
        "PC7": "Media",
        "PC8": "Seen only at run time",
        "PC9": "The tool itself",
    }
)
"""Title of each family of codes, by its three-character prefix."""

CAUSES: Mapping[str, Cause] = MappingProxyType(
    {
        cause.code: cause
        for family in (volatile, serialization, tools, layout, conversation, provider, media, runtime, itself)
        for cause in family.CAUSES
    }
)
"""Every cause by its code, in order of codes."""


def get_cause(code: str) -> Cause:
    """Return the cause with ``code`` (``"PC101"``; case does not matter).

    Raises `UnknownCauseError` when the catalogue holds no such code.
    """
    try:
        return CAUSES[code.upper()]
    except KeyError:
        raise UnknownCauseError(code) from None
