"""The items of a request of OpenAI's Responses API as the messages of a chat.

What a model said, thought and called in one go are items here and one message there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.translate.fields import a_list, a_text, an_object, untranslatable, wrong
from promptcache_gateway.translate.marks import BREAKPOINT, MARK, numbers_of, placed
from promptcache_gateway.translate.places import call_origin
from promptcache_gateway.translate.seals import unsealed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.translate.flavor import Flavor

_TEXTS = ("input_text", "output_text", "text")


def chat_turns(payload: Mapping[str, Any], flavor: Flavor) -> list[dict[str, Any]]:
    """The instructions and the items of a request as a chat's messages.

    Raises:
        ApiError: 400 naming the path of what is malformed or has no counterpart.
    """
    turns: list[dict[str, Any]] = []
    if payload.get("instructions"):
        turns.append({"role": "system", "content": a_text(payload["instructions"], "instructions")})
    items = payload.get("input")
    if isinstance(items, str):
        return [*turns, {"role": "user", "content": items}]
    made = _Turns(flavor)
    for index, item in enumerate(a_list(items, "input")):
        made.add(an_object(item, f"input[{index}]"), f"input[{index}]")
    return [*turns, *made.ended()]


def turn_origins(payload: Mapping[str, Any], flavor: Flavor) -> list[dict[str, str]]:
    """Where each message of the chat comes from."""
    origins: list[dict[str, str]] = [{"": "instructions"}] if payload.get("instructions") else []
    items = payload["input"]
    if isinstance(items, str):
        return [*origins, {"": "input"}]
    before, made = len(origins), _Turns(flavor)
    for index, item in enumerate(items):
        place = f"input[{index}]"
        made.add(item, place)
        while before + len(made.turns) > len(origins):
            origins.append({"": place})
        if origins[before:]:
            origins[-1].update(_fields(item, place, made.turns[-1]))
    return origins


def _fields(item: Mapping[str, Any], place: str, turn: Mapping[str, Any]) -> dict[str, str]:
    """The caller's places of what an item gave its message."""
    kind = item.get("type", "message")
    if kind == "function_call":
        number = len(turn["tool_calls"]) - 1
        return call_origin(number, place, name="name", arguments="arguments", call="call_id")
    if kind == "reasoning":
        return {}
    field = "content" if kind == "message" else "output"
    content = item.get(field)
    numbers = enumerate(numbers_of(content) if isinstance(content, list) else ())
    fields = {f".content[{part}]": f"{place}.{field}[{number}]" for part, number in numbers}
    own = {".role": f"{place}.role"} if kind == "message" else {".tool_call_id": f"{place}.call_id"}
    return {".content": f"{place}.{field}", **own, **fields}


def thought_in(item: Mapping[str, Any]) -> str:
    """The text of a reasoning item; empty where it is sealed, as another provider's model's is."""
    content = item.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if part.get("type") == "reasoning_text"]
    return "".join(text for text in texts if isinstance(text, str))


