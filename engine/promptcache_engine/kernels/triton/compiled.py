"""Which programs this process holds: how often each kernel was compiled, or found compiled on disk.

Read from what Triton keeps for each kernel and device. Where it keeps it otherwise nothing is told, as a
report must not hinder the start. Interpreted kernels are not compiled.
"""

from types import ModuleType

from triton.runtime.jit import JITFunction

from promptcache_engine.kernels.triton import (
    decode,
    extend,
    extend_split,
    gates,
    merging,
    norms,
    rotary,
    sampling,
    slots,
)

_MODULES: tuple[ModuleType, ...] = (
    decode, extend, extend_split, merging, rotary, norms, gates, slots, sampling,
)  # fmt: skip


def programs() -> tuple[tuple[str, int], ...]:
    """(kernel, programs) of those that have been launched, on all devices; one program for each form of a
    kernel's arguments and constants."""
    counts = [
        (name.lstrip("_"), _programs_of(kernel))
        for module in _MODULES
        for name, kernel in vars(module).items()
        if isinstance(kernel, JITFunction) and kernel.__module__ == module.__name__
    ]
    return tuple((name, count) for name, count in counts if count)


def _programs_of(kernel: object) -> int:
    """Triton keeps a tuple for each device; its first part holds the programs."""
    caches = getattr(kernel, "device_caches", None)
    parts = caches.values() if isinstance(caches, dict) else ()
    return sum(
        len(part[0]) for part in parts if isinstance(part, tuple) and part and isinstance(part[0], dict)
    )
