"""Messages of a chat that say nothing. Anthropic's API takes none, so they are left out, and each is named.

Where that would leave nobody to speak last, or the assistant, whose words were then the beginning of the
answer, the request would be another one and is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.translate.fields import untranslatable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_INSTRUCTING = ("system", "developer")
_ASKING = ("user", *_INSTRUCTING)
_SAID_OTHERWISE = ("tool_calls", "thinking_blocks", "refusal")


def unsaid(messages: Iterable[Any]) -> Iterator[int]:
    """Which messages of a chat, or items of a response, say nothing."""
    for index, message in enumerate(messages):
        if _says_nothing(message):
            yield index


def refuse_unsaid_end(messages: Sequence[Any]) -> None:
    """Raise `ApiError` 400 where what is asked last says nothing, and without it nobody asks."""
    empty = frozenset(unsaid(messages))
    said = [index for index in range(len(messages)) if index not in empty]
    end = said[-1] + 1 if said else 0
    asked = [index for index in range(end, len(messages)) if _role(messages[index]) in _ASKING]
    nobody = all(_role(messages[index]) in _INSTRUCTING for index in said)
    if asked and (nobody or _role(messages[said[-1]]) == "assistant"):
        raise untranslatable(f"messages[{asked[-1]}]", "A message without a word")


def _says_nothing(message: object) -> bool:
    if not isinstance(message, dict) or message.get("type", "message") != "message":
        return False
    if _role(message) == "assistant":
        return not any(map(message.get, _SAID_OTHERWISE)) and _is_empty(message.get("content"))
    return _role(message) in _ASKING and _is_empty(message.get("content"))


def _is_empty(content: object) -> bool:
    if isinstance(content, list):
        texts = [(part.get("text"), part.get("refusal")) for part in content if isinstance(part, dict)]
        return len(texts) == len(content) and all("" in text for text in texts)
    return content is None or content == ""


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, dict) else None
