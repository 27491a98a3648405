"""Requests that ask something new behind a beginning that was sent before: most of what comes.

The beginning is known by its messages as they came, which are compared and not read again; only the question
behind them is cut, keyed and weighed. What comes out is what `reading` makes of the whole; what is no such
request is left to it. Memory is bounded; what was seen first is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import chain
from sys import getsizeof
from threading import Lock
from typing import TYPE_CHECKING, Any

import orjson

from promptcache.quick_values import changed
from promptcache.segments import Kind, Segment
from promptcache_gateway.observe.held import beside_texts
from promptcache_gateway.observe.masking import MESSAGE_BUDGET
from promptcache_gateway.observe.pieces import Piece
from promptcache_gateway.observe.prompt import TRIVIAL_CHARS, Prompt
from promptcache_gateway.observe.settings import parameters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.observe.masking import Masker

_ASKER = "user"
_BESIDE = ("tools", "system")
_MARK = "cache_control"

_A_MESSAGE = 1_500
"""Bytes, about, of a message's objects, its segment's and its piece's, the texts aside."""

_TOLD = 48  # characters of the first message, at its beginning, middle and end

_Key = tuple[str, int, int, str, int]
_Asked = tuple[str, Kind, int | None, str]


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What questions are asked behind: messages as they came, what stood beside them, what was read of both.

    ``asked`` is where a question stands: its path, kind, message and seat; ``size`` is the bytes of it all.
    """

    messages: list[dict[str, str]]
    beside: bytes
    prompt: Prompt
    asked: _Asked
    size: int


@dataclass(eq=False, slots=True)
class _Owner:
    """One tenant's beginnings, the longest known in front, and their bytes."""

    known: OrderedDict[_Key, _Beginning] = field(default_factory=OrderedDict)
    size: int = 0


class Repeats:
    """The memory. Safe to share between threads.

    Where it is full, the tenant that holds most of it gives something up, so that none pushes the others out.

    Args:
        masker: makes the keys that volatile values do not change.
        most: beginnings that are kept.
        most_bytes: bytes that may be kept of them together; none is kept that has an eighth of them.
    """

    def __init__(self, masker: Masker, most: int = 256, most_bytes: int = 16_000_000) -> None:
        self._masker = masker
        self._most = most
        self._most_bytes = most_bytes
        self._owners: dict[str, _Owner] = {}
        self._count = 0
        self._bytes = 0
        self._lock = Lock()

    def read(self, body: Mapping[str, Any], tenant: str = "") -> Prompt | None:
        """The request's prompt, None where its beginning is not known, or it is of another form."""
        messages, owner = body.get("messages"), self._owners.get(tenant)
        if owner is None or type(messages) is not list or len(messages) < 2 or not _is_question(messages[-1]):
            return None
        key = _key(body.get("model"), messages)
        known = None if key is None else owner.known.get(key)
        if known is None or messages[:-1] != known.messages or _MARK in body or _beside(body) != known.beside:
            return None
        return self._asked_behind(known, messages[-1]["content"], body)

    def keep(self, body: Mapping[str, Any], prompt: Prompt, tenant: str = "") -> None:
        """Know the beginning of a request that was read, where it has the form."""
        messages = body.get("messages")
        if type(messages) is not list or len(messages) < 2 or _MARK in body:
            return
        if not (_is_question(messages[-1]) and all(map(_is_plain, messages))):
            return
        key, beside = _key(body.get("model"), messages), _beside(body)
        if key is None or beside is None:
            return
        before, asked = _before_question(prompt), prompt.segments[-1]
        size = getsizeof(key[0]) + len(beside) + _size(messages[:-1], before)
        if size > self._most_bytes // 8:
            return
        place = (asked.path, asked.kind, asked.message, asked.seat)
        self._put(tenant, key, _Beginning(messages[:-1], beside, before, place, size))

    def _put(self, tenant: str, key: _Key, made: _Beginning) -> None:
        with self._lock:
            owner = self._owners.get(tenant)
            if owner is None:
                owner = self._owners[tenant] = _Owner()
            if key in owner.known:
                self._drop(owner, key)
            owner.known[key] = made
            self._change(owner, 1, made.size)
            while self._count > self._most or self._bytes > self._most_bytes:
                by_count = self._count > self._most
                name, most = max(
                    self._owners.items(), key=lambda one: len(one[1].known) if by_count else one[1].size
                )
                self._drop(most, next(iter(most.known)))
                if not most.known:
                    del self._owners[name]

    def _drop(self, owner: _Owner, key: _Key) -> None:
        self._change(owner, -1, -owner.known.pop(key).size)

    def _change(self, owner: _Owner, count: int, size: int) -> None:
        owner.size += size
        self._count += count
        self._bytes += size

    def forget(self, tenant: str) -> None:
        """Forget a tenant's beginnings."""
        with self._lock:
            owner = self._owners.pop(tenant, None)
            if owner is not None:
                self._change(owner, -len(owner.known), -owner.size)

    @property
    def stored_bytes(self) -> int:
        """Bytes that are kept of all beginnings."""
        return self._bytes

    def _asked_behind(self, known: _Beginning, content: str, body: Mapping[str, Any]) -> Prompt:
        """The beginning with another question, which is its last segment."""
        before = known.prompt
        path, kind, message, seat = known.asked
        text = f"{_ASKER}\n{content}"
        segment = Segment(path, kind, _ASKER, text, None, message, "", seat)
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
            before.marks,
            parameters_of(body),
            pieces=(*before.pieces, piece),
        )

    def __len__(self) -> int:
        return self._count


