"""The native decode step: one C file, compiled at first use, and what Python needs to call it."""

from promptcache_engine.kernels.native.errors import NativeUnavailableError
from promptcache_engine.kernels.native.library import (
    PACKABLE,
    RUN,
    Library,
    PackedMatrix,
    PackedRows,
    load_library,
)

__all__ = [
    "PACKABLE",
    "RUN",
    "Library",
    "NativeUnavailableError",
    "PackedMatrix",
    "PackedRows",
    "load_library",
]
