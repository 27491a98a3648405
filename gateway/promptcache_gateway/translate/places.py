"""Where in the caller's own request stands what its translation has in the messages of a chat completion.

Messages are counted otherwise there: a result of a tool is a message of its own, a system prompt the first
of all. Which message comes from where is told by the translators; here a path is looked up in what they tell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Origin: TypeAlias = "Mapping[str, str]"
"""Of one chat message: the caller's place by what follows the message in a path; "" is the message."""

_MESSAGE = re.compile(r"messages\[(\d+)\](?![^.\[])")
_ITEM = re.compile(r"input\[(\d+)\]")
_STEP = re.compile(r"\.[^.\[]+|\[\d+\]")


def caller_place(
    path: str,
    origins: Callable[[], Sequence[Origin]],
    around: str,
    renamed: Iterable[tuple[re.Pattern[str], str]],
) -> str:
    """The caller's place of what a chat completion has at ``path``, or of what is nearest around it.

    Args:
        path: in the chat completion.
        origins: tells where each of its messages comes from; asked for paths into messages only.
        around: the caller's name of all messages.
        renamed: for other paths, what is called otherwise: a pattern, and what takes its place.
    """
    found = _MESSAGE.match(path)
    if found is None:
        for pattern, put in renamed:
            path = pattern.sub(put, path)
        return path
    number, known = int(found[1]), origins()
    if number >= len(known):
        return around
    steps = _STEP.findall(path[found.end() :])
    for kept in range(len(steps), -1, -1):
        place = known[number].get("".join(steps[:kept]))
        if place is not None:
            return f"{place}.text" if kept and steps[kept:] == [".text"] else place
    return around


def own_place(path: str, kept: int) -> str:
    """A place in a conversation that is gone on from, in the caller's own ``input``.

    Args:
        path: in the whole of it.
        kept: how many items of it the caller did not send, but named by ``previous_response_id``.
    """
    found = _ITEM.match(path)
    if found is None or not kept:
        return path
    own = int(found[1]) - kept
    return "previous_response_id" if own < 0 else f"input[{own}]{path[found.end() :]}"


def call_origin(number: int, place: str, *, name: str, arguments: str, call: str) -> dict[str, str]:
    """Of a message's tool call: the caller's names of its fields, all within ``place``."""
    at = f".tool_calls[{number}]"
    return {
        at: place,
        f"{at}.id": f"{place}.{call}",
        f"{at}.function.name": f"{place}.{name}",
        f"{at}.function.arguments": f"{place}.{arguments}",
    }
