"""``GET /v1/models`` and one model of it.

With one upstream and no aliases it is the upstream's own answer. Else it lists what is configured:
aliases, models named for an upstream, and what upstreams that take anything list themselves. An entry
has the fields of OpenAI's and of Anthropic's shape, so that the clients of both read it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson

from promptcache.usage import Usage
from promptcache_gateway.errors import ApiError, unknown_model
from promptcache_gateway.plane.body import CallerGoneError
from promptcache_gateway.plane.hangup import unless_gone
from promptcache_gateway.plane.responses import JSON_TYPE, send_error, send_whole
from promptcache_gateway.upstreams.base import Inbound, WholeReply
from promptcache_gateway.upstreams.json_weight import is_too_deep
from promptcache_gateway.upstreams.whole_bodies import json_object

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from promptcache_gateway.access import Access
    from promptcache_gateway.exchange import Dialect
    from promptcache_gateway.plane.room import Room
    from promptcache_gateway.upstreams.switchboard import Line, Switchboard

_LIST_TIMEOUT_S = 10.0
_LONG_AGO = "1970-01-01T00:00:00Z"  # what Anthropic's API says where the date is not known


class ModelsEndpoint:
    """The models of all upstreams."""

    def __init__(self, switchboard: Switchboard, access: Access, room: Room) -> None:
        self._switchboard = switchboard
        self._access = access
        self._answers = room.answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send, model: str | None) -> None:
        """Answer with the list, or with ``model``; raises nothing but what ASGI raises."""
        try:
            reply = await unless_gone(scope, receive, self._answer(scope, model))
        except CallerGoneError:
            return
        except ApiError as error:
            await send_error(send, error, dialect=_dialect(scope))
            return
        await send_whole(send, reply.status, reply.headers, reply.body)

    async def _answer(self, scope: Scope, model: str | None) -> WholeReply:
        headers = self._access.without_credentials(scope["headers"])
        inbound = Inbound("GET", headers, scope.get("query_string", b""), self._answers)
        if self._switchboard.passes_models_through:
            return await self._switchboard.lines[0].upstream.models(inbound, model)
        body = _list(await self._entries(inbound))
        if model is not None:
            body = _one(body["data"], model)
        return WholeReply(200, [JSON_TYPE], orjson.dumps(body), Usage.unreported())

    async def _entries(self, inbound: Inbound) -> list[dict[str, Any]]:
        open_lines = [line for line in self._switchboard.lines if not line.settings.models]
        listed = await asyncio.gather(*[_listed(line, inbound) for line in open_lines])
        entries = [_entry(name, "promptcache") for name in self._switchboard.names()]
        for found in listed:
            entries.extend(found)
        return list({entry["id"]: entry for entry in reversed(entries)}.values())[::-1]


async def _listed(line: Line, inbound: Inbound) -> list[dict[str, Any]]:
    """What an upstream lists; nothing where it does not answer, since the others still do."""
    try:
        async with asyncio.timeout(_LIST_TIMEOUT_S):
            reply = await line.upstream.models(Inbound("GET", inbound.headers, b"", inbound.answers), None)
    except (ApiError, TimeoutError):
        return []
    payload = json_object(reply.body) or {}
    entries = None if is_too_deep(reply.body, payload) else payload.get("data")
    if reply.status != 200 or not isinstance(entries, list):
        return []
    return [
        {**_entry(entry["id"], line.upstream.name), **entry}
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    ]


def _entry(name: str, owner: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": owner,
        "type": "model",
        "display_name": name,
        "created_at": _LONG_AGO,
    }


def _list(entries: list[dict[str, Any]]) -> dict[str, Any]:
    ids = [entry["id"] for entry in entries]
    first, last = (ids[0], ids[-1]) if ids else (None, None)
    return {"object": "list", "data": entries, "has_more": False, "first_id": first, "last_id": last}


def _one(entries: list[dict[str, Any]], model: str) -> dict[str, Any]:
    for entry in entries:
        if entry["id"] == model:
            return entry
    raise unknown_model(model, [entry["id"] for entry in entries])


def _dialect(scope: Scope) -> Dialect:
    """Anthropic's clients always say which version of its API they speak."""
    anthropic = any(name == b"anthropic-version" for name, _ in scope["headers"])
    return "anthropic.messages" if anthropic else "openai.chat"
