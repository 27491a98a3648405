"""The content blocks of a message that is streamed, strictly one after another.

Chat completions may go on with several tool calls at once; a message may not: each of its blocks starts and
stops before the next one starts. What belongs to a later block waits until the one before it has ended: text
ends when something else comes, a call when its arguments are a whole JSON object, and all with the message.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import orjson

from promptcache_gateway.exact_json import read
from promptcache_gateway.translate.chat_forms import begins_another
from promptcache_gateway.translate.events import named_event
from promptcache_gateway.translate.joined import Joined

_CALL = "tool_use"
# By the kind of what comes: the type of its block, and what that starts with beside an empty text.
_STARTS: dict[str, tuple[str, dict[str, str]]] = {
    "text": ("text", {}),
    "refusal": ("text", {}),
    "thinking": ("thinking", {"signature": ""}),
}


@dataclass(slots=True)
class _Block:
    """A block that has not ended: its kind, what it starts with, and what waits to be sent."""

    kind: str
    start: dict[str, Any]
    index: int = -1
    waiting: Joined = field(default_factory=Joined)
    arguments: Joined = field(default_factory=Joined)
    ended: bool = False

    @property
    def complete(self) -> bool:
        """Whether nothing more can come for it, now that something else has come."""
        if self.kind != _CALL:
            return True
        if not self.arguments.last.rstrip().endswith("}"):
            return False
        try:
            return isinstance(read(self.arguments.text()), dict)
        except orjson.JSONDecodeError:
            return False

    def delta(self, text: str) -> dict[str, str]:
        """What adds a text to the block."""
        of = self.start["type"]
        if of == _CALL:
            return {"type": "input_json_delta", "partial_json": text}
        return {"type": f"{of}_delta", of: text}


class Blocks:
    """Makes the events of a message's blocks, in an order that a message may have.

    Attributes:
        held: characters that were gathered.
    """

    def __init__(self, message: str = "") -> None:
        """``message`` is the message's id, of which are made those of calls that have none."""
        self._message = message
        self._called = 0
        self._open: deque[_Block] = deque()  # the first has been started, the others wait
        self._calls: dict[int, _Block] = {}
        self._next = 0
        self.held = 0

    def text(self, kind: str, text: str) -> bytes:
        """The events of a piece of ``text``, a ``refusal`` or ``thinking``; may be none yet."""
        last = self._open[-1] if self._open else None
        if last is None or last.kind != kind:
            of, more = _STARTS[kind]
            last = _Block(kind, {"type": of, of: "", **more})
            self._open.append(last)
        elif last.index >= 0:  # it has been started, so that nothing waits
            return _event("content_block_delta", last.index, delta=last.delta(text))
        last.waiting.add(text)
        if last is not self._open[0]:
            self.held += len(text)
        return self._advance()

    def call(self, number: int, name: str, function: str, arguments: str) -> bytes:
        """The events of a piece of a tool call; may be none yet.

        Args:
            number: which of the answer's calls it is.
            name: the call's id, empty where the piece does not say.
            function: the tool's name, the same.
            arguments: what it adds to the arguments.
        """
        block = self._calls.get(number)
        if block is None or begins_another(name, function, block.start["id"]):
            name = name or call_name(self._message, self._called)
            self._called += 1
            block = _Block(_CALL, {"type": _CALL, "id": name, "name": function, "input": {}})
            self._calls[number] = block
            self._open.append(block)
        if not block.start["name"]:  # some servers name the tool in a later piece than the call
            block.start["name"] = function
        if arguments and not block.ended:
            block.arguments.add(arguments)
            block.waiting.add(arguments)
            self.held += len(arguments) * (1 if block is self._open[0] else 2)
        return self._advance()

    def end(self) -> bytes:
        """The events that end all blocks."""
        out: list[bytes] = []
        while self._open:
            out += [*self._shown(self._open[0]), self._stop()]
        return b"".join(out)

    def _advance(self) -> bytes:
        out: list[bytes] = []
        while self._open:
            head = self._open[0]
            if head.start.get("name") == "":
                break
            out += self._shown(head)
            if len(self._open) == 1 or not head.complete:
                break
            out.append(self._stop())
        return b"".join(out)

    def _shown(self, block: _Block) -> list[bytes]:
        """The events of what is known of the first block and was not sent."""
        out: list[bytes] = []
        if block.index < 0:
            block.index, self._next = self._next, self._next + 1
            out.append(_event("content_block_start", block.index, content_block=block.start))
        if block.waiting:
            delta = block.delta(block.waiting.take())
            out.append(_event("content_block_delta", block.index, delta=delta))
        return out

    def _stop(self) -> bytes:
        block = self._open.popleft()
        block.ended = True
        return _event("content_block_stop", block.index)


def call_name(message: str, number: int) -> str:
    """An id for a call that the upstream gave none, which another message has not."""
    return f"toolu_{message.removeprefix('msg_')}_{number}"


def _event(kind: str, index: int, **fields: Any) -> bytes:
    return named_event({"type": kind, "index": index, **fields})
