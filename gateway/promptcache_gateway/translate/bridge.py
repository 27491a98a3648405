"""Send a call to an upstream that does not speak its dialect, and bring the answer back in the caller's.

Where both speak the same, nothing is translated and this is not called: bytes go through. A refusal of
the upstream keeps its status and its message, in the shape of the caller's API.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.error_shapes import error_body
from promptcache_gateway.errors import ApiError
from promptcache_gateway.exact_json import dumps, exact
from promptcache_gateway.translate.at_once import ToldAtOnce
from promptcache_gateway.translate.chat_answers import CompletionChunks, to_completion
from promptcache_gateway.translate.chat_to_messages import chat_to_messages
from promptcache_gateway.translate.dropped import dropped
from promptcache_gateway.translate.events import MALFORMED, UNREADABLE, Chained, TranslatedStream, Translator
from promptcache_gateway.translate.fields import refuse_too_deep
from promptcache_gateway.translate.flavor import Flavor, flavor_of
from promptcache_gateway.translate.gathered import CompletionParts, MessageParts, gathered, refused
from promptcache_gateway.translate.message_answers import MessageEvents, to_message
from promptcache_gateway.translate.messages_to_chat import (
    message_path,
    messages_to_chat,
    refuse_begun,
    refuse_unlimited,
)
from promptcache_gateway.translate.places import own_place
from promptcache_gateway.translate.response_answers import response_frame, to_response
from promptcache_gateway.translate.response_events import ResponseEvents
from promptcache_gateway.translate.responses_to_chat import response_path, responses_to_chat
from promptcache_gateway.translate.unsaid import refuse_unsaid_end
from promptcache_gateway.upstreams.base import NotGivenError, WholeReply
from promptcache_gateway.upstreams.told_errors import refusal_in, told_error
from promptcache_gateway.upstreams.unheld import drained
from promptcache_gateway.upstreams.whole_bodies import error_code, json_object, weighed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache.usage import Usage
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.translate.dropped import Dropped
    from promptcache_gateway.translate.response_answers import Keep
    from promptcache_gateway.upstreams.base import Inbound, StreamReply, Upstream

_BY_CHAT = frozenset({"openai.chat", "anthropic.messages"})
_PREFIXES = {"anthropic.messages": "msg_", "openai.responses": "resp_", "openai.chat": "chatcmpl-"}
_NAMED_ELSEWHERE = {"anthropic.messages": message_path, "openai.responses": response_path}
_NAMES = {
    "openai.chat": "OpenAI's chat completions",
    "openai.completions": "OpenAI's completions",
    "openai.responses": "OpenAI's responses",
    "openai.embeddings": "embeddings",
    "anthropic.messages": "Anthropic's messages",
}


async def send_across(
    upstream: Upstream, call: Call, sent: Call, inbound: Inbound
) -> WholeReply | StreamReply:
    """Complete a call at an upstream of another dialect.

    Args:
        upstream: who is asked.
        call: as its caller's API has it.
        sent: as the upstream takes it (`as_taken`).
        inbound: what came with it.

    Raises:
        ApiError: the upstream refused it or failed, or its answer has no words in the caller's API.
    """
    with in_the_caller_s_words(upstream, call):
        reply = await upstream.send(sent, inbound)
    if not isinstance(reply, WholeReply):
        return await _of_stream(upstream, call, inbound, reply)
    weighed(reply)
    try:
        return _of_whole(upstream, call, reply, inbound.meant(call, reply.usage))
    except ApiError as error:
        if reply.hold is not None:
            reply.hold.end()
        raise NotGivenError(error, reply) from error.__cause__


async def _of_stream(
    upstream: Upstream, call: Call, inbound: Inbound, reply: StreamReply
) -> WholeReply | StreamReply:
    """The caller's answer of one that streams; raises `ApiError`."""
    if not reply.events:
        raise await _not_held(upstream, reply)
    hold = None if inbound.answers is None else inbound.answers.hold(call.tenant)
    meant = partial(inbound.meant, call)
    if call.stream:
        return TranslatedStream(reply, _translator(upstream, call, reply), hold, meant)
    parts = CompletionParts() if _answers_a_chat(upstream, call) else MessageParts()
    try:
        return await gathered(reply, parts, partial(_answer, upstream, call), hold, meant)
    except NotGivenError as error:
        if reply.status < 400:
            raise
        return refused(call, reply, error)


