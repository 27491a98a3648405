"""What a request that is bound by limits or budgets is charged before it is sent: its prompt, by an estimate.

What it has really used is known at its end, and takes the estimate's place. Without one, all requests that
come while the first is under way would be let in by what is left for one.
"""

from __future__ import annotations

import contextlib
import string
from typing import TYPE_CHECKING

from promptcache.usage import Usage
from promptcache_gateway.plane.estimate import BYTES_A_TOKEN

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.observe import Observer
    from promptcache_gateway.plane.flight import Flight
    from promptcache_gateway.tenancy import Caller, Ledger, Limits

_ENCODED = f"{string.ascii_letters}{string.digits}+/_=-".encode()
_FLAT = bytes(ord("a" if byte in _ENCODED else " ") for byte in range(256))
_LONG = b"a" * 1024
"""A picture or a file: no text is so long without a space, and its bytes say nothing of its tokens."""


class Advances:
    """Charges in advance."""

    def __init__(self, limits: Limits, ledger: Ledger, observer: Observer) -> None:
        self._limits, self._ledger, self._observer = limits, ledger, observer

    async def take(self, caller: Caller, call: Call, *, priced: bool) -> Advance:
        """Charge for a call of a caller.

        Args:
            caller: whose limits and budgets are charged.
            call: as it was received.
            priced: its upstream costs money.

        Raises:
            ApiError: 429 where those under way leave nothing for it.
        """
        with contextlib.ExitStack() as held:
            tokens = prompt_tokens(call.body)
            usage = Usage(total_input=tokens, output=0)
            usd = self._observer.cost(usage, call.model) if priced else None
            held.enter_context(self._ledger.holding(caller, usd or 0.0))
            charged = await self._limits.advance(caller.tenant, tokens)
            return Advance(self, caller, charged, held.pop_all())

    def none(self, caller: Caller) -> Advance:
        """Nothing, for a caller who is bound by nothing now."""
        return Advance(self, caller, 0, contextlib.nullcontext())

    def settle(self, advance: Advance, flight: Flight | None) -> None:
        """Charge what the request has used instead; None: it was not sent."""
        used = 0 if flight is None else flight.tokens
        self._limits.charge(advance.caller.tenant, used, advanced=advance.tokens)
        with advance.held:
            if flight is not None and flight.record is not None:
                self._ledger.charge(advance.caller, flight.record)


class Advance:
    """What was charged for one request: ``tokens`` of a limit, and what is ``held`` of budgets."""

    __slots__ = ("_advances", "caller", "held", "tokens")

    def __init__(
        self,
        advances: Advances,
        caller: Caller,
        tokens: int,
        held: contextlib.AbstractContextManager[object, bool | None],
    ) -> None:
        self._advances, self.caller, self.tokens, self.held = advances, caller, tokens, held

    def settle(self, flight: Flight | None) -> None:
        """Charge what the request has used instead; None: it was not sent."""
        self._advances.settle(self, flight)


def prompt_tokens(body: bytes) -> int:
    """About how many tokens the text in a request's body has: rather fewer than more."""
    return (len(body) - _encoded(body)) // BYTES_A_TOKEN


def _encoded(body: bytes) -> int:
    """How many bytes are of pictures and files. A pattern would try every place of a long word."""
    flat = body.translate(_FLAT)
    found, begin = 0, flat.find(_LONG)
    while begin >= 0:
        end = flat.find(b" ", begin)
        if end < 0:
            end = len(flat)
        found += end - begin
        begin = flat.find(_LONG, end)
    return found
