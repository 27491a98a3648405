"""The requests that `observe.py` measures: prompts of a given size, and the ways in which one meets another.

Every maker yields the bodies of one caller's requests in turn, for ever; a seed gives another caller's. The
last two make the lines of a log.
"""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]

_WORDS = [
    *("the", "order", "was", "shipped", "from", "our", "depot", "and", "will", "arrive"),
    *("within", "three", "working", "days", "unless", "customs", "ask"),
]
_MARK = {"cache_control": {"type": "ephemeral"}}
_TOOLS = 12
_HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def text(size: int, seed: int) -> str:
    """Lines of ordinary words, ``size`` characters, without volatile values."""
    lines: list[str] = []
    length = 0
    while length < size:
        start = (seed * 7 + len(lines) * 3) % len(_WORDS)
        line = " ".join(_WORDS[start:] + _WORDS[:start]) + f", case {seed} rule {len(lines)}."
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)[:size]


def body(system: str, *messages: str) -> Body:
    """A chat request."""
    return {"model": "m", "messages": [{"role": "system", "content": system}, *turns(messages)]}


def turns(messages: tuple[str, ...] | list[str]) -> list[Body]:
    """What a user and an assistant say in turn."""
    roles = itertools.cycle(("user", "assistant"))
    return [{"role": role, "content": content} for role, content in zip(roles, messages, strict=False)]


def stamps() -> Iterator[str]:
    """A clock that goes on by a second."""
    return (f"2026-11-29T12:{n // 60 % 60:02}:{n % 60:02}Z" for n in itertools.count())


def repeated(size: int, seed: int = 1) -> Iterator[Body]:
    """One system prompt, another question each time."""
    system = text(size, seed)
    return (body(system, f"Question number {n}?") for n in itertools.count())


def lengthy(size: int, seed: int = 8) -> Iterator[Body]:
    """The same with questions of 150 tokens, an eighth of which may be read, too."""
    system = text(size - 600, seed)
    return (body(system, text(600, seed + n)) for n in itertools.count())


def clocked(size: int, seed: int = 2) -> Iterator[Body]:
    """The time at the start of the system prompt."""
    system = text(size, seed)
    return (body(f"Now: {stamp}\n{system}", "What is the time?") for stamp in stamps())


def one_line(size: int, seed: int = 3) -> Iterator[Body]:
    """The same, with no line break in the prompt."""
    system = text(size, seed).replace("\n", " ")
    return (body(f"Now: {stamp} {system}", "What is the time?") for stamp in stamps())


def cold(size: int, seed: int = 10_000) -> Iterator[Body]:
    """Another prompt each time."""
    return (body(text(size, seed + n), "Hello?") for n in itertools.count())