class _Turns:
    """Messages that grow by items."""

    def __init__(self, flavor: Flavor) -> None:
        self._flavor = flavor
        self.turns: list[dict[str, Any]] = []
        self._media: list[dict[str, Any]] = []  # what results hold besides text, until all of them have come

    def add(self, item: Mapping[str, Any], path: str) -> None:
        """One more item; raises `ApiError` 400."""
        kind = item.get("type", "message")
        if kind == "function_call_output":
            self._result(item, path)
            return
        self._show()
        if kind == "message":
            self._message(item, path)
        elif kind == "function_call":
            self._own().setdefault("tool_calls", []).append(_call(item, path))
        elif kind == "reasoning":
            self._thought(item)
        else:
            raise untranslatable(path, f"The item {str(kind)[:40]!r}")

    def ended(self) -> list[dict[str, Any]]:
        """All of them."""
        self._show()
        for turn in self.turns:
            if turn["content"] is None and "tool_calls" not in turn:
                turn["content"] = ""  # a thought that nothing came of
        return self.turns

    def _own(self) -> dict[str, Any]:
        """The model's message that goes on, or a new one."""
        if not self.turns or self.turns[-1]["role"] != "assistant":
            self.turns.append({"role": "assistant", "content": None})
        return self.turns[-1]

    def _message(self, item: Mapping[str, Any], path: str) -> None:
        role = item.get("role")
        if role not in ("user", "assistant", "system", "developer"):
            raise wrong(f"{path}.role", "user, assistant, system or developer")
        content = _content(item.get("content"), f"{path}.content")
        last = self.turns[-1] if self.turns else {}
        if role == "assistant" and last.get("role") == role and last["content"] is None:
            last["content"] = content
        elif role == "assistant" and last.get("tool_calls"):  # nothing stands between calls and their results
            last["content"] = [*_parts_of(last["content"]), *_parts_of(content)]
        else:
            self.turns.append({"role": "system" if role == "developer" else role, "content": content})

    def _result(self, item: Mapping[str, Any], path: str) -> None:
        content = _content(item.get("output"), f"{path}.output")
        if not (isinstance(content, str) or self._flavor.shows_tools_media):
            self._media.extend(part for part in content if part["type"] != "text")
            content = [part for part in content if part["type"] == "text"] or ""
        name = a_text(item.get("call_id"), f"{path}.call_id")
        self.turns.append({"role": "tool", "tool_call_id": name, "content": content})

    def _thought(self, item: Mapping[str, Any]) -> None:
        if self._flavor.takes_seals and (blocks := unsealed(item)):
            self._unspoken().setdefault("thinking_blocks", []).extend(blocks)
        elif self._flavor.takes_thoughts and (thought := thought_in(item)):
            last = self.turns[-1] if self.turns else {}
            turn = last if last.get("tool_calls") else self._unspoken()
            turn["reasoning_content"] = turn.get("reasoning_content", "") + thought

    def _unspoken(self) -> dict[str, Any]:
        """The model's message that so far holds thoughts alone, or a new one."""
        last = self.turns[-1] if self.turns else {"content": ""}
        if last["content"] is not None or "tool_calls" in last:
            self.turns.append({"role": "assistant", "content": None})
        return self.turns[-1]

    def _show(self) -> None:
        """What the results of tools hold besides text, as the user's, behind the last of them."""
        if self._media:
            self.turns.append({"role": "user", "content": self._media})
            self._media = []


def _call(item: Mapping[str, Any], path: str) -> dict[str, Any]:
    function = {
        "name": a_text(item.get("name"), f"{path}.name"),
        "arguments": a_text(item.get("arguments"), f"{path}.arguments"),
    }
    return {"id": a_text(item.get("call_id"), f"{path}.call_id"), "type": "function", "function": function}


def _parts_of(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _content(content: object, path: str) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    return [_part(part, at) for part, at in placed(content, path)]


def _part(part: Mapping[str, Any], path: str) -> dict[str, Any]:
    kind = part.get("type")
    if kind in _TEXTS:
        made: dict[str, Any] = {"type": "text", "text": a_text(part.get("text"), f"{path}.text")}
    elif kind == "refusal":
        made = {"type": "text", "text": a_text(part.get("refusal"), f"{path}.refusal")}
    elif kind == "input_image" and isinstance(part.get("image_url"), str):
        image = {"url": part["image_url"]}
        if part.get("detail"):
            image["detail"] = part["detail"]
        made = {"type": "image_url", "image_url": image}
    elif kind == "input_file" and isinstance(part.get("file_data"), str):
        named = {"filename": part["filename"]} if part.get("filename") else {}
        made = {"type": "file", "file": {**named, "file_data": part["file_data"]}}
    elif kind == "input_audio" and isinstance(part.get(kind), dict):
        made = {"type": kind, kind: part[kind]}
    else:
        raise untranslatable(path, f"The part {str(kind)[:40]!r}")
    made.update({mark: part[mark] for mark in (BREAKPOINT, MARK) if part.get(mark) is not None})
    return made
