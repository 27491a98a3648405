"""The one error of this package."""

from promptcache_engine.errors import EngineError


class ModelUnavailableError(EngineError):
    """A model's file could not be had; the text names the model, what happened and what to do.

    Attributes:
        model: the name or path that was asked for.
    """

    def __init__(self, model: str, problem: str, remedy: str) -> None:
        super().__init__(f"model {model!r}: {problem}", remedy)
        self.model = model
