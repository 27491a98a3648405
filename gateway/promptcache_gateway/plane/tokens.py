"""``POST /tokenize`` and ``/detokenize``: vLLM's way of asking how a model cuts a text.

Only an upstream that tokenizes here can answer; nothing is forwarded, observed or recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from promptcache_gateway.errors import ApiError, internal_error
from promptcache_gateway.failures import log_failure
from promptcache_gateway.plane.body import CallerGoneError, decode_object, read_body
from promptcache_gateway.plane.calls import model_of
from promptcache_gateway.plane.responses import send_error, send_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from starlette.types import Receive, Scope, Send

    from promptcache_gateway.tenancy import Caller
    from promptcache_gateway.under_way import UnderWay
    from promptcache_gateway.upstreams.base import WholeReply
    from promptcache_gateway.upstreams.switchboard import Switchboard

PATHS = frozenset({"/tokenize", "/detokenize"})


@runtime_checkable
class Tokenizes(Protocol):
    """An upstream whose tokenizer is at hand."""

    async def tokens(self, path: str, payload: Mapping[str, Any]) -> WholeReply:
        """The answer to one of ``PATHS``; raises `ApiError`."""
        ...


class TokensEndpoint:
    """Both paths, for the upstream that would take the model."""

    def __init__(self, switchboard: Switchboard, bodies: UnderWay, max_body_bytes: int) -> None:
        self._switchboard = switchboard
        self._bodies = bodies
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send, path: str, caller: Caller) -> None:
        """Answer one request of ``caller``; never raises."""
        try:
            with self._bodies.portion(caller.tenant) as portion:
                body = await read_body(scope["headers"], receive, self._max_body_bytes, portion)
                reply = await self._answer(path, decode_object(body))
        except CallerGoneError:
            return
        except ApiError as error:
            await send_error(send, error)
        except Exception as error:  # noqa: BLE001 - one request's failure must not reach others
            log_failure(path, error)
            await send_error(send, internal_error(None))
        else:
            await send_whole(send, reply.status, reply.headers, reply.body)

    async def _answer(self, path: str, payload: Mapping[str, Any]) -> WholeReply:
        upstream = self._upstream(model_of(payload))
        if not isinstance(upstream, Tokenizes):
            raise ApiError(
                400,
                "Only the built-in engine's tokenizer is at hand here: ask the server behind this gateway.",
                code="unsupported",
            )
        return await upstream.tokens(path, payload)

    def _upstream(self, model: str) -> object:
        """The model's; where none is named, the first that can answer."""
        if model:
            return self._switchboard.route(model)[0].line.upstream
        lines = [line.upstream for line in self._switchboard.lines]
        return next((upstream for upstream in lines if isinstance(upstream, Tokenizes)), lines[0])
