"""What a call of a model API sends, as segments in the provider's order: tools, system, messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Segment
from promptcache_lint.readers.python.values import Map, Seq, Str
from promptcache_lint.readers.typescript import texts
from promptcache_lint.readers.typescript.content import message_segments, system_segments, tool_segments

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.prompts import Role
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["API", "SYSTEM_KEYS", "conversations_of", "request_segments"]

API = re.compile(
    r".*\.(?:chat\.completions|messages|responses|completions|models|chats|conversations|batches)"
    r"\.(?:create|stream|parse|generateContent|generateContentStream|countTokens|runTools)"
    r"|(?:.*\.)?(?:experimental_)?(?:generate|stream)(?:Text|Object|UI)|(?:.*\.)?(?:getGenerativeModel|startChat)"
    r"|(?:.*\.)?Converse(?:Stream)?Command|(?:.*\.)?generateContent(?:Stream)?"
)
"""The members that lead to a call which sends a request."""
SYSTEM_KEYS = (
    *("system", "instructions", "systemPrompt", "system_prompt", "systemInstruction", "system_instruction"),
    *("systemMessage", "system_message", "systemInstructions", "developerMessage", "developerInstructions"),
    *("preamble", "stateModifier", "messageModifier", "appendSystemPrompt", "customSystemPrompt"),
)
"""Options that hold a system prompt, whatever is called."""
_CONVERSATION_KEYS = ("messages", "input", "contents", "history")


def conversations_of(given: Map) -> list[Seq]:
    """The lists of messages among the options of a request."""
    return [value for key in _CONVERSATION_KEYS if isinstance(value := given.get(key), Seq)]


def request_segments(machine: Machine, given: Map, node: Node, frame: Frame) -> tuple[Segment, ...]:
    """The segments of a request with the options ``given``, which stand at ``node``."""
    segments = tool_segments(machine, given.get("tools"), node, frame)
    for options in (given, given.get("config")):
        if not isinstance(options, Map):
            continue
        for keyword in SYSTEM_KEYS:
            value = options.get(keyword)
            if value is not None:
                segments += system_segments(value, keyword, node, frame)
    conversation: list[Segment] = []
    for messages in conversations_of(given):
        conversation += message_segments(messages, node, frame)
    for keyword in ("prompt", "input", "contents"):
        value = given.get(keyword)
        if isinstance(value, Str):
            conversation.append(
                _task(machine, value, keyword, node, frame, newest=bool(segments or conversation))
            )
        elif keyword == "prompt" and isinstance(value, Seq):
            conversation += message_segments(value, node, frame)
    return (*segments, *conversation)


def _task(machine: Machine, value: Value, path: str, node: Node, frame: Frame, *, newest: bool) -> Segment:
    """The text that is asked; behind anything else it is the newest message."""
    role: Role = "user" if newest else "prompt"
    return Segment(path, role, texts.parts_of(machine, value, node, frame), newest=newest)
