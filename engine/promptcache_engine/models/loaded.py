"""A model with all that belongs to it: weights, tokenizer, chat template and numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from promptcache_engine.models.chat_template import ChatTemplate
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.decoder import DecoderModel
from promptcache_engine.models.errors import ChatTemplateMissingError
from promptcache_engine.tokenizer.base import Tokenizer


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """What an engine needs of a model.

    ``chat_template`` is None where the file has none. ``special_tokens`` are the texts that templates know by
    name, such as ``bos_token``.
    """

    model: DecoderModel
    tokenizer: Tokenizer
    chat_template: ChatTemplate | None
    config: ModelConfig
    special_tokens: Mapping[str, str] = field(default_factory=dict)

    def compile_chat_template(self, source: str) -> ChatTemplate:
        """Compile another template for this model's tokens; raise ChatTemplateError where it cannot be."""
        return ChatTemplate(source, tokens=self.special_tokens)

    def require_chat_template(self) -> ChatTemplate:
        """Return the chat template; raise ChatTemplateMissingError where the model has none."""
        if self.chat_template is None:
            raise ChatTemplateMissingError(self.config.name)
        return self.chat_template
