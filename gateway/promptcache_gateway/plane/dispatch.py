"""Send a call along its route: again where that is safe, to the next upstream where one fails.

A call is sent again only while no byte of an answer has come: the connection was refused or closed
without one, or the upstream itself asked for a later retry. What was answered is never asked for twice.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from promptcache_gateway.access import without_credentials
from promptcache_gateway.errors import OUT_OF_FILES, ApiError
from promptcache_gateway.translate import as_taken, send_across
from promptcache_gateway.upstreams.base import Inbound, NotGivenError, WholeReply
from promptcache_gateway.upstreams.splice import set_model

if TYPE_CHECKING:
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

PassedOver = tuple[tuple[str, str], ...]
"""The names of fallbacks that refused, each with the reason."""


def goes_on(met: ApiError | WholeReply) -> bool:
    """Whether the next upstream of a route is asked after what was met at one."""
    if isinstance(met, ApiError):
        return met.code in _FAILURES or met.status == 429
    return met.status in _ELSEWHERE_STATUS


def refuses(met: ApiError | WholeReply | StreamReply) -> bool:
    """Whether an upstream says that the request is wrong, or that it is none for it.

    Of a fallback that says no more than this: it may have another key, another model and other parameters
    than the first one, which was asked in good faith.
    """
    return 400 <= met.status < 500 and met.status != 429 and not isinstance(met, NotGivenError)


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


class Journey(Protocol):
    """What is told where a call goes."""

    async def depart(self, call: Call, hop: Hop, inbound: Inbound) -> tuple[Call, Inbound]:
        """What goes to one place of the route, of the call as it was received and what came with it."""
        ...

    async def come_back(self, hop: Hop, passed_over: PassedOver) -> None:
        """Note that what was met at a place before is told, as its fallbacks were passed over."""
        ...


async def dispatch(
    call: Call, route: tuple[Hop, ...], inbound: Inbound, journey: Journey
) -> WholeReply | StreamReply:
    """Get an answer from the first upstream of the route that gives one.

    A fallback that refuses what the first one could have answered is passed over, be it that it says so or
    that the request cannot be translated for it: it makes no request wrong.

    Args:
        call: as received, its body the caller's own.
        route: where it may go, best first.
        inbound: what came with it.
        journey: told where it goes.

    Raises:
        ApiError: nobody answered; what the last one tried met.
    """
    failed: tuple[Hop, ApiError | WholeReply] | None = None
    passed_over: PassedOver = ()
    for index, hop in enumerate(route):
        if not hop.line.circuit.allows():
            failed = failed or (hop, _left_alone(hop.line))
            continue
        met = await _met(call, hop, inbound if index == 0 else theirs(inbound, index), journey)
        if failed is not None and refuses(met):
            passed_over = (*passed_over, (hop.line.upstream.name, await _reason(met)))
        elif isinstance(met, ApiError):
            if not goes_on(met):
                raise met
            failed = hop, met
        elif met.status < 400 or not isinstance(met, WholeReply) or not goes_on(met):
            return met
        else:
            failed = hop, met
    assert failed is not None, "a route has at least one hop"
    hop, failure = failed
    if passed_over:
        await journey.come_back(hop, passed_over)
    if isinstance(failure, ApiError):
        raise _with(failure, passed_over)
    return failure


async def _met(
    call: Call, hop: Hop, inbound: Inbound, journey: Journey
) -> ApiError | WholeReply | StreamReply:
    """What a call meets at one place of its route: an answer, or an error that is not raised."""
    try:
        here, along = await journey.depart(call, hop, inbound)
        sent = as_taken(hop.line.upstream, here)
    except BaseException as error:
        hop.line.circuit.unsent()
        if isinstance(error, ApiError):
            return error
        raise
    try:
        return await _insist(hop.line, here, sent, along)
    except ApiError as error:
        return error


async def _reason(met: ApiError | WholeReply | StreamReply) -> str:
    """Why a fallback is passed over, without a word that it says itself: that may quote the prompt."""
    if isinstance(met, ApiError):
        code, where = met.code, f" at {met.param!r}" if met.param else ""
        return f"refused the request ({met.status}{f' {code}' if code else ''}{where})"
    if isinstance(met, WholeReply):
        if met.hold is not None:
            met.hold.end()
    else:
        await met.close()
    return f"refused the request ({met.status}{f' {met.error}' if met.error else ''})"


def _with(failure: ApiError, passed_over: PassedOver) -> ApiError:
    """The error with what its fallbacks did. It stays the same object: it may hold what was paid for."""
    said = "".join([f" Its fallback {name!r} {reason}." for name, reason in passed_over])
    failure.message = failure.message + said
    return failure


async def _insist(line: Line, call: Call, sent: Call, inbound: Inbound) -> WholeReply | StreamReply:
    """Send to one upstream, again while that is safe and within its budget; raises `ApiError`."""
    line.budget.called()
    left, pause = line.settings.retries, _FIRST_PAUSE_S
    while True:
        try:
            reply = await _send(line, call, sent, inbound)
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


async def _send(line: Line, call: Call, sent: Call, inbound: Inbound) -> WholeReply | StreamReply:
    """Send once, and let the circuit know what was met."""
    try:
        if sent is call:
            reply = await line.upstream.send(call, inbound)
        else:
            reply = await send_across(line.upstream, call, sent, inbound)
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
