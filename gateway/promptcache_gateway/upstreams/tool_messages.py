"""Tools and calls written into plain messages, for chat templates that know neither.

The wording follows what SmolLM2 was taught: tools in the system message, calls as a JSON list between tags.
Models whose template knows tools never see it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from promptcache_gateway.upstreams.tool_formats import SMOLLM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_INTRODUCTION = "You may call functions. Each line between the tags describes one as JSON."
_INSTRUCTION = (
    "To call functions, answer with nothing but a JSON list between tags:\n"
    f'{SMOLLM.begin}[{{"name": "function", "{SMOLLM.arguments}": {{"parameter": "value"}}}}]{SMOLLM.end}\n'
    "If no function helps, answer in plain words."
)


def with_tools_in_words(
    messages: Sequence[Mapping[str, Any]], definitions: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The messages with roles system, user and assistant and texts only; the tools come first of all."""
    made = list(_merged(map(_in_words, messages)))
    if not definitions:
        return made
    told = _described(definitions)
    if made and made[0]["role"] == "system":
        return [{"role": "system", "content": f"{told}\n\n{made[0]['content']}"}, *made[1:]]
    return [{"role": "system", "content": told}, *made]


def _described(definitions: Sequence[Mapping[str, Any]]) -> str:
    lines = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in definitions)
    return f"{_INTRODUCTION}\n<tools>\n{lines}\n</tools>\n\n{_INSTRUCTION}"


def _in_words(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if message["role"] == "tool":
        return {"role": "user", "content": f"<tool_response>\n{content}\n</tool_response>"}
    calls = message.get("tool_calls")
    if not calls:
        return {"role": message["role"], "content": content}
    listed = ", ".join(_call(call["function"]) for call in calls)
    return {"role": message["role"], "content": f"{content}{SMOLLM.begin}[{listed}]{SMOLLM.end}"}


def _call(function: Mapping[str, Any]) -> str:
    name = json.dumps(function["name"], ensure_ascii=False)
    return f'{{"name": {name}, "{SMOLLM.arguments}": {function["arguments"].json_text}}}'


def _merged(messages: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Results that follow each other are one message: templates want the roles to alternate."""
    last: dict[str, Any] | None = None
    for message in messages:
        both_results = (
            last is not None
            and message["role"] == last["role"] == "user"
            and message["content"].startswith("<tool_response>")
            and last["content"].startswith("<tool_response>")
        )
        if both_results and last is not None:
            last = {"role": "user", "content": f"{last['content']}\n{message['content']}"}
            continue
        if last is not None:
            yield last
        last = message
    if last is not None:
        yield last
