"""How large the pool of KV is: what was asked for, or a share of the memory that is free.

It counts bytes and pages; allocating the tensors is the model's ``KVPool``.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import torch

from promptcache_engine.config import EngineConfig
from promptcache_engine.errors import ConfigError
from promptcache_engine.models.config import ModelConfig

# Without a word from the user: room for this many whole contexts, in at most this share of the free memory.
_CONTEXTS = 4
_SHARE = 0.5
# The layers with a window get at least this share of the other layers' pages, to keep ended prompts in.
_WINDOW_SHARE = 0.25
_CGROUP_FILES = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def pool_pages(
    config: EngineConfig, *, context_length: int, model: ModelConfig, slot_bytes: int, available: int | None
) -> int:
    """Return how many pages the pool gets.

    Args:
        config: asks for a number of tokens, or leaves it open.
        context_length: tokens one request may have.
        model: says how much a token's keys and values take, and which layers have windows.
        slot_bytes: of one token's keys in one layer.
        available: bytes that are free; None when nobody knows.

    Raises:
        ConfigError: the tokens asked for need more memory than is free, or no page would fit.
    """

    def fitting(size: int) -> int:
        return _fitting_pages(config, context_length, model, slot_bytes, size)

    if config.kv_cache_tokens is not None:
        pages = -(-config.kv_cache_tokens // config.page_size)
        if available is not None and pages > (most := fitting(available)):
            a_token = 2 * model.num_layers * slot_bytes
            remedy = f"About {most * config.page_size} tokens fit the free memory ({a_token} bytes a token)"
            raise ConfigError("kv_cache_tokens", config.kv_cache_tokens, remedy)
        return pages
    pages = -(-_CONTEXTS * context_length // config.page_size)
    if available is not None:
        pages = min(pages, fitting(int(available * _SHARE)))
    if pages < 1:
        remedy = "The free memory does not hold one page: use smaller pages or free memory"
        raise ConfigError("page_size", config.page_size, remedy)
    return pages


def window_pages(
    config: EngineConfig, *, context_length: int, windows: Sequence[int], num_pages: int
) -> tuple[int, ...]:
    """Return how many pages the layers of each of a model's windows get, beside ``num_pages`` of the others.

    What they need, and a share of the pool so that prefixes can still be reused. Empty where windows save
    nothing: all layers share the pages.
    """
    if not windows or max(windows) >= context_length:
        return ()
    kept = int(num_pages * _WINDOW_SHARE)
    pages = tuple(min(num_pages, max(needed_window_pages(config, window), kept)) for window in windows)
    return pages if min(pages) < num_pages else ()


def needed_window_pages(config: EngineConfig, window: int) -> int:
    """Return the pages with which the layers of a window never run out: for each sequence that may run those
    its window reaches, two that are cut by its ends, one that is copied from and one that is copied into; and
    those of one step's tokens."""
    step = -(-config.max_batch_tokens // config.page_size)
    return config.max_running * (-(-window // config.page_size) + 4) + step


def _fitting_pages(
    config: EngineConfig, context_length: int, model: ModelConfig, slot_bytes: int, size: int
) -> int:
    """The largest pool that takes at most ``size`` bytes, in pages."""
    a_layer = 2 * slot_bytes * config.page_size

    def taken(pages: int) -> int:
        groups = model.layer_groups
        windowed = window_pages(config, context_length=context_length, windows=model.windows, num_pages=pages)
        if not windowed:
            return pages * model.num_layers * a_layer
        own = sum(count * groups.count(window) for window, count in enumerate(windowed))
        return (pages * groups.count(None) + own) * a_layer

    low, high = 0, size // (a_layer * max(1, model.layer_groups.count(None)))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if taken(middle) <= size else (low, middle - 1)
    return low


def available_bytes(device: torch.device) -> int | None:
    """Bytes free on ``device`` now; None when this system does not say."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    found = [size for size in (_meminfo_bytes(), _physical_bytes(), _cgroup_bytes()) if size is not None]
    return min(found, default=None)


def _meminfo_bytes() -> int | None:
    """Linux: memory that can be had without swapping."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _physical_bytes() -> int | None:
    """What is installed: an upper bound where nothing better is known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _cgroup_bytes() -> int | None:
    """What a container may still take; None without a limit."""
    for limit_file, usage_file in _CGROUP_FILES:
        try:
            limit = limit_file.read_text(encoding="ascii").strip()
            usage = usage_file.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if limit.isdigit() and usage.isdigit():
            return max(0, int(limit) - int(usage))
    return None
