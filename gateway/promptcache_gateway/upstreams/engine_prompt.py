"""A call's prompt as token ids: messages with their tools by the chat template, or a completion's text;
and what the answer is to hold of it.

The engine is known by what it offers for writing prompts; its errors pass through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from promptcache_gateway.upstreams.parameter_values import wrong
from promptcache_gateway.upstreams.parameters import prompt_field
from promptcache_gateway.upstreams.pieces import Wishes
from promptcache_gateway.upstreams.prompts import read_messages, read_prompt
from promptcache_gateway.upstreams.tool_formats import format_of
from promptcache_gateway.upstreams.tool_messages import with_tools_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptcache_gateway.exchange import Call
    from promptcache_gateway.upstreams.parameters import Parameters

_RESERVED = frozenset({"messages", "tools", "documents", "add_generation_prompt"})


class Writer(Protocol):
    """What the engine offers."""

    @property
    def template_source(self) -> str | None:
        """The chat template's text, where there is one."""
        ...

    def render_chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        **names: Any,
    ) -> str:
        """Messages as the model's text."""
        ...

    def encode_chat(self, text: str, known: Sequence[int] = ()) -> list[int]:
        """A rendered conversation's ids."""
        ...

    def encode_prompt(self, text: str) -> list[int]:
        """A plain prompt's ids."""
        ...

    def write(self, tokens: list[int]) -> str:
        """Ids as text."""
        ...


def prompt_tokens(
    writer: Writer, call: Call, parameters: Parameters, check_length: Callable[[str], None]
) -> list[int]:
    """The prompt's token ids.

    Raises:
        ApiError: 400 naming what is wrong with the messages or the prompt.
    """
    if prompt_field(call) == "prompt":
        prompt = read_prompt(call.payload)
        if not isinstance(prompt, str):
            return prompt
        check_length(prompt)
        return writer.encode_prompt(prompt)
    text = chat_text(writer, call.payload, parameters)
    check_length(text)
    return writer.encode_chat(text, parameters.known_prompt)


def wishes_of(writer: Writer, call: Call, parameters: Parameters, tokens: list[int]) -> Wishes:
    """What the answer holds beside the text; ``tokens`` are the prompt's."""
    echo = ""
    if parameters.echo:
        prompt = read_prompt(call.payload)
        echo = prompt if isinstance(prompt, str) else writer.write(prompt)
    return Wishes(
        usage=parameters.include_usage,
        logprobs=parameters.sampling["logprobs"] is not None,
        prompt_token_ids=tuple(tokens) if parameters.return_token_ids else None,
        echo=echo,
    )


def chat_text(writer: Writer, payload: Mapping[str, Any], parameters: Parameters) -> str:
    """A chat's messages and tools as the model's text; raises `ApiError` as ``prompt_tokens``."""
    messages = read_messages(payload)
    for name in parameters.template_kwargs:
        if name in _RESERVED or not name.isidentifier():
            raise wrong(f"chat_template_kwargs.{name[:40]}", "a name that the request does not set otherwise")
    source = writer.template_source
    tools = list(parameters.tools.definitions) or None
    if source is not None and not format_of(source).in_template:
        messages, tools = with_tools_in_words(messages, tools or ()), None
    return writer.render_chat(messages, tools, **parameters.template_kwargs)
