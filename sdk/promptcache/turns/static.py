"""The static part of a conversation: tools, system text and context, fixed when the conversation begins.

Tools are kept as the JSON text of what was given, so that a schema keeps its order. Whether the static part
is really static is checked here, with the shared detectors.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from promptcache.canonical import canonical_json
from promptcache.causes import get_cause
from promptcache.detectors import VolatileSpan, find_volatile
from promptcache.errors import ConversationError, PromptCacheWarning, VolatileContentError
from promptcache.turns import given

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


@dataclass(frozen=True, slots=True)
class StaticPart:
    """What stands before every turn; ``tools`` are JSON texts, ``context`` pairs of name and text."""

    system: str = ""
    context: tuple[tuple[str, str], ...] = ()
    tools: tuple[str, ...] = ()

    @classmethod
    def build(
        cls, system: str, context: Mapping[str, Any], tools: Iterable[Any], *, sort: bool
    ) -> StaticPart:
        """Freeze what was given; ``sort`` puts tools in order of their names, context always is."""
        written = [tool_text(tool, index) for index, tool in enumerate(given.each(tools, "tools"))]
        if sort:
            written.sort(key=lambda text: (tool_name(json.loads(text)), text))
        named = given.mapping(context, "context")
        pairs = ((name, _text(named[name], f"context.{name}")) for name in sorted(named))
        return cls(given.text(system, "The system prompt"), tuple(pairs), tuple(written))

    @property
    def text(self) -> str:
        """System text and context as one text; each context stands in tags of its name."""
        parts = [self.system, *(f"<{name}>\n{text}\n</{name}>" for name, text in self.context)]
        return "\n\n".join(part for part in parts if part)

    @property
    def digest(self) -> str:
        """A hash of the static part: 32 hex digits, the same in every process."""
        written = canonical_json([list(self.tools), self.system, [list(pair) for pair in self.context]])
        return blake2b(written, digest_size=16).hexdigest()

    def tool_values(self) -> list[dict[str, Any]]:
        """Return fresh copies of the tools, as they were given."""
        return [json.loads(text) for text in self.tools]

    def texts(self) -> list[tuple[str, str]]:
        """Return every text of the static part with words that say where it stands."""
        named = [(f"the context {name!r}", text) for name, text in self.context]
        tools = [(f"the tool {tool_name(json.loads(text))!r}", text) for text in self.tools]
        return [("the system prompt", self.system), *named, *tools]


def check_static(
    texts: Iterable[tuple[str, str]], *, known: Collection[str], strict: bool, stacklevel: int
) -> None:
    """Warn about values in static text that will change, or raise `VolatileContentError` when ``strict``.

    ``texts`` are pairs of a place and its text; values in ``known`` are declared not to change. A date counts
    only where the words around call it the current one.
    """
    for where, text in texts:
        for span in find_volatile(text):
            if span.text in known or (span.code == "PC109" and not span.labelled):
                continue
            _report(span, where, strict=strict, stacklevel=stacklevel + 1)


def tool_name(tool: Mapping[str, Any]) -> str:
    """Return a tool's name in any dialect; a tool of the provider's own may have only a type."""
    function = tool.get("function")
    source = function if isinstance(function, Mapping) else tool
    return str(source.get("name") or tool.get("type") or "")


def _report(span: VolatileSpan, where: str, *, strict: bool, stacklevel: int) -> None:
    remedy = get_cause(span.code).remedy
    if strict:
        raise VolatileContentError(span.code, where, span.text, remedy=remedy)
    message = (
        f"{where} holds {span.text!r}, which will change and take everything behind it out of the cache."
    )
    warnings.warn(PromptCacheWarning(message, code=span.code, remedy=remedy), stacklevel=stacklevel + 1)


def tool_text(tool: Any, index: int) -> str:
    """Return the JSON text of a tool's definition, in the order of its keys.

    Raises `ConversationError` that names it by ``index`` when it is no plain data.
    """
    if callable(getattr(tool, "model_dump", None)):
        tool = tool.model_dump(exclude_none=True)
    if not isinstance(tool, Mapping):
        raise ConversationError(
            f"tools[{index}] is a {type(tool).__name__}.",
            remedy="Give each tool as the dict its provider documents.",
        )
    return given.json_text(dict(tool), f"tools[{index}]")


def _text(value: Any, where: str) -> str:
    return given.text(value, where) if isinstance(value, str) else given.canonical(value, where)
