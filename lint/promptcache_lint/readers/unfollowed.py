"""What is said of a program that was not followed to its end.

The work on one file is bounded, so that a run ends. Calls and steps are counted, and no time is
taken: a file is followed as far on each machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.places import Place
from promptcache_lint.prompts import Practice, Prompt

if TYPE_CHECKING:
    from promptcache_lint.places import Source

__all__ = ["unfollowed"]

_SAYS = (
    "More is called from here than is followed for one file; what reaches its prompts by way of the other "
    "calls is not told."
)


def unfollowed(source: Source) -> Prompt:
    """A prompt that only says of its file that it was not followed to its end; information."""
    place = Place(source.path, 1, 1, 1, 1)
    practice = Practice("PC900", Severity.INFO, place, _SAYS)
    return Prompt("file", place, (), certain=False, practices=(practice,))
