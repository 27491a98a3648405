"""How many files and connections the process may have open: as many as its requests need, where it may ask.

Shells and containers often allow 1,024, kept low for programs that use ``select``. A request takes two
connections: its caller's, and one to the upstream.
"""

from __future__ import annotations

import sys

_BESIDES = 1024  # idle callers, spare connections to upstreams, databases, logs


def make_room(requests: int) -> tuple[int, int] | None:
    """Have the process be allowed the files that so many requests at a time need, within its hard limit.

    Returns:
        How many it may have, and how many it needs; None where the system has no such limit.
    """
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - not there on Windows

    needed = 2 * requests + _BESIDES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft == resource.RLIM_INFINITY or soft >= allowed:
        return (needed if soft == resource.RLIM_INFINITY else soft), needed
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    except (OSError, ValueError):  # macOS has another limit besides
        return soft, needed
    return allowed, needed
