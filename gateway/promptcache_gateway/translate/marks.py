"""The marks that end a cacheable prefix, from one API's words into another's.

Anthropic's ``cache_control`` and OpenAI's ``prompt_cache_breakpoint`` stand on what ends the prefix,
Bedrock's ``cachePoint`` is an item of its own behind it. Which of them a server takes is in its `Flavor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.translate.fields import a_list, an_object, untranslatable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache_gateway.translate.flavor import Flavor

MARK = "cache_control"
BREAKPOINT = "prompt_cache_breakpoint"
POINT = "cachePoint"
MOST_BREAKPOINTS = 3  # beside the automatic one
_BREAKS = frozenset({"system", "developer", "user"})


def placed(items: object, path: str) -> list[tuple[dict[str, Any], str]]:
    """The objects of a list, each with its place; a ``cachePoint`` among them is a mark on the one before.

    Raises:
        ApiError: 400 where there is no list, something in it is no object, or nothing is before a point.
    """
    found: list[tuple[dict[str, Any], str]] = []
    for index, item in enumerate(a_list(items, path)):
        at = f"{path}[{index}]"
        held = an_object(item, at)
        if not _is_point(held):
            found.append((held, at))
        elif found:
            last, place = found[-1]
            mark = _of_point(an_object(held[POINT], f"{at}.{POINT}"))
            found[-1] = ({MARK: mark, **last}, place)
        else:
            raise untranslatable(at, "A 'cachePoint' with nothing before it")
    return found


def numbers_of(items: Sequence[Mapping[str, Any]]) -> list[int]:
    """The numbers that the objects of `placed` have in the list."""
    return [number for number, item in enumerate(items) if not _is_point(item)]


def _is_point(item: Mapping[str, Any]) -> bool:
    return POINT in item and "type" not in item


def _of_point(point: Mapping[str, Any]) -> dict[str, Any]:
    ttl = point.get("ttl")
    return {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}


def mark_of(holder: Mapping[str, Any]) -> Any:
    """The mark on a part, tool or message, in Anthropic's words; None where there is none."""
    mark = holder.get(MARK)
    if mark is None and holder.get(BREAKPOINT) is not None:
        return {"type": "ephemeral"}
    return mark


def marked(part: dict[str, Any], mark: Any) -> dict[str, Any]:
    """The part with a mark of Anthropic's; None is none."""
    return part if mark is None else {**part, MARK: mark}


def for_chat(messages: list[dict[str, Any]], flavor: Flavor) -> None:
    """Say the marks on the parts of a chat's messages in OpenAI's words, where the server takes those alone.

    They stand on what instructs and what the user says. Those beyond its three are left out, the last
    first: at the end of the latest message it sets one by itself.
    """
    if flavor.keeps_marks:
        return
    left = MOST_BREAKPOINTS if flavor.breaks else 0
    for message in messages:
        for holder in (*_parts(message), *message.get("tool_calls", ())):
            if holder.pop(MARK, None) is not None and left and message["role"] in _BREAKS:
                holder[BREAKPOINT] = {"mode": "explicit"}
                left -= 1


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return content if isinstance(content, list) else []
