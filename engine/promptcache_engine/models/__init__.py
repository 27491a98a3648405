"""Models: a file's weights, tokenizer and chat template, and the forward pass over a paged KV pool.

Names are looked up on first use, so that ``promptcache_engine.models.errors`` loads no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptcache_engine.models.batch import ForwardBatch, SequenceSlice
    from promptcache_engine.models.chat_template import ChatTemplate
    from promptcache_engine.models.config import ModelConfig
    from promptcache_engine.models.decoder import DecoderModel
    from promptcache_engine.models.kv_pool import KVPool
    from promptcache_engine.models.loaded import LoadedModel
    from promptcache_engine.models.loading import load_model

_HOMES = {
    "ChatTemplate": "chat_template",
    "DecoderModel": "decoder",
    "ForwardBatch": "batch",
    "KVPool": "kv_pool",
    "LoadedModel": "loaded",
    "ModelConfig": "config",
    "SequenceSlice": "batch",
    "load_model": "loading",
}

__all__ = [
    "ChatTemplate",
    "DecoderModel",
    "ForwardBatch",
    "KVPool",
    "LoadedModel",
    "ModelConfig",
    "SequenceSlice",
    "load_model",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
