"""A call that goes on from a kept response: made whole before it is observed, and its own answer kept.

The conversation so far is put in front of the caller's ``input`` as it was said, item by item and text by
text, so that what the upstream sees of it is what it has seen before, and its cache finds it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.errors import ApiError, body_too_large, invalid_request
from promptcache_gateway.exact_json import dumps, exact
from promptcache_gateway.exchange import Change
from promptcache_gateway.kept.response import conversation
from promptcache_gateway.kept.turn import Turn
from promptcache_gateway.upstreams.json_weight import is_too_deep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Call
    from promptcache_gateway.kept.shelf import Shelf
    from promptcache_gateway.under_way import Portion

PREVIOUS = "previous_response_id"
_GONE_ON = Change(PREVIOUS, ("input", PREVIOUS))


async def continued(call: Call, shelf: Shelf, portion: Portion, limit: int, *, native: bool) -> Call:
    """The call with the conversation it goes on from, and with where its answer is kept.

    Args:
        call: of the Responses API.
        shelf: what is kept.
        portion: what the call takes of the memory for conversations under way.
        limit: most bytes of the body that is made.
        native: the upstream that is asked first keeps responses itself: it may know what is not known here.

    Raises:
        ApiError: 400 where it goes on from what is not there, 413 where the whole is too large, 503 where
            conversations under way take too much memory.
    """
    if is_too_deep(call.body, call.payload):
        raise invalid_request(
            "The request is nested too deeply to be kept or translated.", code="nested_too_deeply"
        )
    named = call.payload.get(PREVIOUS)
    own = _own_items(call.payload)
    if own is None:
        return call  # malformed: refused where it is translated
    keeps = shelf.keeps and call.payload.get("store") is not False
    turn = Turn(call.tenant, None, orjson.dumps(own), call.received_at, shelf if keeps else None)
    if named is None:
        # As the next turn will show it: a text and a message of that text are one to an upstream.
        payload = call.payload if native else {**call.payload, "input": own}
        return replace(call, payload=payload, continuation=turn)
    if not isinstance(named, str):
        raise invalid_request(f"Invalid value for '{PREVIOUS}': expected a string.", PREVIOUS, "invalid_type")
    chain = await shelf.chain(call.tenant, named, portion)
    if chain is None:
        if native:
            return call
        raise _unknown(named, shelf)
    if len(call.body) + sum(len(kept.items) for kept in chain) > limit:  # before any of it is decoded
        raise body_too_large(limit)
    items = [*conversation(chain), *own]
    payload = _gone_on(call.payload, items)
    body = dumps(_gone_on(exact(call.payload, call.body), items))
    if len(body) > limit:
        raise body_too_large(limit)
    return replace(
        call,
        payload=payload,
        body=body,
        changes=(*call.changes, _GONE_ON),
        continuation=replace(turn, previous=named),
    )


def _gone_on(payload: Mapping[str, Any], items: list[Any]) -> dict[str, Any]:
    """The request with the whole conversation in place of the name of what it goes on from."""
    rest = {name: value for name, value in payload.items() if name != PREVIOUS}
    return {**rest, "input": items}


def _own_items(payload: Mapping[str, Any]) -> list[Any] | None:
    """The input of this turn as items, None where it is none."""
    said = payload.get("input")
    if said is None and payload.get(PREVIOUS) is not None:
        return []
    if isinstance(said, str):
        return [{"role": "user", "content": said}]
    return said if isinstance(said, list) else None


def _unknown(name: str, shelf: Shelf) -> ApiError:
    why = "" if shelf.keeps else " This gateway keeps no responses ([responses] keep is off)."
    return invalid_request(
        f"Previous response with id '{name[:64]}' not found.{why}", PREVIOUS, "previous_response_not_found"
    )
