"""What an answer must look like to be replayed: said at once, where it does not, and with the place.

An answer that is kept is sent with every later request, so one that a provider would refuse spoils them all.
Each dialect's check looks at what `promptcache.turns.entries` reads and at what providers insist on: known
kinds, identified calls, and something said. Where answers come from is `promptcache.turns.replay`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from promptcache.errors import ReplayError

_REMEDY: Final = "Give the SDK's response object, its message, a dict of either, or text."
_EMPTY: Final = "Providers refuse an empty answer when it is sent back; ask again."
_ANTHROPIC: Final = frozenset(
    {
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "container_upload",
        "compaction",
        "image",
        "document",
    }
)
_OPENAI_PARTS: Final = frozenset({"text", "output_text", "refusal", "reference", "image_url", "input_audio"})
_OUTPUT: Final = frozenset(
    {"message", "reasoning", "compaction", "item_reference", "mcp_list_tools", "mcp_approval_request"}
)


def is_block(kind: object) -> bool:
    """Tell whether ``kind`` is the type of a block in an answer of Anthropic's."""
    known = isinstance(kind, str) and kind.endswith(("_tool_use", "_tool_result"))
    return known or (isinstance(kind, str) and kind in _ANTHROPIC)


def is_item(kind: object) -> bool:
    """Tell whether ``kind`` is the type of an item in the output of OpenAI Responses."""
    return isinstance(kind, str) and (kind in _OUTPUT or kind.endswith(("_call", "_call_output")))


def require_wellformed(dialect: str, value: Any) -> None:
    """Raise `ReplayError` when ``value`` is no answer in ``dialect`` that could be sent back."""
    if dialect == "openai":
        _message(value)
    elif dialect == "responses":
        _items(value)
    elif dialect == "gemini":
        _parts(value)
    elif isinstance(value, str) and dialect in {"text", "anthropic"}:
        _said(value.strip())
    elif dialect == "anthropic":
        _blocks(value)
    else:
        _fail("dialect", f"is {dialect!r}")


# --- OpenAI chat -----------------------------------------------------------------------------------------


def _message(message: Any) -> None:
    _object(message, "message")
    _assistant(message, "message")
    calls = message.get("tool_calls", [])
    for index, call in enumerate(_list(calls, "tool_calls")):
        _call(call, f"tool_calls[{index}]")
    content = message.get("content")
    said = _content(content, "content", _OPENAI_PARTS)
    others = any(message.get(name) for name in ("refusal", "audio", "function_call"))
    _said(calls or said or others)


def _call(call: Any, where: str) -> None:
    _object(call, where)
    _text(call, "id", where)
    if call.get("type") == "custom":
        custom = _object(call.get("custom"), f"{where}.custom")
        _text(custom, "name", f"{where}.custom")
        _text(custom, "input", f"{where}.custom", empty=True)
        return
    function = _object(call.get("function"), f"{where}.function")
    _text(function, "name", f"{where}.function")
    if not isinstance(function.get("arguments"), str):
        raise ReplayError(
            f"A tool call's arguments are not the string the model wrote ({where}).",
            remedy="Keep the arguments unparsed; writing them again changes the tokens.",
        )


# --- OpenAI Responses ------------------------------------------------------------------------------------


def _items(items: Any) -> None:
    said = False
    for index, item in enumerate(_list(items, "output")):
        where = f"output[{index}]"
        _object(item, where)
        kind = item.get("type", "message")
        if not is_item(kind):
            _fail(where, f"is of the unknown type {kind!r}")
        if kind == "message":
            _assistant(item, where)
            said = _content(item.get("content"), f"{where}.content", None) or said
        elif kind in {"function_call", "custom_tool_call"}:
            _text(item, "call_id", where)
            _text(item, "name", where)
            _text(item, "arguments" if kind == "function_call" else "input", where, empty=True)
        said = said or kind not in {"message", "reasoning"}
    _said(said)


# --- Anthropic, Gemini -----------------------------------------------------------------------------------


def _blocks(blocks: Any) -> None:
    said = False
    for index, block in enumerate(_list(blocks, "content")):
        where = f"content[{index}]"
        _object(block, where)
        kind = block.get("type")
        if not is_block(kind):
            _fail(where, f"is of the unknown type {kind!r}")
        if kind == "text":
            _text(block, "text", where, empty=True)
        elif kind == "thinking":
            _text(block, "thinking", where, empty=True)
        elif kind == "tool_use":
            _text(block, "id", where)
            _text(block, "name", where)
            _object(block.get("input"), f"{where}.input")
        said = said or (kind not in {"text", "thinking", "redacted_thinking"} or _has_words(block, "text"))
    _said(said)


def _parts(parts: Any) -> None:
    said = False
    for index, part in enumerate(_list(parts, "parts")):
        where = f"parts[{index}]"
        _object(part, where)
        if "text" in part:
            _text(part, "text", where, empty=True)
            said = said or (not part.get("thought") and _has_words(part, "text"))
            continue
        if "functionCall" in part:
            call = _object(part["functionCall"], f"{where}.functionCall")
            _text(call, "name", f"{where}.functionCall")
            if call.get("args") is not None:
                _object(call["args"], f"{where}.functionCall.args")
        said = said or bool(part.keys() - {"thought", "thoughtSignature"})
    _said(said)


# --- what they share -------------------------------------------------------------------------------------


def _content(content: Any, where: str, known: frozenset[str] | None) -> bool:
    """Check a message's content, text or parts, and tell whether it says anything."""
    if content is None:
        return False
    if isinstance(content, str):
        return bool(content.strip())
    said = False
    for index, part in enumerate(_list(content, where)):
        _object(part, f"{where}[{index}]")
        kind = part.get("type")
        if not isinstance(kind, str) or (known is not None and kind not in known):
            _fail(f"{where}[{index}]", f"is of the unknown type {kind!r}")
        if kind in {"text", "output_text"}:
            _text(part, "text", f"{where}[{index}]", empty=True)
        said = said or kind not in {"text", "output_text"} or _has_words(part, "text")
    return said


def _assistant(value: Mapping[str, Any], where: str) -> None:
    role = value.get("role", "assistant")
    if role != "assistant":
        _fail(f"{where}.role", f"is {role!r}, not 'assistant'")


def _has_words(value: Mapping[str, Any], name: str) -> bool:
    return bool(str(value.get(name) or "").strip())


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        _fail(where, f"is {_named(value)}, not an object")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        _fail(where, f"is {_named(value)}, not a list")
    return value


def _text(value: Mapping[str, Any], name: str, where: str, *, empty: bool = False) -> None:
    text = value.get(name)
    if not isinstance(text, str) or not (text or empty):
        _fail(f"{where}.{name}", "is empty" if text == "" else f"is {_named(text)}, not text")


def _named(value: Any) -> str:
    return "missing" if value is None else f"a {type(value).__name__}"


def _said(said: object) -> None:
    if not said:
        raise ReplayError("The answer is empty: it holds neither words nor a call.", remedy=_EMPTY)


def _fail(where: str, problem: str) -> NoReturn:
    raise ReplayError(f"The answer's {where} {problem}.", remedy=_REMEDY)
