"""What a translation leaves out, so that the record of a request names each place of it.

Nothing here changes a request. What would change the answer and has no counterpart is refused by those who
translate; this names the rest: what the other API cannot say, and what means nothing to another provider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.translate.marks import MARK, MOST_BREAKPOINTS, mark_of
from promptcache_gateway.translate.response_turns import thought_in
from promptcache_gateway.translate.seals import unsealed
from promptcache_gateway.translate.unsaid import unsaid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from promptcache_gateway.exchange import Dialect
    from promptcache_gateway.translate.flavor import Flavor

Dropped = tuple[str, str]
"""The path of what is left out, and why."""

_MOST = 20
_NO_COUNTERPART = "has no counterpart in the upstream's API and is dropped"
_SEALED = "can be read by the provider's own models only and is dropped"
_UNSAID = "says nothing, which the upstream's API does not take, and is left out"
_MARK = "the upstream takes no such mark and it is dropped"

_MESSAGES_FIELDS = (
    "thinking", "metadata", "service_tier", "inference_geo", "speed", "betas", "user_profile_id",
    "workspace_id", "context_management",
)  # fmt: skip
_CHAT_FIELDS = (
    "seed", "store", "metadata", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
    "service_tier", "safety_identifier", "verbosity", "prediction",
)  # fmt: skip
_RESPONSES_FIELDS = ("include", "truncation", "metadata", "max_tool_calls", "prompt_cache_options")
_TOOL_FIELDS = ("input_examples", "defer_loading", "allowed_callers", "eager_input_streaming")


def dropped(payload: Mapping[str, Any], dialect: Dialect, to: Dialect, flavor: Flavor) -> tuple[Dropped, ...]:
    """The first places of what a translation leaves out.

    Args:
        payload: the caller's request, decoded.
        dialect: its API.
        to: the upstream's.
        flavor: what an OpenAI-shaped upstream takes.
    """
    if dialect == "anthropic.messages":
        found = list(_of_messages(payload, flavor))
    elif dialect == "openai.responses":
        found = list(_of_responses(payload, flavor))
    else:
        found = list(_of_chat(payload))
    if dialect == "openai.responses" and to == "anthropic.messages":
        found += [*_details(payload), *_unsaid(payload, "input")]
    return tuple(found[:_MOST])


def _of_messages(payload: Mapping[str, Any], flavor: Flavor) -> Iterator[Dropped]:
    yield from _fields(payload, _MESSAGES_FIELDS)
    config = payload.get("output_config")
    if isinstance(config, dict) and config.get("effort") is not None and not flavor.takes_effort:
        yield "output_config.effort", _NO_COUNTERPART
    if payload.get("top_k") is not None and not flavor.takes_top_k:
        yield "top_k", _NO_COUNTERPART
    if payload.get(MARK) is not None and not flavor.marks_whole:
        yield MARK, _MARK
    for at, tool in _objects(payload.get("tools")):
        for name in _TOOL_FIELDS:
            if tool.get(name) is not None:
                yield f"tools[{at}].{name}", _NO_COUNTERPART
        yield from _mark(tool, f"tools[{at}]", flavor)
    breaks = iter(range(MOST_BREAKPOINTS if flavor.breaks else 0))
    for at, block in _objects(payload.get("system")):
        yield from _mark(block, f"system[{at}]", flavor, breaks)
    for at, message in _objects(payload.get("messages")):
        said = message.get("role") != "assistant"
        for index, block in _objects(message.get("content")):
            path = f"messages[{at}].content[{index}]"
            yield from _of_block(block, path)
            yield from _mark(
                block, path, flavor, breaks if said and block.get("type") != "tool_result" else None
            )


def _of_block(block: Mapping[str, Any], path: str) -> Iterator[Dropped]:
    kind = block.get("type")
    if kind == "redacted_thinking" or (kind == "thinking" and block.get("signature")):
        yield path, _SEALED
    elif kind == "tool_result":
        if block.get("is_error"):
            yield f"{path}.is_error", _NO_COUNTERPART
    else:
        source = block.get("source")
        titled = isinstance(source, dict) and source.get("type") == "text"
        for name in ("citations", "context", *(["title"] if titled else ())):
            if block.get(name) is not None:
                yield f"{path}.{name}", _NO_COUNTERPART


def _mark(
    holder: Mapping[str, Any], path: str, flavor: Flavor, breaks: Iterator[int] | None = None
) -> Iterator[Dropped]:
    """``breaks`` gives the breakpoints of OpenAI's that a mark may become here."""
    if mark_of(holder) is None or flavor.keeps_marks:
        return
    if breaks is None or next(breaks, None) is None:
        yield f"{path}.{MARK}", _MARK


def _of_chat(payload: Mapping[str, Any]) -> Iterator[Dropped]:
    yield from _fields(payload, _CHAT_FIELDS)
    yield from _unsaid(payload, "messages")
    for at, message in _objects(payload.get("messages")):
        if message.get("name") is not None:
            yield f"messages[{at}].name", _NO_COUNTERPART
        if message.get("refusal") and message.get("content") is not None:
            yield f"messages[{at}].refusal", _NO_COUNTERPART
        if message.get("reasoning_content") and not message.get("thinking_blocks"):
            yield f"messages[{at}].reasoning_content", _NO_COUNTERPART
        for index, part in _objects(message.get("content")):
            image = part.get("image_url")
            if isinstance(image, dict) and image.get("detail") is not None:
                yield f"messages[{at}].content[{index}].image_url.detail", _NO_COUNTERPART


def _of_responses(payload: Mapping[str, Any], flavor: Flavor) -> Iterator[Dropped]:
    yield from _fields(payload, _RESPONSES_FIELDS)
    unknown = [("reasoning", "summary"), ("reasoning", "generate_summary")]
    if not flavor.takes_verbosity:
        unknown.insert(0, ("text", "verbosity"))
    for holder, name in unknown:
        told = payload.get(holder)
        if isinstance(told, dict) and told.get(name) is not None:
            yield f"{holder}.{name}", _NO_COUNTERPART
    for at, item in _objects(payload.get("input")):
        if item.get("type") != "reasoning" or (flavor.takes_seals and unsealed(item)):
            continue
        if not thought_in(item):
            yield f"input[{at}]", _SEALED
        elif not flavor.takes_thoughts:
            yield f"input[{at}]", _NO_COUNTERPART


def _details(payload: Mapping[str, Any]) -> Iterator[Dropped]:
    for at, item in _objects(payload.get("input")):
        for index, part in _objects(item.get("content")):
            if part.get("type") == "input_image" and part.get("detail") is not None:
                yield f"input[{at}].content[{index}].detail", _NO_COUNTERPART


def _unsaid(payload: Mapping[str, Any], holder: str) -> Iterator[Dropped]:
    messages = payload.get(holder)
    for at in unsaid(messages if isinstance(messages, list) else ()):
        yield f"{holder}[{at}]", _UNSAID


def _fields(payload: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[Dropped]:
    for name in names:
        if payload.get(name) not in (None, {}, []):
            yield name, _NO_COUNTERPART


def _objects(items: object) -> Iterator[tuple[int, dict[str, Any]]]:
    for at, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            yield at, item
