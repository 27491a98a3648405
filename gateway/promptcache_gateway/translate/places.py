"""Where in the caller's own request stands what its translation has in the messages of a chat completion.

Messages are counted otherwise there: a result of a tool is a message of its own, a system prompt the first
of all. Which message comes from where is told by the translators; here a path is looked up in what they tell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Origin: TypeAlias = "Mapping[str, str]"
"""Of one chat message: the caller's place by what follows the message in a path; "" is the message."""

_MESSAGE = re.compile(r"messages\[(\d+)\](?![^.\[])")
_ITEM = re.compile(r"input\[(\d+)\]")
_STEP = re.compile(r"\.[^.\[]+|\[\d+\]")


def message_at(path: str) -> tuple[int, str] | None:
    """Which chat message a path leads into, and what follows it there; None where it leads elsewhere."""
    found = _MESSAGE.match(path)
    return None if found is None else (int(found[1]), path[found.end() :])


def caller_place(path: str, origins: Sequence[Origin]) -> str | None:
    """The caller's place of a path into chat messages, or of the nearest around it that is known.

    None where the path leads elsewhere, or into no message of the caller's.
    """
    at = message_at(path)
    if at is None or at[0] >= len(origins):
        return None
    origin, steps = origins[at[0]], _STEP.findall(at[1])
    for kept in range(len(steps), -1, -1):
        place = origin.get("".join(steps[:kept]))
        if place is not None:
            return f"{place}.text" if kept and steps[kept:] == [".text"] else place
    return None


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
