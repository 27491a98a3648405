"""How a model writes a tool call in its text, recognised by its chat template, and the grammar of that text.

Four forms are known. A template that knows no tools gets them in the system message, and calls are written as
SmolLM2 was taught to. Grammars are in the dialect of Lark that llguidance documents; reading calls back is
left to ``tool_calls``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.upstreams.tools import Tool, ToolUse

# As chat templates' tojson writes calls back, so that a replayed call keeps its tokens.
_SPACING = {"item_separator": ", ", "key_separator": ": ", "whitespace_flexible": False}
_ANYTHING = r"/(.|\n)*/"
_NO_BRACE = r"/([^{](.|\n)*)?/"
_USES_TOOLS = re.compile(r"\btools\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFormat:
    """One way of writing calls: ``begin``, calls as JSON objects, ``end``.

    Attributes:
        name: after who writes so.
        begin: what opens a call, or a list of them; empty where a call begins the answer.
        end: what closes it; empty where the answer's end does.
        inside: white space between those and the call.
        listed: whether the calls stand in one JSON array.
        separator: what stands between two calls.
        arguments: the key of a call's arguments.
        in_template: whether the chat template writes tools and calls itself.
    """

    name: str
    separator: str
    begin: str = ""
    end: str = ""
    inside: str = ""
    listed: bool = False
    arguments: str = "arguments"
    in_template: bool = True


HERMES = ToolFormat(name="hermes", begin="<tool_call>", end="</tool_call>", inside="\n", separator="\n")
MISTRAL = ToolFormat(name="mistral", begin="[TOOL_CALLS]", listed=True, separator=", ")
LLAMA = ToolFormat(name="llama", separator="; ", arguments="parameters")
SMOLLM = ToolFormat(
    name="smollm", begin="<tool_call>", end="</tool_call>", listed=True, separator=", ", in_template=False
)


def format_of(template: str) -> ToolFormat:
    """The form a chat template shows the model, by the marks that stand in it."""
    if not _USES_TOOLS.search(template):
        return SMOLLM
    if MISTRAL.begin in template:
        return MISTRAL
    if "<|python_tag|>" in template or '"parameters": ' in template:
        return LLAMA
    return HERMES


def grammar(
    style: ToolFormat, use: ToolUse, control: Callable[[str], int | None], answer: dict[str, Any] | None
) -> str:
    """The grammar of an answer that may or must hold calls.

    Args:
        style: how calls are written.
        use: which tools, and whether one must be called.
        control: the id of a text that is one control token, or None.
        answer: the schema of an answer without a call; None: any text.
    """
    calls = "calls" if use.mode == "required" else _optional(style, control, answer, parallel=use.parallel)
    one = " | ".join(f"call_{index}" for index in range(len(use.callable)))
    rules = [
        "%llguidance {}",
        f"start: {calls}",
        *_calls(style, control, parallel=use.parallel),
        f"one: {one}",
    ]
    rules += [f"call_{index}: {_call(style, tool)}" for index, tool in enumerate(use.callable)]
    if use.mode != "required" and answer is not None:
        rules.append(f"answer: %json {_schema(answer)}")
    return "\n".join(rules) + "\n"


def _calls(style: ToolFormat, control: Callable[[str], int | None], *, parallel: bool) -> list[str]:
    """The rules of the calls, with what surrounds them; ``lead`` stands where the first may follow a text."""
    more = f"({_quoted(style.separator)} one)*" if parallel else ""
    begin = _mark(style.begin, control)
    inner, close = ('"["', '"]"') if style.listed else ("", "")
    after = f"{_quoted(style.inside)} {inner}"
    before = f"{close} {_quoted(style.inside)} {_mark(style.end, control)}"
    if style.listed or not style.begin:
        return [f"calls: {begin} rest", f"rest: {after} one {more} {before}"]
    again = f"({_quoted(style.separator)} {begin} rest)*" if parallel else ""
    return [f"calls: {begin} rest {again}", f"rest: {after} one {before}"]


def _optional(
    style: ToolFormat,
    control: Callable[[str], int | None],
    answer: dict[str, Any] | None,
    *,
    parallel: bool,
) -> str:
    """The start of a grammar in which the model may call or answer."""
    if answer is not None:
        return "calls | answer"
    if not style.begin:
        return f"calls | text\ntext: {_NO_BRACE}"
    token = control(style.begin)
    if token is not None:
        return f"text | text calls\ntext: TEXT\nTEXT: {_ANYTHING}"
    # Lazy: as soon as the text ends in the mark, a call has begun and is kept to its form.
    several = parallel and not style.listed
    again = f"({_quoted(style.separator)} {_quoted(style.begin)} rest)*" if several else ""
    return f"TEXT | lead rest {again}\nlead[lazy]: TEXT {_quoted(style.begin)}\nTEXT: {_ANYTHING}"


def _call(style: ToolFormat, tool: Tool) -> str:
    head = f'{{"name": {json.dumps(tool.name)}, {json.dumps(style.arguments)}: '
    return f'{_quoted(head)} %json {_schema(tool.schema)} "}}"'


def _schema(schema: dict[str, Any]) -> str:
    own = schema.get("x-guidance")
    spaced = {**schema, "x-guidance": {**(own if isinstance(own, dict) else {}), **_SPACING}}
    return json.dumps(spaced, ensure_ascii=False)


def _mark(text: str, control: Callable[[str], int | None]) -> str:
    token = control(text) if text else None
    return _quoted(text) if token is None else f"<[{token}]>"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if text else ""