def _before_question(prompt: Prompt) -> Prompt:
    """A prompt without its last segment, a user's message, and without what is asked anew with each."""
    told = len(prompt.segments[-1].text) >= TRIVIAL_CHARS
    return changed(
        prompt,
        segments=prompt.segments[:-1],
        exact=prompt.exact[:-1],
        masked=prompt.masked[:-1],
        keys=prompt.keys[:-1],
        messages=prompt.messages[:-1] if told else prompt.messages,
        offsets=prompt.offsets[:-1],
        parameters={},
        pieces=prompt.pieces[:-1],
    )


def _is_plain(message: object) -> bool:
    """Whether a message has a role and a text, and nothing else."""
    if type(message) is not dict or len(message) != 2:
        return False
    return type(message.get("content")) is str and type(role := message.get("role")) is str and bool(role)


def _is_question(message: object) -> bool:
    return _is_plain(message) and message["role"] == _ASKER  # type: ignore[index]


def _key(model: object, messages: list[Any]) -> _Key | None:
    """What is looked up by, at little cost: the model, how many messages there are, some of what is in them.

    Instructions that are equally long differ in a name or a few facts, which stand at their beginning or end
    as a rule.
    """
    try:
        first, last = messages[0]["content"], messages[-2]["content"]
    except (TypeError, KeyError, IndexError):
        return None
    if type(model) is not str or type(first) is not str or type(last) is not str:
        return None
    size = len(first)
    middle = size // 2
    told = first[:_TOLD] + first[middle : middle + _TOLD] + first[-_TOLD:]
    return (model, len(messages), size, told, len(last))


def _size(messages: list[dict[str, str]], before: Prompt) -> int:
    """Bytes of plain messages, and of what was read of them and of what stood before them."""
    texts = sum(map(getsizeof, chain.from_iterable(map(dict.values, messages))))
    others = before.segments[: len(before.segments) - len(messages)]
    beside = sum([getsizeof(one.text) for one in others]) + beside_texts(others)
    told = 2 * texts  # once more in its segment, with its role
    return told + beside + _A_MESSAGE * len(before.segments)


def _beside(body: Mapping[str, Any]) -> bytes | None:
    """Tools and instructions beside the messages, to the letter; None where they cannot be written down."""
    told = {name: body[name] for name in _BESIDE if name in body}
    if not told:
        return b""
    try:
        return orjson.dumps(told)
    except TypeError:  # texts that only other readers of JSON let through
        return None
