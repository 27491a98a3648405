"""Which files and functions are worth running: those in which a prompt or a volatile value may occur.

Looks at text only, so that a large tree costs little. A function that is left out counts as unknown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript import declared
from promptcache_lint.readers.typescript.module import Closure, Import
from promptcache_lint.readers.typescript.querying import asks_for_rows
from promptcache_lint.readers.typescript.signs import source_words
from promptcache_lint.wording import role_of_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine
    from promptcache_lint.readers.typescript.module import Function

__all__ = ["Relevance", "is_shipped", "may_hold_prompt"]

_HINTS = (
    *(
        "prompt",
        "instructions",
        "persona",
        "preamble",
        "systemm",
        "system_m",
        "systeminstruction",
        "system_instruction",
        "system:",
        '"system"',
        "'system'",
    ),
    *("role:", '"role"', "you are ", "generatetext", "streamtext", "generateobject", "generatecontent"),
    *("completions.create", "messages.create", "responses.create", "messages.stream", "conversecommand"),
    *("v1/messages", "chat/completions", "system =", "@langchain/", "@ai-sdk/", "@anthropic-ai/"),
)
_WORD = re.compile(r"\w+")
_ENVIRONMENT = {"env", "pid", "platform", "arch", "version", "__dirname", "url", "dirname", "filename"}
_DATE = {"Date", "Intl", "DateTimeFormat"}
_COMMON = {
    *("uuid", "random", "glob", "sample", "sync", "type", "any", "race", "now", "local", "utc", "unix", "tz"),
    *("release", "resolve", "version", "generate", "instant", "utc", "moment", "machine", "async", "url"),
}
"""Words that are sources when they are called, and otherwise only words."""
_ASIDE = re.compile(
    r"\.d\.[mc]?ts$|\.(?:min|bundle|test|spec|stories|e2e)\.[mc]?[jt]sx?$|(?:^|/)(?:__tests__|__mocks__|__fixtures__)/"
)
_MAKES_TEXT = re.compile(r"`|\.join\(|\+=|=>\s*[\"'(]|return\s+\(?\s*[\"'\[{]")
_SHORT = 500
_DEEPEST = 3
_LONG_LINE = 4000


def may_hold_prompt(text: str, words: Iterable[str] = ()) -> bool:
    """Whether anything in a file hints at prompts; most files of a tree are ruled out here, unparsed.

    ``words``: the last words of calls that a project declares to send one.
    """
    lowered = text.lower()
    return any(hint in lowered for hint in _HINTS) or any(word in text for word in words)


def is_shipped(path: str, text: str) -> bool:
    """Whether a file is source that goes into production: no test, bundle, minified or declaration file."""
    if _ASIDE.search(path) is not None:
        return False
    lines = text.count("\n") + 1
    return not (len(text) > _LONG_LINE and len(text) / lines > 400 and "\n" not in text[:_LONG_LINE])


class Relevance:
    """Remembers, for one program, what is known of its functions."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        words = (source_words() - _COMMON - {""}) | declared.source_words(machine.vocabulary)
        self._sinks = declared.sink_words(machine.vocabulary)
        self._sure = frozenset(words | _DATE | {"env", "pid", "__dirname", "__filename"})
        self._sources: dict[Function, bool] = {}
        self._prompts: dict[Function, bool] = {}

    def holds_prompt(self, function: Function) -> bool:
        """Whether a function should be run by itself: its text or its name has to do with prompts."""
        if function not in self._prompts:
            named = role_of_name(function.name) is not None
            self._prompts[function] = named or may_hold_prompt(function.text, self._sinks)
        return self._prompts[function]

    def worth_calling(self, function: Function, outer: Frame) -> bool:
        """Whether a call may yield something volatile, or a short text: from it, or from what it calls."""
        if len(function.text) <= _SHORT and _MAKES_TEXT.search(function.text) is not None:
            return True
        return self._reaches_source(function, outer, 0)

    def _reaches_source(self, function: Function, outer: Frame, depth: int) -> bool:
        if function in self._sources:
            return self._sources[function]
        if depth > _DEEPEST:
            return False
        self._sources[function] = False
        text = function.text
        words = set(_WORD.findall(text))
        found = bool(words & self._sure) or any(f"{word}(" in text for word in words & _COMMON)
        found = found or asks_for_rows(text) or "Promise.all(" in text
        if not found:
            found = any(
                self._reaches_source(called.function, called.frame, depth + 1)
                for called in self._called(function, outer, words)
            )
        self._sources[function] = found
        return found

    def _called(self, function: Function, outer: Frame, words: set[str]) -> list[Closure]:
        """What a function may call, by the names in its text."""
        found = []
        if function.owner is not None:
            owner = function.owner
            found += [Closure(owner.methods[name], owner.frame) for name in words & owner.methods.keys()]
        imports = function.module.imports
        for name in words:
            if name == function.name:
                continue
            value = outer.find(name)
            if value is None and isinstance(imports.get(name), Import) and f"{name}(" in function.text:
                value = self._machine.imported(function.module, name)
            target = getattr(value, "target", None)
            if isinstance(target, Closure):
                found.append(target)
        return found
