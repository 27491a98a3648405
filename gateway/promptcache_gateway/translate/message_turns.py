"""The messages of Anthropic's Messages API as those of a chat.

Each stays where it stood, and so do the marks on its parts, so that a prefix that was stable stays stable.
Results of tools become messages of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.exact_json import dumps
from promptcache_gateway.translate.fields import a_list, a_text, an_object, untranslatable, wrong
from promptcache_gateway.translate.marks import mark_of, marked, numbers_of, placed
from promptcache_gateway.translate.places import call_origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.translate.flavor import Flavor
    from promptcache_gateway.translate.places import Origin


def chat_turns(payload: Mapping[str, Any], flavor: Flavor) -> list[dict[str, Any]]:
    """The system prompt and the messages of a request as a chat's, with Anthropic's marks.

    Raises:
        ApiError: 400 naming the path of what is malformed or has no counterpart.
    """
    turns: list[dict[str, Any]] = []
    if payload.get("system"):
        turns.append({"role": "system", "content": _system(payload["system"])})
    for index, item in enumerate(a_list(payload.get("messages"), "messages")):
        for turn in _turns(an_object(item, f"messages[{index}]"), f"messages[{index}]", flavor):
            turns.insert(_place(turn, turns), turn)
    return turns


def _place(turn: Mapping[str, Any], turns: list[dict[str, Any]]) -> int:
    """Where a message belongs: at the end, but for results, which stand right behind their calls."""
    at = len(turns)
    if turn["role"] == "tool":
        while at and turns[at - 1]["role"] not in ("assistant", "tool"):
            at -= 1
    return at or len(turns)


def turn_origins(payload: Mapping[str, Any], flavor: Flavor) -> list[Origin]:
    """Where each message of the chat comes from, as Anthropic's refusals say it: ``messages.2.content.0``."""
    origins: list[Origin] = [{"": "system"}] if payload.get("system") else []
    turns: list[dict[str, Any]] = [{"role": "system"} for _ in origins]
    for index, message in enumerate(payload["messages"]):
        place, content = f"messages.{index}", message["content"]
        blocks = content if isinstance(content, list) else []
        at = {kind: _places(blocks, kind, f"{place}.content") for kind in ("tool_use", "tool_result")}
        results = iter(at["tool_result"])
        for turn in _turns(message, place, flavor):
            where = _place(turn, turns)
            turns.insert(where, turn)
            if turn["role"] == "tool":
                result = next(results)
                fields = {".tool_call_id": f"{result}.tool_use_id", ".content": f"{result}.content"}
                origins.insert(where, {"": result, **fields})
                continue
            origin = {"": place, ".role": f"{place}.role", ".content": f"{place}.content"}
            if not any(at.values()):  # else its parts are counted otherwise
                numbers = enumerate(numbers_of(blocks))
                origin |= {f".content[{part}]": f"{place}.content.{number}" for part, number in numbers}
            for number, call in enumerate(at["tool_use"]):
                origin |= call_origin(number, call, name="name", arguments="input", call="id")
            origins.append(origin)
    return origins


def _places(blocks: list[dict[str, Any]], kind: str, path: str) -> list[str]:
    return [f"{path}.{index}" for index, block in enumerate(blocks) if block.get("type") == kind]


def _turns(message: Mapping[str, Any], path: str, flavor: Flavor) -> list[dict[str, Any]]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        raise wrong(f"{path}.role", "user, assistant or system")
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    blocks = placed(content, f"{path}.content")
    return [_assistant(blocks)] if role == "assistant" else _user(role, blocks, flavor)


def _system(system: object) -> str | list[dict[str, Any]]:
    if isinstance(system, str):
        return system
    return [
        marked({"type": "text", "text": a_text(block.get("text"), f"{at}.text")}, mark_of(block))
        for block, at in placed(system, "system")
    ]


