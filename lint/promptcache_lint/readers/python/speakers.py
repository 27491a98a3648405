"""Messages that a program makes by calling a class: who speaks, and what is said.

Libraries name the role in the class (``SystemMessage``), in an argument (``ChatMessage(role="system")``) or
in a method (``ChatMessage.from_system``). What the message does to a prompt is left to `sinks`.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from promptcache_lint.prompts import Text
from promptcache_lint.readers.python.values import Seq, Str
from promptcache_lint.wording import role_of_speaker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Role
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.values import Value

__all__ = ["made_message", "said_by_system"]

_NAMED = re.compile(
    r"(?:.*\.)?(?P<role>System|Developer|Human|User|AI|Assistant)(?:Chat)?Message(?P<template>PromptTemplate)?"
    r"(?:\.from_template)?"
)
_GENERAL = re.compile(
    r"(?:.*\.)?(?:Chat|Input|Model|Prompt|LLM|Llm|Ai|AI)?(?:Message|Msg)(?:Param|Content|Input|Dict|Content)?"
    r"(?:\.from_(?:str|text))?|(?:.*\.)?ChatCompletion\w*MessageParam|dict"
)
_METHOD = re.compile(r"(?:.*\.)?\w*Message\.(?:from_)?(?P<role>system|developer)(?:_message)?")
_FIXED = re.compile(r"(?:.*[._])?(?P<role>system|developer)(?:_(?:message_)?role)?", re.IGNORECASE)


def made_message(made: Call) -> tuple[Role | None, Value | None, bool]:
    """The role and content of a message that a call makes, and whether the content is a template.

    Without a role the call makes no message, as far as the source shows.
    """
    kind, role = _kind_of(made.path)
    match kind:
        case "":
            return None, None, False
        case "method":
            return role, made.argument(0, "text") or made.argument(0, "content"), False
        case "general":
            return _by_argument(made)
        case _:
            value = made.argument(0, "content") or made.argument(0, "template") or made.argument(0, "prompt")
            return role, value, kind == "template"


@lru_cache(maxsize=32_768)
def _kind_of(path: str) -> tuple[Literal["named", "template", "method", "general", ""], Role | None]:
    """How a call of this name makes a message, and who speaks in it as far as the name says."""
    if match := _NAMED.fullmatch(path):
        return "template" if match["template"] is not None else "named", role_of_speaker(match["role"])
    if _METHOD.fullmatch(path):
        return "method", "system"
    return "general" if _GENERAL.fullmatch(path) else "", None


def _by_argument(made: Call) -> tuple[Role | None, Value | None, bool]:
    """``ChatMessage(role=MessageRole.SYSTEM, content=…)``, ``Message("system", text)``."""
    content = next(
        (made.named[name][0] for name in ("content", "text", "parts", "blocks") if name in made.named), None
    )
    if "role" in made.named:
        role = _role(*made.named["role"])
        if content is None and made.arguments and made.path != "dict":
            content = made.arguments[0][0]
        return (role, content, False) if content is not None else (None, None, False)
    if made.path.endswith((".from_str", ".from_text")):
        role = _role(*made.arguments[1]) if len(made.arguments) > 1 else None
        content = content or made.argument(0, "content")
        return (role, content, False) if content is not None else (None, None, False)
    if made.arguments and made.path != "dict":
        role = _role(*made.arguments[0])
        content = content or made.argument(1, "content")
        return (role, content, False) if content is not None else (None, None, False)
    return None, None, False


def said_by_system(messages: Seq) -> Iterator[Value]:
    """What the system says in a template's pairs of role and text."""
    for item in messages.items:
        if isinstance(item, Seq) and len(item.items) == 2 and isinstance(item.items[0], Str):
            speaker, said = item.items
            assert isinstance(speaker, Str)
            texts = [part.text for part in speaker.parts if isinstance(part, Text)]
            if len(texts) == len(speaker.parts) and role_of_speaker("".join(texts)) == "system":
                yield said


def _role(value: Value, expression: ast.expr) -> Role | None:
    """The role an argument names: by its text, or as a member or attribute that is called so."""
    if isinstance(value, Str):
        if all(isinstance(part, Text) for part in value.parts):
            return role_of_speaker("".join(part.text for part in value.parts if isinstance(part, Text)))
        return None
    if isinstance(expression, ast.Attribute | ast.Name):
        name = expression.attr if isinstance(expression, ast.Attribute) else expression.id
        return "system" if _FIXED.fullmatch(name) else None
    return None
