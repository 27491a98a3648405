"""Requests that ask something new behind a beginning that was sent before: most of what comes.

The beginning is known by its messages as they came, which are compared and not read again; only the question
behind them is cut, keyed and weighed. What comes out is what `reading` makes of the whole; what is no such
request is left to it. Memory is bounded; what was seen first is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import orjson

from promptcache.quick_values import changed
from promptcache.segments import Segment
from promptcache_gateway.observe.masking import MESSAGE_BUDGET
from promptcache_gateway.observe.pieces import Piece
from promptcache_gateway.observe.prompt import TRIVIAL_CHARS, Prompt, parameters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.observe.masking import Masker

_ASKER = "user"
_BESIDE = ("tools", "system")
_MARK = "cache_control"

_Key = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What questions are asked behind: messages as they came, what stood beside them, what was read of both.

    ``asked`` is a question that was; ``size`` is the characters of the messages.
    """

    messages: list[dict[str, str]]
    model: str
    beside: bytes
    prompt: Prompt
    asked: Segment
    size: int


class Repeats:
    """The memory. Safe to share between threads.

    Args:
        masker: makes the keys that volatile values do not change.
        most: beginnings that are kept.
        most_chars: characters of theirs that are kept.
    """

    def __init__(self, masker: Masker, most: int = 256, most_chars: int = 2_000_000) -> None:
        self._masker = masker
        self._most = most
        self._most_chars = most_chars
        self._known: OrderedDict[_Key, _Beginning] = OrderedDict()
        self._chars = 0
        self._lock = Lock()

    def read(self, body: Mapping[str, Any]) -> Prompt | None:
        """The request's prompt, None where its beginning is not known, or it is of another form."""
        messages = body.get("messages")
        if type(messages) is not list or len(messages) < 2 or not _is_question(messages[-1]):
            return None
        key = _key(messages)
        known = None if key is None else self._known.get(key)
        if known is None or body.get("model") != known.model or _MARK in body:
            return None
        if messages[:-1] != known.messages or _beside(body) != known.beside:
            return None
        return self._asked_behind(known, messages[-1]["content"], body)

    def keep(self, body: Mapping[str, Any], prompt: Prompt) -> None:
        """Know the beginning of a request that was read, where it has the form."""
        messages, model = body.get("messages"), body.get("model")
        if type(messages) is not list or len(messages) < 2 or type(model) is not str or _MARK in body:
            return
        if not (_is_question(messages[-1]) and all(map(_is_plain, messages))):
            return
        key, beside = _key(messages), _beside(body)
        size = sum([len(message["content"]) for message in messages[:-1]])
        if key is None or beside is None or size > self._most_chars // 4:
            return
        made = _Beginning(messages[:-1], model, beside, _before_question(prompt), prompt.segments[-1], size)
        with self._lock:
            before = self._known.pop(key, None)
            self._chars += size - (0 if before is None else before.size)
            self._known[key] = made
            while len(self._known) > self._most or self._chars > self._most_chars:
                self._chars -= self._known.popitem(last=False)[1].size

    def _asked_behind(self, known: _Beginning, content: str, body: Mapping[str, Any]) -> Prompt:
        """The beginning with another question, which is its last segment."""
        before, asked = known.prompt, known.asked
        text = f"{_ASKER}\n{content}"
        segment = Segment(asked.path, asked.kind, _ASKER, text, None, asked.message, "", asked.seat)
        piece = Piece(segment)
        key = piece.key(self._masker, MESSAGE_BUDGET)
        return Prompt(
            (*before.segments, segment),
            (*before.exact, hash((before.exact[-1], piece.own))),
            (*before.masked, hash((before.masked[-1], key))),
            (*before.keys, key),
            (*before.messages, piece.text) if len(text) >= TRIVIAL_CHARS else before.messages,
            (*before.offsets, before.offsets[-1] + piece.weight),
            before.head,
            before.turn,
            parameters_of(body),
            (*before.pieces, piece),
        )

    def __len__(self) -> int:
        return len(self._known)


def _before_question(prompt: Prompt) -> Prompt:
    """A prompt without its last segment, a user's message."""
    told = len(prompt.segments[-1].text) >= TRIVIAL_CHARS
    return changed(
        prompt,
        segments=prompt.segments[:-1],
        exact=prompt.exact[:-1],
        masked=prompt.masked[:-1],
        keys=prompt.keys[:-1],
        messages=prompt.messages[:-1] if told else prompt.messages,
        offsets=prompt.offsets[:-1],
        pieces=prompt.pieces[:-1],
    )


def _is_plain(message: object) -> bool:
    """Whether a message has a role and a text, and nothing else."""
    if type(message) is not dict or len(message) != 2:
        return False
    return type(message.get("content")) is str and type(role := message.get("role")) is str and bool(role)


def _is_question(message: object) -> bool:
    return _is_plain(message) and message["role"] == _ASKER  # type: ignore[index]


def _key(messages: list[Any]) -> _Key | None:
    """What is looked up by: how many messages there are, how long the first and the last but one are."""
    try:
        return (len(messages), len(messages[0]["content"]), len(messages[-2]["content"]))
    except (TypeError, KeyError, IndexError):
        return None


def _beside(body: Mapping[str, Any]) -> bytes | None:
    """Tools and instructions beside the messages, to the letter; None where they cannot be written down."""
    told = {name: body[name] for name in _BESIDE if name in body}
    if not told:
        return b""
    try:
        return orjson.dumps(told)
    except TypeError:  # texts that only other readers of JSON let through
        return None
