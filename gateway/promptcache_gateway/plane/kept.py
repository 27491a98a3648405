"""``GET`` and ``DELETE /v1/responses/{id}``: a kept response read again, or forgotten.

Only its own tenant can do either; another's is not there. Nothing is forwarded, observed or recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import orjson

from promptcache_gateway.errors import ApiError, invalid_request
from promptcache_gateway.plane.responses import JSON_TYPE, send_error, send_whole

if TYPE_CHECKING:
    from starlette.types import Scope, Send

    from promptcache_gateway.kept import Shelf
    from promptcache_gateway.tenancy import Caller
    from promptcache_gateway.upstreams.switchboard import Switchboard

_PATH = "/responses/"
_OURS = "resp_"
_RESPONSES = "openai.responses"


def kept_of(tail: str) -> str | None:
    """The id in ``/responses/{id}``; None where the path is another, or it is no response's id."""
    name = tail[len(_PATH) :] if tail.startswith(_PATH) else ""
    return name if name.startswith(_OURS) and "/" not in name else None


class KeptEndpoint:
    """Answers from the shelf.

    Attributes:
        answers: whether any upstream's responses are kept here; others are kept by their provider.
    """

    def __init__(self, shelf: Shelf, switchboard: Switchboard) -> None:
        self._shelf = shelf
        self.answers = any(_RESPONSES not in line.upstream.dialects for line in switchboard.lines)

    async def __call__(self, scope: Scope, send: Send, name: str, caller: Caller) -> None:
        """Answer one request about the response called ``name``; never raises."""
        try:
            if "true" in parse_qs(scope.get("query_string", b"").decode("latin-1")).get("stream", ()):
                raise _no_stream()
            body = await self._answer(scope["method"] == "DELETE", caller.tenant, name)
        except ApiError as error:
            await send_error(send, error)
        else:
            await send_whole(send, 200, [JSON_TYPE], body)

    async def _answer(self, deletes: bool, tenant: str, name: str) -> bytes:  # noqa: FBT001 - private
        if deletes:
            if await self._shelf.remove(tenant, name):
                return orjson.dumps({"id": name, "object": "response", "deleted": True})
        elif (kept := await self._shelf.get(tenant, name)) is not None:
            return kept.response
        raise ApiError(404, f"Response with id '{name[:64]}' not found.")


def _no_stream() -> ApiError:
    return invalid_request("A kept response is not streamed again.", "stream", "unsupported_value")
