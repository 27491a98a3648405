"""What the data plane asks of an upstream, whatever stands behind it.

An upstream takes a call and answers with a whole reply or with a stream of pieces. It knows
nothing of causes, records or headers of ours: the routes add those.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from promptcache.quick_values import quick
from promptcache_gateway.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from promptcache.usage import Usage
    from promptcache_gateway.exchange import Call, Dialect, EngineFacts
    from promptcache_gateway.under_way import Hold, UnderWay

RawHeaders = list[tuple[bytes, bytes]]


@quick
@dataclass(frozen=True, slots=True)
class Inbound:
    """What came with a call besides its body.

    Attributes:
        method: ``POST`` or ``GET``.
        headers: the caller's headers, names in lower case, as received.
        query: the query string without ``?``.
        answers: the memory for answers that are held whole; None: any.
        meant: the usage of an answer to a call as its upstream is known to mean it.
    """

    method: str
    headers: RawHeaders
    query: bytes
    answers: UnderWay | None = None
    meant: Callable[[Call, Usage], Usage] = lambda _, usage: usage


@quick
@dataclass(frozen=True, slots=True)
class WholeReply:
    """An answer that is complete: the upstream's status, headers and body.

    Attributes:
        status: HTTP status.
        headers: headers for the caller; no hop-by-hop headers and no ``content-length``.
        body: the body.
        usage: the provider's numbers, or ``Usage.unreported()``.
        engine: the engine's facts, for the built-in upstream.
        first_output_at: ``time.perf_counter()`` at the first generated token, where known.
        error: the code of an error answer, or None.
        response_id: the ``id`` in the body, or None.
        hold: what a large body takes of the memory for answers; None: nothing.
    """

    status: int
    headers: RawHeaders
    body: bytes
    usage: Usage
    engine: EngineFacts | None = None
    first_output_at: float | None = None
    error: str | None = None
    response_id: str | None = None
    hold: Hold | None = None


class GivenUpError(asyncio.CancelledError):
    """A call was cancelled while it was answered whole.

    Attributes:
        reply: what is known of the answer, for the record: its usage by then, and no body.
    """

    def __init__(self, reply: WholeReply) -> None:
        super().__init__()
        self.reply = reply


class NotGivenError(ApiError):
    """An upstream's answer that the caller does not get; it is paid for all the same.

    Attributes:
        reply: what is known of it, for the record: its usage, and no body.
    """

    def __init__(self, error: ApiError, reply: WholeReply | StreamReply) -> None:
        """``error`` is what the caller is told."""
        super().__init__(
            error.status,
            error.message,
            kind=error.kind,
            param=error.param,
            code=error.code,
            retry_after=error.retry_after,
            unanswered=error.unanswered,
        )
        self.reply = WholeReply(reply.status, [], b"", reply.usage, response_id=reply.response_id)


class StreamReply(Protocol):
    """An answer that comes in pieces.

    ``status``, ``headers``, ``events`` (whether it is server-sent events) and ``engine`` are known
    before the first piece; the others
    are final once ``pieces`` is exhausted, and hold what is known so far before that.
    """

    status: int
    headers: RawHeaders
    events: bool
    engine: EngineFacts | None

    @property
    def first_output_at(self) -> float | None:
        """``time.perf_counter()`` at the first generated output, once there was some."""
        ...

    @property
    def error(self) -> str | None:
        """The code of what ended it badly, or None."""
        ...

    @property
    def response_id(self) -> str | None:
        """The ``id`` of the response object, as far as it has been seen."""
        ...

    @property
    def usage(self) -> Usage:
        """The provider's numbers as far as they have come, or ``Usage.unreported()``."""
        ...

    def pieces(self) -> AsyncIterator[bytes]:
        """The body, in pieces to be sent at once; never raises but ``CancelledError``.

        An upstream that dies on the way yields an error event last and sets ``error``.
        """
        ...

    async def close(self) -> None:
        """Give up what is still running upstream; harmless after the end."""
        ...


class Upstream(Protocol):
    """A server or an engine that completes prompts.

    Attributes:
        name: how records and metrics call it.
        kind: ``"engine"``, ``"openai"``, ``"anthropic"`` or ``"litellm"``.
        dialects: the APIs whose calls it takes as they are.
        granularity: tokens in which its cache counts, or None where that is not known.
    """

    name: str
    kind: str
    dialects: frozenset[Dialect]
    granularity: int | None

    async def start(self) -> None:
        """Make it ready; raises `StartupError` when it cannot be."""
        ...

    async def close(self) -> None:
        """Stop it and free what it holds."""
        ...

    async def send(self, call: Call, inbound: Inbound) -> WholeReply | StreamReply:
        """Complete a call; raises `ApiError`. Cancelling it stops the work upstream.

        Cancelled, one that knows what the call has cost by then raises `GivenUpError`.
        """
        ...

    async def models(self, inbound: Inbound, model: str | None) -> WholeReply:
        """The list of models, or one of them; raises `ApiError`."""
        ...

    async def count_prompt(self, call: Call, inbound: Inbound) -> WholeReply:
        """``{"input_tokens": N}`` of a call's prompt, unanswered; raises `ApiError` where it cannot."""
        ...

    def count_tokens(self, text: str) -> int | None:
        """Tokens of ``text`` on its own, without a chat template; None where it cannot be known."""
        ...

    async def reset_cache(self) -> bool | None:
        """Empty the cache: False while sequences hold pages, None where there is no cache to empty."""
        ...

    async def warm(self, call: Call) -> EngineFacts | None:
        """Prefill a call's prompt without an answer; None where that cannot be done."""
        ...

    def health(self) -> Mapping[str, Any]:
        """``{"ok": …}`` (null while nothing is known) and what an operator wants to see; asks no network."""
        ...