def _user(role: str, blocks: list[tuple[dict[str, Any], str]], flavor: Flavor) -> list[dict[str, Any]]:
    """Results of tools each as a message of its own, right behind their calls, then what the user says."""
    results: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for block, at in blocks:
        if block.get("type") == "tool_result":
            text, media = _result(block, at, flavor)
            name = a_text(block.get("tool_use_id"), f"{at}.tool_use_id")
            results.append({"role": "tool", "tool_call_id": name, "content": text})
            parts.extend(media)
        else:
            parts.append(_part(block, at))
    return [*results, {"role": role, "content": parts}] if parts or not results else results


def _result(block: Mapping[str, Any], path: str, flavor: Flavor) -> tuple[Any, list[dict[str, Any]]]:
    """The text of a tool's result, and what of it only a user's message can hold."""
    content, mark = block.get("content"), mark_of(block)
    if content is None or isinstance(content, str):
        text = content or ""
        if mark is None or not flavor.keeps_marks:
            return text, []
        return [marked({"type": "text", "text": text}, mark)], []
    parts = [_part(part, at) for part, at in placed(content, f"{path}.content")]
    texts = [part for part in parts if part["type"] == "text"]
    media = [part for part in parts if part["type"] != "text"]
    for kind in (texts, media):  # the end of the result, as far as it is a message of its own
        if kind:
            kind[-1] = marked(kind[-1], mark)
            break
    return texts or "", media


def _part(block: Mapping[str, Any], path: str) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "text":
        part: dict[str, Any] = {"type": "text", "text": a_text(block.get("text"), f"{path}.text")}
    elif kind == "image":
        part = {"type": "image_url", "image_url": {"url": _url(block, path)}}
    elif kind == "document":
        part = _document(block, path)
    else:
        raise untranslatable(path, f"The block {str(kind)[:40]!r}")
    return marked(part, mark_of(block))


def _url(block: Mapping[str, Any], path: str) -> str:
    source = an_object(block.get("source"), f"{path}.source")
    if source.get("type") == "url":
        return a_text(source.get("url"), f"{path}.source.url")
    if source.get("type") == "base64":
        media = a_text(source.get("media_type"), f"{path}.source.media_type")
        return f"data:{media};base64,{a_text(source.get('data'), f'{path}.source.data')}"
    raise untranslatable(f"{path}.source", f"A source of type {str(source.get('type'))[:40]!r}")


def _document(block: Mapping[str, Any], path: str) -> dict[str, Any]:
    source = an_object(block.get("source"), f"{path}.source")
    if source.get("type") == "text":
        return {"type": "text", "text": a_text(source.get("data"), f"{path}.source.data")}
    if source.get("type") != "base64":
        raise untranslatable(f"{path}.source", f"A document of type {str(source.get('type'))[:40]!r}")
    name = block.get("title") or "document.pdf"
    return {"type": "file", "file": {"filename": name, "file_data": _url(block, path)}}


def _assistant(blocks: list[tuple[dict[str, Any], str]]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[str] = []
    for block, at in blocks:
        kind = block.get("type")
        if kind == "tool_use":
            calls.append(marked(_call(block, at), mark_of(block)))
        elif kind == "thinking":
            if not block.get("signature"):  # ours, made from the upstream's own reasoning
                thoughts.append(a_text(block.get("thinking"), f"{at}.thinking"))
        elif kind != "redacted_thinking":
            parts.append(_part(block, at))
    message: dict[str, Any] = {"role": "assistant", "content": parts or None}
    if thoughts:
        message["reasoning_content"] = "".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    elif not parts:
        message["content"] = ""
    return message


def _call(block: Mapping[str, Any], path: str) -> dict[str, Any]:
    arguments = dumps(an_object(block.get("input"), f"{path}.input")).decode()
    function = {"name": a_text(block.get("name"), f"{path}.name"), "arguments": arguments}
    return {"id": a_text(block.get("id"), f"{path}.id"), "type": "function", "function": function}
