"""The engine: token ids in, token ids out, with the KV of shared prefixes kept and reused.

Importing this package loads no torch; ``Engine`` loads it when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_engine.cache import Hints
    from promptcache_engine.config import EngineConfig, SamplingParams
    from promptcache_engine.engine import Engine
    from promptcache_engine.errors import (
        ConfigError,
        ContextLengthError,
        DeadEndError,
        DeadlineError,
        EmptyPromptError,
        EngineError,
        EngineStoppedError,
        GenerationError,
        GrammarError,
        InvalidTokenError,
        ModelBrokenError,
        QueueFullError,
    )
    from promptcache_engine.events import (
        Admitted,
        Completion,
        Failed,
        Finished,
        GenerationEvent,
        TokenDelta,
        TokenLogprob,
    )
    from promptcache_engine.generation import Generation
    from promptcache_engine.grammars import Grammar
    from promptcache_engine.hub import check_model_name
    from promptcache_engine.info import EngineInfo, EngineStats

_HOMES = {
    "cache": ("Hints",),
    "config": ("EngineConfig", "SamplingParams"),
    "engine": ("Engine",),
    "errors": (
        "ConfigError",
        "ContextLengthError",
        "DeadEndError",
        "DeadlineError",
        "EmptyPromptError",
        "EngineError",
        "EngineStoppedError",
        "GenerationError",
        "GrammarError",
        "InvalidTokenError",
        "ModelBrokenError",
        "QueueFullError",
    ),
    "events": (
        "Admitted",
        "Completion",
        "Failed",
        "Finished",
        "GenerationEvent",
        "TokenDelta",
        "TokenLogprob",
    ),
    "generation": ("Generation",),
    "grammars": ("Grammar",),
    "hub": ("check_model_name",),
    "info": ("EngineInfo", "EngineStats"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Admitted",
    "Completion",
    "ConfigError",
    "ContextLengthError",
    "DeadEndError",
    "DeadlineError",
    "EmptyPromptError",
    "Engine",
    "EngineConfig",
    "EngineError",
    "EngineInfo",
    "EngineStats",
    "EngineStoppedError",
    "Failed",
    "Finished",
    "Generation",
    "GenerationError",
    "GenerationEvent",
    "Grammar",
    "GrammarError",
    "Hints",
    "InvalidTokenError",
    "ModelBrokenError",
    "QueueFullError",
    "SamplingParams",
    "TokenDelta",
    "TokenLogprob",
    "check_model_name",
]


def __getattr__(name: str) -> object:
    """Load a public name's module when the name is first used."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
