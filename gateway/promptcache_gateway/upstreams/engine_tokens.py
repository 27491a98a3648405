"""``/tokenize`` and ``/detokenize`` in vLLM's shapes: what a text or a chat is in the model's own tokens.

Nothing is computed by the model and nothing cached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from promptcache_gateway.errors import invalid_request
from promptcache_gateway.upstreams.engine_prompt import Writer, chat_text
from promptcache_gateway.upstreams.parameter_values import flag, mapping, token_ids, wrong
from promptcache_gateway.upstreams.parameters import Parameters
from promptcache_gateway.upstreams.tools import read_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_TEXT_FIELDS = ("model", "prompt", "add_special_tokens", "return_token_strs")
_CHAT_FIELDS = (
    *("model", "messages", "tools", "tool_choice", "chat_template_kwargs", "return_token_strs"),
    *("add_generation_prompt", "add_special_tokens"),
)


class Speller(Writer, Protocol):
    """What the engine offers for this."""

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        ...

    def write(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        ...


def tokenized(writer: Speller, payload: Mapping[str, Any], max_model_len: int) -> dict[str, Any]:
    """``{count, max_model_len, tokens, token_strs}`` of a ``prompt`` or of ``messages``.

    Raises:
        ApiError: 400 naming what is wrong.
    """
    tokens = _chat(writer, payload) if payload.get("messages") is not None else _prompt(writer, payload)
    named = flag(payload, "return_token_strs")
    return {
        "count": len(tokens),
        "max_model_len": max_model_len,
        "tokens": tokens,
        "token_strs": [writer.tokenizer.token_text(token) for token in tokens] if named else None,
    }


def detokenized(writer: Speller, payload: Mapping[str, Any]) -> dict[str, Any]:
    """``{prompt}``: the text of ``tokens``; raises `ApiError` 400 for ids the model does not have."""
    _only(payload, ("model", "tokens"))
    if payload.get("tokens") is None:
        raise invalid_request("Missing required parameter: 'tokens'.", "tokens", "missing_required_parameter")
    ids = token_ids(payload, "tokens")
    size = writer.tokenizer.vocab_size
    for index, token in enumerate(ids):
        if token >= size:
            raise wrong(f"tokens[{index}]", f"a token id below {size}")
    return {"prompt": writer.write(ids)}


def _prompt(writer: Speller, payload: Mapping[str, Any]) -> list[int]:
    _only(payload, _TEXT_FIELDS)
    prompt = payload.get("prompt")
    if not isinstance(prompt, str):
        raise wrong("prompt", "a string, or 'messages' in its place")
    if flag(payload, "add_special_tokens", default=True):
        return writer.encode_prompt(prompt)
    return writer.encode_chat(prompt)


def _chat(writer: Speller, payload: Mapping[str, Any]) -> list[int]:
    _only(payload, _CHAT_FIELDS)
    if flag(payload, "add_special_tokens"):
        raise wrong("add_special_tokens", "false: the chat template writes them")
    if not flag(payload, "add_generation_prompt", default=True):
        raise wrong("add_generation_prompt", "true: a chat's prompt ends where the answer begins")
    parameters = Parameters(
        sampling={},
        tools=read_tools(payload),
        template_kwargs=mapping(payload, "chat_template_kwargs"),
    )
    return writer.encode_chat(chat_text(writer, payload, parameters))


def _only(payload: Mapping[str, Any], known: Iterable[str]) -> None:
    for name, value in payload.items():
        if name not in known and value is not None:
            raise invalid_request(f"Unknown parameter: {name[:80]!r}.", name[:80], "unknown_parameter")
