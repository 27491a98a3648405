"""Send a call along its route: again where that is safe, to the next upstream where one fails.

A call is sent again only while no byte of an answer has come: the connection was refused or closed
without one, or the upstream itself asked for a later retry. What was answered is never asked for twice.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_gateway.access import without_credentials
from promptcache_gateway.errors import OUT_OF_FILES, ApiError
from promptcache_gateway.translate import can_take, send_across
from promptcache_gateway.upstreams.base import Inbound, WholeReply
from promptcache_gateway.upstreams.splice import set_model

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from promptcache_gateway.exchange import Call
    from promptcache_gateway.upstreams.base import StreamReply
    from promptcache_gateway.upstreams.switchboard import Hop, Line

# What says that an upstream is not up to it, rather than that the request is wrong.
_FAILURES = frozenset(
    {"upstream_unreachable", "upstream_timeout", "upstream_disconnected", "engine_unavailable"}
)
_FAILED_STATUS = frozenset({500, 502, 503, 504, 529})
_ELSEWHERE_STATUS = _FAILED_STATUS | {429}
_RETRIED_STATUS = frozenset({429, 503, 529})
_FIRST_PAUSE_S = 0.05


def goes_on(met: ApiError | WholeReply) -> bool:
    """Whether the next upstream of a route is asked after what was met at one."""
    if isinstance(met, ApiError):
        return met.code in _FAILURES or met.status == 429
    return met.status in _ELSEWHERE_STATUS


def theirs(inbound: Inbound, index: int) -> Inbound:
    """What goes with a call to a place of a route. A caller's credentials are no fallback's own."""
    return inbound if index == 0 else replace(inbound, headers=without_credentials(inbound.headers))


def at(call: Call, hop: Hop) -> Call:
    """The call as it goes to one upstream: its model spliced where the name there is another."""
    name = hop.line.upstream.name
    if hop.model is None or hop.model == call.payload.get("model"):
        return call if call.upstream == name else replace(call, upstream=name)
    body = set_model(call.body, call.payload, hop.model)
    return replace(call, upstream=name, model=hop.model, body=body)


async def dispatch(
    call: Call,
    route: tuple[Hop, ...],
    inbound: Inbound,
    depart: Callable[[Call, Hop, Inbound], Awaitable[tuple[Call, Inbound]]],
) -> WholeReply | StreamReply:
    """Get an answer from the first upstream of the route that gives one.

    Args:
        call: as received, its body the caller's own.
        route: where it may go, best first.
        inbound: what came with it.
        depart: makes of them what goes to one place of the route.

    Raises:
        ApiError: nobody answered; what the last one tried met.
    """
    failure: ApiError | WholeReply | None = None
    for index, hop in enumerate(route):
        if failure is not None and not can_take(hop.line.upstream, at(call, hop)):
            continue  # which makes no request wrong that another could have answered
        if not hop.line.circuit.allows():
            failure = failure or _left_alone(hop.line)
            continue
        here, along = await depart(call, hop, inbound if index == 0 else theirs(inbound, index))
        try:
            reply = await _insist(hop.line, here, along)
        except ApiError as error:
            if not goes_on(error):
                raise
            failure = error
            continue
        if reply.status < 400 or not isinstance(reply, WholeReply) or not goes_on(reply):
            return reply
        failure = reply
    assert failure is not None, "a route has at least one hop"
    if isinstance(failure, ApiError):
        raise failure
    return failure


async def _insist(line: Line, call: Call, inbound: Inbound) -> WholeReply | StreamReply:
    """Send to one upstream, again while that is safe and within its budget; raises `ApiError`."""
    line.budget.called()
    left, pause = line.settings.retries, _FIRST_PAUSE_S
    while True:
        try:
            reply = await _send(line, call, inbound)
        except ApiError as error:
            # Whom no connection can be made to in time would keep the caller waiting as long again.
            again = error.unanswered and error.code != "upstream_timeout"
            if not (left and again and line.budget.take()):
                raise
            wait = pause
        else:
            asked = None
            if left and reply.status in _RETRIED_STATUS:
                asked = _asked_to_wait(reply, line.settings.retry_wait_s)
            if asked is None or not line.budget.take():
                return reply
            wait = asked
        left, pause = left - 1, pause * 2
        await asyncio.sleep(wait)


async def _send(line: Line, call: Call, inbound: Inbound) -> WholeReply | StreamReply:
    """Send once, and let the circuit know what was met."""
    try:
        if call.dialect in line.upstream.dialects:
            reply = await line.upstream.send(call, inbound)
        else:
            reply = await send_across(line.upstream, call, inbound)
    except ApiError as error:
        if error.code in _FAILURES:
            line.circuit.failed()
        elif error.code == OUT_OF_FILES:  # nothing was found out
            line.circuit.undecided()
        else:
            line.circuit.succeeded()
        raise
    except BaseException:
        line.circuit.undecided()
        raise
    if reply.status in _FAILED_STATUS:
        line.circuit.failed()
    else:
        line.circuit.succeeded()
    return reply


def _asked_to_wait(reply: WholeReply | StreamReply, longest_s: float) -> float | None:
    """The seconds the upstream asked to wait before a retry; None where it did not, or asked for too many."""
    if not isinstance(reply, WholeReply):
        return None
    said = dict(reply.headers)
    if said.get(b"x-should-retry", b"").strip().lower() == b"false":
        return None
    try:
        seconds = float(said.get(b"retry-after", b"").decode("latin-1"))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= longest_s else None


def _left_alone(line: Line) -> ApiError:
    return ApiError(
        503,
        f"The upstream {line.upstream.name} failed several times in a row and is left alone for a moment.",
        kind="upstream_error",
        code="upstream_circuit_open",
        retry_after=line.circuit.retry_after_s,
    )
