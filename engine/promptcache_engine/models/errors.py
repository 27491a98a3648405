"""What can go wrong between a model's file and its logits; every error carries its data and a remedy.

    EngineError
    └── ModelError
        ├── ModelFileError                  not readable, not GGUF, truncated or inconsistent
        │   └── UnsupportedModelError       a sound file that asks for what this engine does not compute
        ├── TokenizerError                  the file's tokenizer cannot be rebuilt, or an id is not one of its
        ├── ChatTemplateError               the template does not compile, or refuses the conversation
        │   └── ChatTemplateMissingError    the model has no chat template
        └── DeterminismError                this machine's products depend on the number of rows

This module loads nothing heavy, so that the file reader can raise these without torch.
"""

from promptcache_engine.errors import EngineError


class ModelError(EngineError):
    """Root of the errors of models, tokenizers and chat templates."""


class ModelFileError(ModelError):
    """A model file that cannot be used.

    Attributes:
        path: the file.
        where: the metadata key, tensor or byte offset at fault; empty where the whole file is.
    """

    default_remedy = "Download the file again, or choose another model"

    def __init__(self, path: str, problem: str, *, where: str = "", remedy: str = "") -> None:
        place = f" ({where})" if where else ""
        super().__init__(f"{path}: {problem}{place}", remedy or self.default_remedy)
        self.path = path
        self.where = where


class UnsupportedModelError(ModelFileError):
    """A sound file with an architecture, option or tensor type that this engine does not compute."""

    default_remedy = "Choose a model that is served: of Llama, Mistral, Qwen2, Qwen3, Gemma 2 or 3"


class TokenizerError(ModelError):
    """A tokenizer that cannot be rebuilt from the model's file, or a token id outside its vocabulary."""


class ChatTemplateError(ModelError):
    """A chat template that does not compile, or that refuses the messages it is given."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(
            problem, remedy or "Change the messages, or give a template with --chat-template FILE"
        )


class ChatTemplateMissingError(ChatTemplateError):
    """The model has no chat template, so a conversation cannot become a prompt.

    Attributes:
        model: the model's name.
    """

    def __init__(self, model: str) -> None:
        super().__init__(
            f"the model {model} has no chat template, so it cannot answer a list of messages",
            "Give a template with --chat-template FILE, or send a plain prompt to /v1/completions",
        )
        self.model = model


class DeterminismError(ModelError):
    """This machine's matrix products depend on the number of rows, whatever padding is used."""
