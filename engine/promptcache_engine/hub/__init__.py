"""Where model files come from: a name or a path in, a verified file on this machine out."""

from promptcache_engine.hub.catalogue import PACKAGED_MODELS, PackagedModel
from promptcache_engine.hub.errors import ModelUnavailableError
from promptcache_engine.hub.resolve import check_model_name, model_cache_dir, resolve_model

__all__ = [
    "PACKAGED_MODELS",
    "ModelUnavailableError",
    "PackagedModel",
    "check_model_name",
    "model_cache_dir",
    "resolve_model",
]