async def _not_held(upstream: Upstream, reply: StreamReply) -> ApiError:
    """What to say of an answer that is neither held nor made of events, once it has told what it cost."""
    why: ApiError | None = getattr(reply, "unheld", None)
    if why is None:
        await reply.close()
        return NotGivenError(_unreadable(upstream), reply)
    await drained(reply)
    return NotGivenError(why, reply)


def across(upstream: Upstream, call: Call) -> Call:
    """The call in a dialect the upstream speaks; raises `ApiError` 400 where there is no way there."""
    refuse_too_deep(call)
    call = _exact(call)
    if call.dialect == "anthropic.messages" and "openai.chat" in upstream.dialects:
        payload = messages_to_chat(call.payload, call.model, _flavor(upstream, call))
        return _as(call, "/v1/chat/completions", payload)
    if call.dialect == "openai.chat" and "anthropic.messages" in upstream.dialects:
        return _chat_as_message(call)
    if call.dialect == "openai.responses" and not upstream.dialects.isdisjoint(_BY_CHAT):
        payload = responses_to_chat(call.payload, call.model, _flavor(upstream, call))
        chat = _as(call, "/v1/chat/completions", payload)
        if "openai.chat" in upstream.dialects:
            return chat
        with in_the_caller_s_words(upstream, call):
            refuse_too_deep(chat)
            return _chat_as_message(chat)
    raise ApiError(
        400,
        f"The upstream {upstream.name} does not serve {_NAMES[call.dialect]}.",
        code="unsupported_api",
    )


def _chat_as_message(call: Call) -> Call:
    payload = chat_to_messages(call.payload, call.model)
    refuse_unsaid_end(call.payload["messages"])
    return _as(call, "/v1/messages", payload)


def _exact(call: Call) -> Call:
    """The call with the integers of its payload exact; what it goes on with is not in its body, or not so."""
    payload = exact(call.payload, call.body)
    if payload is call.payload:
        return call
    if call.continuation is not None:
        payload = {**payload, "input": call.payload["input"]}
    return replace(call, payload=payload)


def as_taken(upstream: Upstream, call: Call) -> Call:
    """The call as the upstream takes it, itself or translated; raises `ApiError` 400 where it cannot."""
    if call.dialect in upstream.dialects:
        return call
    sent = across(upstream, call)
    if call.dialect == "anthropic.messages":  # to count one is another matter
        refuse_unlimited(call.payload)
        refuse_begun(call.payload, _flavor(upstream, call))
    return sent


def left_out(upstream: Upstream, call: Call) -> tuple[Dropped, ...]:
    """What `across` leaves out of a call on its way to the upstream: the first places of it."""
    to_messages = call.dialect != "anthropic.messages" and (
        call.dialect == "openai.chat" or "openai.chat" not in upstream.dialects
    )
    return dropped(
        call.payload,
        call.dialect,
        "anthropic.messages" if to_messages else "openai.chat",
        _flavor(upstream, call),
    )


def _flavor(upstream: Upstream, call: Call) -> Flavor:
    url = "" if upstream.kind == "engine" else upstream.health().get("url", "")
    return flavor_of(upstream.kind, str(url), call.model)


def _as(call: Call, path: str, payload: dict[str, Any]) -> Call:
    chat = path == "/v1/chat/completions"
    return replace(
        call,
        dialect="openai.chat" if chat else "anthropic.messages",
        path=path,
        body=dumps(payload),
        payload=payload,
    )


def _translator(upstream: Upstream, call: Call, reply: WholeReply | StreamReply) -> Translator:
    if call.dialect == "anthropic.messages":
        return MessageEvents(call.model, _name(call), reply.engine)
    if call.dialect == "openai.responses":
        over_chat = "openai.chat" in upstream.dialects
        events = ResponseEvents(response_frame(call, _name(call)), _keep(call), signed=not over_chat)
        if over_chat:
            return events
        chunks = CompletionChunks(call.model, _name(call), int(call.received_at), include_usage=False)
        return Chained(chunks, events)
    options = call.payload.get("stream_options")
    asked = isinstance(options, dict) and options.get("include_usage") is True
    return CompletionChunks(call.model, _name(call), int(call.received_at), include_usage=asked)


