"""How much of what was written to a connection has not reached the other end, as the kernel tells it.

A kernel takes megabytes before a transport hears that nobody reads them, and takes more only when a third of
them has gone: progress is seen here long before. Where the kernel does not tell, nothing is known of it.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

_SIOCOUTQ = 0x5411  # linux/sockios.h: the bytes in a socket's send queue that were not acknowledged


def unsent_bytes(transport: asyncio.Transport) -> int:
    """Bytes that the kernel holds for the other end of a transport; 0 where it does not tell."""
    bound = transport.get_extra_info("socket")
    if bound is None or sys.platform != "linux":
        return 0
    from fcntl import ioctl  # noqa: PLC0415 - not there on every system

    try:
        return int(struct.unpack("i", ioctl(bound.fileno(), _SIOCOUTQ, b"\0\0\0\0"))[0])
    except OSError:  # closed by now
        return 0
