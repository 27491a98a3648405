"""``[engine]`` of promptcache.toml: the built-in engine's settings as the gateway passes them on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The built-in engine's settings, passed on as they are; the engine judges their values.

    Attributes:
        model: a name the engine's hub knows, a path, or ``hf:REPO[:FILE]``.
        dtype: ``float32``, ``bfloat16`` or ``float16``.
        kv_dtype: the same for keys and values, ``fp8``, ``int8`` or ``auto``.
        page_size: tokens a page of the cache holds.
        kv_cache_tokens: tokens the cache holds; None leaves it to the engine.
        eviction_policy: which cached prefix goes first when the cache is full.
        enable_prefix_caching: False computes every prompt from its first token.
        max_batch_tokens: tokens computed in one step; a longer prompt is cut in chunks.
        max_running: sequences computed together.
        max_waiting: requests queued beyond those; one more gets 429.
        max_context: tokens of prompt and answer together; None: what the model was trained for.
        scheduling_policy: ``fewest-missing`` or ``fcfs``.
        preemption: what a sequence that must give way leaves behind: ``keep`` or ``recompute``.
        max_restarts: how often a worker that died is replaced within ten minutes.
        threads: CPU threads; None leaves it to the engine.
        attention_backend: what computes on a GPU: ``auto``, ``triton`` or ``torch``.
        decode_kernel: what computes answers on a CPU: ``auto``, ``native`` or ``torch``.
        cuda_graphs: whether a GPU's decode steps are recorded and replayed: ``auto``, ``on`` or ``off``.
        deterministic: no result depends on batch or chunk size. Slow.
        chat_template: a Jinja file instead of the model's own template.
    """

    model: str = "smollm2-135m-instruct"
    dtype: str = "float32"
    kv_dtype: str = "auto"
    page_size: int = 16
    kv_cache_tokens: int | None = None
    eviction_policy: str = "learned"
    enable_prefix_caching: bool = True
    max_batch_tokens: int = 512
    max_running: int = 16
    max_waiting: int = 256
    max_context: int | None = None
    scheduling_policy: str = "fewest-missing"
    preemption: str = "keep"
    max_restarts: int = 3
    threads: int | None = None
    attention_backend: str = "auto"
    decode_kernel: str = "auto"
    cuda_graphs: str = "auto"
    deterministic: bool = False
    chat_template: Path | None = None


def read_engine(table: Mapping[str, Any]) -> EngineSettings:
    """The settings in ``[engine]``, its keys and types checked; raises `SettingsError` for a missing file."""
    template = table.get("chat_template")
    if template is None:
        return EngineSettings(**table)
    path = Path(template).expanduser()
    if not path.is_file():
        raise SettingsError(
            "engine.chat_template", f"there is no file {path}.", remedy="Name a Jinja file, or leave it out."
        )
    return EngineSettings(**{**table, "chat_template": path})