def _of_whole(upstream: Upstream, call: Call, reply: WholeReply, usage: Usage) -> WholeReply | StreamReply:
    """The caller's answer of one that came whole, and of what it used; raises `ApiError`."""
    if reply.status >= 400:
        return replace(reply, body=error_body(_refusal(upstream, reply), call.dialect, call.id))
    payload = json_object(reply.body)
    if payload is None:
        raise _unreadable(upstream)
    payload = exact(payload, reply.body)
    if not _is_answer(upstream, call, payload):
        if told_error(payload) is not None:  # under a status that says otherwise
            code = reply.error or error_code(payload) or "upstream_error"
            raise _refusal(upstream, replace(reply, status=502, error=code))
        raise _unreadable(upstream)
    try:
        if call.stream:
            return ToldAtOnce(reply, _translator(upstream, call, reply), payload, usage)
        body = dumps(_answer(upstream, call, payload, usage))
    except MALFORMED as error:
        raise _unreadable(upstream) from error
    return replace(reply, body=body)


def _is_answer(upstream: Upstream, call: Call, payload: dict[str, Any]) -> bool:
    """Whether there is an answer in it, of a chat or of Anthropic's."""
    if _answers_a_chat(upstream, call):
        return isinstance(choices := payload.get("choices"), list) and bool(choices)
    return isinstance(payload.get("content"), list)


def _answers_a_chat(upstream: Upstream, call: Call) -> bool:
    """Whether the upstream was asked for a chat completion; else it was for a message of Anthropic's."""
    return call.dialect != "openai.chat" and "openai.chat" in upstream.dialects


def _answer(upstream: Upstream, call: Call, payload: dict[str, Any], usage: Usage) -> dict[str, Any]:
    if call.dialect == "anthropic.messages":
        return to_message(payload, call.model, _name(call), usage)
    signed = "openai.chat" not in upstream.dialects
    completion = payload
    if signed:
        completion = to_completion(payload, call.model, _name(call), int(call.received_at), usage)
    if call.dialect == "openai.responses":
        frame = response_frame(call, _name(call))
        return to_response(completion, frame, _keep(call), signed=signed, usage=usage)
    return completion


def _keep(call: Call) -> Keep | None:
    return None if call.continuation is None else call.continuation.keep


def _kept(call: Call) -> int:
    """How many items of the conversation this call does not hold itself."""
    if call.continuation is None or call.continuation.previous is None:
        return 0
    return len(call.payload["input"]) - len(orjson.loads(call.continuation.items))


def _refusal(upstream: Upstream, reply: WholeReply) -> ApiError:
    fields = refusal_in(reply.body)
    message = fields.get("message")
    kind = fields.get("type")
    return ApiError(
        reply.status,
        message if isinstance(message, str) else f"The upstream {upstream.name} answered {reply.status}.",
        kind=kind if isinstance(kind, str) else "upstream_error",
        code=reply.error,
    )


def _name(call: Call) -> str:
    return _PREFIXES[call.dialect] + call.id.removeprefix("pcr_")


@contextmanager
def in_the_caller_s_words(upstream: Upstream, call: Call) -> Iterator[None]:
    """Refusals of the translated request name the fault's place as the caller's own has it."""
    try:
        yield
    except ApiError as error:
        if call.dialect not in _NAMED_ELSEWHERE or error.param is None:
            raise
        path = _NAMED_ELSEWHERE[call.dialect](error.param, call.payload, _flavor(upstream, call))
        raise _renamed(error, error.param, own_place(path, _kept(call))) from error


def _renamed(error: ApiError, param: str, path: str) -> ApiError:
    return ApiError(
        error.status,
        error.message.replace(f"'{param}'", f"'{path}'"),
        kind=error.kind,
        param=path,
        code=error.code,
        retry_after=error.retry_after,
        unanswered=error.unanswered,
    )


def _unreadable(upstream: Upstream) -> ApiError:
    return ApiError(
        502,
        f"The upstream {upstream.name} answered with something that is no answer of its API.",
        kind="upstream_error",
        code=UNREADABLE,
    )
