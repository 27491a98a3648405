"""How large the pool of KV is: what was asked for, or a share of the memory that is free.

It counts bytes and pages; allocating the tensors is the model's ``KVPool``.
"""

import os
from pathlib import Path

import torch

from promptcache_engine.config import EngineConfig
from promptcache_engine.errors import ConfigError

# Without a word from the user: room for this many whole contexts, in at most this share of the free memory.
_CONTEXTS = 4
_SHARE = 0.5
_CGROUP_FILES = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def pool_pages(
    config: EngineConfig, *, context_length: int, bytes_per_token: int, available: int | None
) -> int:
    """Return how many pages the pool gets.

    Args:
        config: asks for a number of tokens, or leaves it open.
        context_length: tokens one request may have.
        bytes_per_token: KV of one token in all layers.
        available: bytes that are free; None when nobody knows.

    Raises:
        ConfigError: the tokens asked for need more memory than is free, or no page would fit.
    """
    room = None if available is None else available // bytes_per_token
    if config.kv_cache_tokens is not None:
        if room is not None and config.kv_cache_tokens > room:
            remedy = f"About {room} tokens fit the free memory ({bytes_per_token} bytes a token)"
            raise ConfigError("kv_cache_tokens", config.kv_cache_tokens, remedy)
        return -(-config.kv_cache_tokens // config.page_size)
    pages = -(-_CONTEXTS * context_length // config.page_size)
    if room is not None:
        pages = min(pages, int(room * _SHARE) // config.page_size)
    if pages < 1:
        remedy = "The free memory does not hold one page: use smaller pages or free memory"
        raise ConfigError("page_size", config.page_size, remedy)
    return pages


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
