"""Through which of the gateway's APIs a request came, as far as its parts show.

The same prompt has other parts in each: instructions are a message of their own or stand apart, a tool is
described in other words. An upstream may be sent the same for both, so two that differ in this are not
compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache_gateway.observe.prompt import Prompt

_CHAT = "chat"
_MESSAGES = "messages"
_ROOTS = {"system": _MESSAGES, "instructions": "responses", "input": "responses", "prompt": "completions"}
_TOOLS = (('"input_schema":', _MESSAGES), ('"function":{', _CHAT))
_INSTRUCTING = frozenset({"system", "developer"})


def are_of_two_apis(one: Prompt, other: Prompt) -> bool:
    """Whether two requests came through different APIs for certain."""
    first, second = _api_of(one), _api_of(other)
    return first != second and None not in {first, second}


def _api_of(prompt: Prompt) -> str | None:
    """The API of a request; None where its parts may be those of several."""
    found = (_api_of_part(segment) for segment in prompt.segments[: prompt.head + 1])
    return next((api for api in found if api is not None), None)


def _api_of_part(segment: Segment) -> str | None:
    if segment.kind == "tool":
        return next((api for mark, api in _TOOLS if mark in segment.text), None)
    root = segment.path.partition("[")[0]
    return _CHAT if root == "messages" and segment.role in _INSTRUCTING else _ROOTS.get(root)
