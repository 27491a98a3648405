"""Many requests with one prefix: the first computes it, the others wait just so long.

A cache entry can be read as soon as the answer that wrote it has begun. Requests that start before all
compute the prefix themselves (PC608); waiting for the whole first answer wastes time. So the followers are
released at the leader's first byte. Requests are given as functions that make them, for any client.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

__all__ = ["awarm_then_fan_out", "warm_then_fan_out"]


def warm_then_fan_out(
    leader: Callable[[], Any],
    followers: Sequence[Callable[[], Any]],
    *,
    max_workers: int = 8,
    return_exceptions: bool = False,
) -> list[Any]:
    """Call ``leader``, and in threads ``followers`` once its first byte has come; return results in order.

    A call that returns a stream (an iterator) gives the list of its events, and its first event is the first
    byte; of another response that is its return. When the leader fails before its first byte, the next one
    leads. A failed call's exception is raised when all have ended, or returned in its place with
    ``return_exceptions``.
    """
    calls = [leader, *followers]
    results: list[Any] = []
    running: list[Future[Any]] = []
    with ThreadPoolExecutor(max_workers) as pool:

        def release() -> None:
            if not running:
                running.extend(pool.submit(_outcome, call) for call in calls[len(results) + 1 :])

        while not running and len(results) < len(calls):
            results.append(_outcome(calls[len(results)], release))
    return _checked([*results, *(future.result() for future in running)], return_exceptions=return_exceptions)


async def awarm_then_fan_out(
    leader: Callable[[], Any],
    followers: Sequence[Callable[[], Any]],
    *,
    return_exceptions: bool = False,
) -> list[Any]:
    """Do what `warm_then_fan_out` does with calls that return awaitables or asynchronous streams."""
    calls = [leader, *followers]
    results: list[Any] = []
    running: list[asyncio.Future[Any]] = []

    def release() -> None:
        if not running:
            running.extend(asyncio.ensure_future(_aoutcome(call)) for call in calls[len(results) + 1 :])

    while not running and len(results) < len(calls):
        results.append(await _aoutcome(calls[len(results)], release))
    return _checked([*results, *[await future for future in running]], return_exceptions=return_exceptions)


def _outcome(call: Callable[[], Any], first_byte: Callable[[], None] | None = None) -> Any:
    """Return what a call gives, whole, or the exception it raised; tell when its first byte has come."""
    try:
        value = call()
        if isinstance(value, Iterator):
            value = [event for event in value if _told(first_byte)]
        _told(first_byte)
    except Exception as error:  # noqa: BLE001 - kept in the place of the result, and raised at the end
        return error
    return value


async def _aoutcome(call: Callable[[], Any], first_byte: Callable[[], None] | None = None) -> Any:
    try:
        value = call()
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, AsyncIterator):
            value = [event async for event in value if _told(first_byte)]
        _told(first_byte)
    except Exception as error:  # noqa: BLE001 - as above
        return error
    return value


def _told(first_byte: Callable[[], None] | None) -> bool:
    if first_byte is not None:
        first_byte()
    return True


def _checked(results: list[Any], *, return_exceptions: bool) -> list[Any]:
    failed = next((result for result in results if isinstance(result, Exception)), None)
    if failed is not None and not return_exceptions:
        raise failed
    return results
