"""Asking again for what another process may be about to tell.

A response is kept beside the answer, never before it: a slow place holds no answer up. Whoever asks another
process at once may come before it, so it is the asker of what is not there who waits a moment.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

T = TypeVar("T")


async def patiently(ask: Callable[[], Awaitable[T]], pauses_s: Iterable[float]) -> T:
    """What was found, or the last empty answer (``None`` or ``False``).

    Args:
        ask: asks once.
        pauses_s: seconds between one question and the next; none: it is asked once.
    """
    found = await ask()
    for pause in pauses_s:
        if found:
            break
        await asyncio.sleep(pause)
        found = await ask()
    return found
