"""Whether the other end of a connection that is not read from has hung up, as the kernel tells it.

Behind bytes that nobody reads yet, a transport sees no end. Where the kernel does not tell, nothing is known.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

_HUNG_UP = getattr(select, "POLLRDHUP", 0)  # Linux
_ALWAYS_TOLD = getattr(select, "POLLHUP", 0) | getattr(select, "POLLERR", 0)


def has_hung_up(transport: asyncio.Transport) -> bool:
    """Whether the other end of a transport has closed the connection, or its side of it."""
    bound = transport.get_extra_info("socket")
    if bound is None or not _HUNG_UP:
        return False
    look = select.poll()
    try:
        look.register(bound.fileno(), _HUNG_UP)
        return any(found & (_HUNG_UP | _ALWAYS_TOLD) for _, found in look.poll(0))
    except (OSError, ValueError):  # closed by now, and the transport knows
        return False
