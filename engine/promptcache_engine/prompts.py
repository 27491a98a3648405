"""From messages or a text to a prompt's token ids, by the model's own template and tokenizer.

What may be in a message is the template's business; which ids an earlier answer left, ``continuation``'s.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from promptcache_engine.continuation import encode_after
from promptcache_engine.models import ChatTemplate, LoadedModel
from promptcache_engine.tokenizer import Tokenizer


class PromptWriter:
    """Writes one model's prompts.

    Args:
        loaded: the model.
        template: the chat template to use; None: the model's own.
    """

    def __init__(self, loaded: LoadedModel, template: ChatTemplate | None) -> None:
        self._loaded = loaded
        self._template = template

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer."""
        return self._loaded.tokenizer

    @property
    def template_source(self) -> str | None:
        """The chat template's text; None where there is none."""
        template = self._template or self._loaded.chat_template
        return None if template is None else template.source

    def render_chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        **names: Any,
    ) -> str:
        """Write a conversation as the prompt the model was trained on, up to the start of its answer.

        ``names`` are further ones that the template may know.

        Raises:
            ChatTemplateError: the model has no template, or the template refuses the messages.
        """
        template = self._template or self._loaded.require_chat_template()
        return template.render(messages, tools, **names)

    def encode_chat(self, text: str, known: Sequence[int] = ()) -> list[int]:
        """Encode a rendered conversation, on the ``known`` ids of its beginning as far as they agree."""
        return encode_after(self.tokenizer, text, known) if known else self.tokenizer.encode(text)

    def encode_prompt(self, text: str) -> list[int]:
        """Encode a plain prompt, with the token that begins a text where the model wants one."""
        tokens = self.tokenizer.encode(text)
        bos = self.tokenizer.bos_token_id
        if self.tokenizer.adds_bos and bos is not None and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        return tokens

    def control_token(self, text: str) -> int | None:
        """The id of the control token written ``text``; None where the model has none."""
        ids = self.tokenizer.encode(text)
        return ids[0] if len(ids) == 1 and not self.tokenizer.token_bytes(ids[0]) else None

    def write(self, ids: Sequence[int]) -> str:
        """The text of ids, control tokens by name; bytes that are no UTF-8 become U+FFFD."""
        read, name = self.tokenizer.token_bytes, self.tokenizer.token_text
        return b"".join(read(token) or name(token).encode() for token in ids).decode("utf-8", "replace")
