"""Everything the cache can complain about; it leaves out of memory to ``None`` and ``False``, which are
answers.

CacheError
├── CacheConfigError     a parameter of the cache that cannot work
├── InvalidTokensError   tokens or extra keys that cannot be stored
├── LeaseError           a lease used after its end, or in a way its cache was not built for
├── WindowRoomError      a window's pages do not suffice for the sequences that run
└── InvariantError       ``check()`` found the bookkeeping broken: a bug in this package
"""

from typing import Any


class CacheError(Exception):
    """Root of the cache's errors; ``remedy`` says what to do about it."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.remedy = remedy


class CacheConfigError(CacheError):
    """A parameter has a value the cache cannot work with."""

    def __init__(self, field: str, value: Any, remedy: str) -> None:
        super().__init__(f"{field}={value!r} cannot be used.", remedy=remedy)
        self.field = field
        self.value = value


class InvalidTokensError(CacheError):
    """The tokens, or the extra keys laid over them, are not something a prompt can consist of."""


class LeaseError(CacheError):
    """A lease was used after it was finished or aborted, or by a cache that did not grant it."""


class WindowRoomError(CacheError):
    """The pool of a sliding window has no page for a token that a running sequence computes next."""

    def __init__(self, window: int, num_pages: int) -> None:
        super().__init__(
            f"{num_pages} pages for the window of {window} tokens do not suffice for what runs.",
            remedy="Give each running sequence its window's pages, and the tokens of a step theirs.",
        )
        self.window = window
        self.num_pages = num_pages


class InvariantError(CacheError):
    """The bookkeeping contradicts itself."""

    def __init__(self, broken: str) -> None:
        super().__init__(
            f"the cache's bookkeeping is broken: {broken}.", remedy="Please report this as a bug."
        )
        self.broken = broken


def require_whole(least: int, **values: object) -> None:
    """Raise CacheConfigError for the first of ``values`` that is no whole number of ``least`` or more."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise CacheConfigError(name, value, f"It must be a whole number of at least {least}.")