def _grown(size: int, count: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """The system prompt and so many messages of a conversation that grows by two."""
    piece = max(size // (count + 1) - 12, 12)
    system = text(piece, seed)
    messages = [f"{n}. {text(piece, seed + n)}" for n in range(count)]
    for n in itertools.count():
        yield system, messages
        messages = [*messages, text(60, seed + 1_000 + n), text(60, seed + 2_000 + n)]


def conversation(size: int, seed: int = 4) -> Iterator[Body]:
    """A conversation of 101 messages that grows by two."""
    return (body(system, *messages) for system, messages in _grown(size, 101, seed))


def many(size: int, seed: int = 5) -> Iterator[Body]:
    """A conversation of 301 short messages that grows by two."""
    return (body(system, *messages) for system, messages in _grown(size, 301, seed))


def trimmed(size: int, seed: int = 6) -> Iterator[Body]:
    """A conversation of which no more than the last messages are sent."""
    for system, messages in _grown(size, 101, seed):
        cut = (len(messages) - 101) // 2 * 2
        yield body(system, *messages[cut:])


def edited(size: int, seed: int = 7) -> Iterator[Body]:
    """A conversation in which an early message is written anew each time."""
    for n, (system, messages) in enumerate(_grown(size, 101, seed)):
        yield body(system, *messages[:4], f"{messages[4]} Edited, version {n}.", *messages[5:])


def _tools(size: int, seed: int) -> list[Body]:
    names = ("ship", "track", "refund", "cancel", "quote", "search", "list", "open", "close", "move", "ask")
    schema = {"type": "object", "properties": {"number": {"type": "string"}, "reason": {"type": "string"}}}
    told = [f"{names[n % len(names)]}_{n}" for n in range(_TOOLS)]
    return [
        {"name": name, "description": text(size // _TOOLS, seed + n), "parameters": schema}
        for n, name in enumerate(told)
    ]


def shuffled(size: int, seed: int = 20) -> Iterator[Body]:
    """Tools that come in another order each time, in front of a system prompt."""
    chance, tools = random.Random(seed), _tools(size // 2, seed)
    system = text(size // 2, seed)
    for n in itertools.count():
        chance.shuffle(tools)
        listed = [{"type": "function", "function": tool} for tool in tools]
        yield {"tools": listed, **body(system, f"Question number {n}?")}


def several(size: int, seed: int = 40) -> Iterator[Body]:
    """Tools in another order, a clock in the system prompt, and an early message written anew."""
    grown = _grown(size // 2, 41, seed)
    for tooled, stamp, (system, messages) in zip(shuffled(size // 2, seed), stamps(), grown, strict=False):
        told = [*messages[:4], f"{messages[4]} At {stamp}.", *messages[5:]]
        yield {"tools": tooled["tools"], **body(f"Now: {stamp}\n{system}", *told)}


def marked(size: int, seed: int = 60) -> Iterator[Body]:
    """An agent's conversation with four breakpoints: of tools, instructions, the last two questions."""
    tools = [
        {"name": t["name"], "description": t["description"], "input_schema": t["parameters"]}
        for t in _tools(size // 4, seed)
    ]
    tools[-1] = {**tools[-1], **_HOUR}
    for system, messages in _grown(size * 3 // 4, 41, seed):
        told = turns(messages)
        for at in (len(told) - 1, len(told) - 3):
            told[at] = {"role": "user", "content": [{"type": "text", "text": told[at]["content"], **_MARK}]}
        blocks = [{"type": "text", "text": "You are an agent."}, {"type": "text", "text": system, **_HOUR}]
        yield {
            "model": "claude-sonnet-4-5",
            "max_tokens": 500,
            "tools": tools,
            "system": blocks,
            "messages": told,
        }


def unmoved(size: int, seed: int = 80) -> Iterator[Body]:
    """The same with one breakpoint, which stays where it is."""
    for made in marked(size, seed):
        plain = [{**one, "content": _said(one["content"])} for one in made["messages"]]
        yield {**made, "messages": plain}


def _said(content: str | list[Body]) -> str:
    return content if isinstance(content, str) else str(content[0]["text"])


def pictured(size: int, seed: int = 90) -> Iterator[Body]:
    """A conversation about a picture of half the size."""
    picture = "data:image/png;base64," + random.Random(seed).randbytes(size * 3 // 8).hex()[: size // 2]
    shown = [{"type": "text", "text": "What is that?"}, {"type": "image_url", "image_url": {"url": picture}}]
    for system, messages in _grown(size // 2, 21, seed):
        told = turns(messages)
        told[0] = {"role": "user", "content": shown}
        yield {"model": "gpt-4o", "messages": [{"role": "system", "content": system}, *told]}


def referring(size: int, seed: int = 91) -> Iterator[Body]:
    """Requests that go on from a stored response; the instructions stand in each."""
    system = text(size, seed)
    for n in itertools.count():
        asked = {"role": "user", "content": f"Question number {n}?"}
        yield {
            "model": "gpt-5",
            "instructions": system,
            "input": [asked],
            "previous_response_id": f"resp_{n}",
        }


def counted() -> Iterator[Body]:
    """Lines of a log that keeps counts and no prompt: two hundred conversations in turn."""
    for n in itertools.count():
        prompt = 1_000 + n // 200 % 300 * 150 + n % 200
        read = (prompt - 150) // 128 * 128
        usage = {"prompt_tokens": prompt, "completion_tokens": 120, "total_tokens": prompt + 120}
        details = {"cached_tokens": read, "audio_tokens": 0}
        at = 1_795_953_600 + n * 0.25
        yield {"time": at, "model": "gpt-4o", "usage": {**usage, "prompt_tokens_details": details}}


def kept() -> Iterator[Body]:
    """Lines of a log that keeps the requests: the time at the start of a prompt of 4 KB."""
    for n, (request, counts) in enumerate(zip(clocked(4_000), counted(), strict=False)):
        yield {"time": 1_795_953_600 + n, "request": {**request, "model": "gpt-4o"}, "usage": counts["usage"]}
