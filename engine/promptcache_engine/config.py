"""What an engine and a request are told: frozen values that check themselves.

What the values mean for memory is in ``memory``; what they do is the scheduler's and the sampler's business.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from promptcache_engine.cache import POLICIES
from promptcache_engine.errors import ConfigError
from promptcache_engine.scheduler.waiting import SchedulingPolicy

DTYPES = ("float32", "bfloat16", "float16")
SCHEDULING_POLICIES: tuple[SchedulingPolicy, ...] = ("fewest-missing", "fcfs")
PREEMPTION_MODES = ("keep", "recompute")
MAX_STOP_STRINGS = 16


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """How one engine runs one model.

    Attributes:
        model: a name the hub knows, or the path of a GGUF file.
        dtype: ``float32``, ``bfloat16`` or ``float16``, for weights and KV.
        page_size: tokens a page of KV holds.
        kv_cache_tokens: tokens the pool of KV holds, rounded up to whole pages; None: four contexts, or less
            where memory is short.
        enable_prefix_caching: False computes every prompt from its first token and keeps nothing.
        eviction_policy: which cached prefix goes first when pages run out.
        max_batch_tokens: tokens computed in one step, over all sequences; a longer prompt is cut in chunks.
        max_running: sequences computed together.
        max_waiting: requests queued beyond those; one more is refused.
        scheduling_policy: ``fewest-missing``: prompts of which the cache lacks the fewest tokens come first,
            those that wait gain on them; ``fcfs``: the order of arrival.
        preemption: a sequence that must give way leaves its pages in the cache until others need them
            (``keep``), or frees them at once (``recompute``).
        max_restarts: how often a worker that died is replaced within ten minutes; 0: never.
        max_context: tokens of prompt and answer together; None: what the model was trained for.
        threads: CPU threads for tensor work, for the whole process; None: torch's own choice, at most the
            cores this process may use.
        chat_template: a Jinja template's text, or the path of its file, instead of the model's own.
        deterministic: outputs equal to the bit, whatever was cached and whatever else is computed; slower.
        device: ``auto`` (a GPU where there is one), ``cpu``, or a torch device name.

    Raises:
        ConfigError: a field's value cannot be served; names the field and the remedy.
    """

    model: str = "smollm2-135m-instruct"
    dtype: str = "float32"
    page_size: int = 16
    kv_cache_tokens: int | None = None
    enable_prefix_caching: bool = True
    eviction_policy: str = "lru"
    max_batch_tokens: int = 512
    max_running: int = 16
    max_waiting: int = 256
    scheduling_policy: SchedulingPolicy = "fewest-missing"
    preemption: str = "keep"
    max_restarts: int = 3
    max_context: int | None = None
    threads: int | None = None
    chat_template: str | None = None
    deterministic: bool = False
    device: str = "auto"

    def __post_init__(self) -> None:
        if not self.model:
            raise ConfigError("model", self.model, "Name a model or give the path of a .gguf file")
        if self.eviction_policy not in POLICIES:
            remedy = f"Choose one of {', '.join(sorted(POLICIES))}"
            raise ConfigError("eviction_policy", self.eviction_policy, remedy)
        for field, known in (
            ("dtype", DTYPES),
            ("scheduling_policy", SCHEDULING_POLICIES),
            ("preemption", PREEMPTION_MODES),
        ):
            if getattr(self, field) not in known:
                raise ConfigError(field, getattr(self, field), f"Choose one of {', '.join(known)}")
        if not self.device:
            raise ConfigError("device", self.device, "Use auto, cpu or cuda")
        for field in ("page_size", "max_batch_tokens", "max_running", "max_waiting"):
            _require_count(field, getattr(self, field))
        _require_count("max_restarts", self.max_restarts, least=0)
        for field in ("kv_cache_tokens", "max_context", "threads"):
            if getattr(self, field) is not None:
                _require_count(field, getattr(self, field))
        if self.max_batch_tokens < self.max_running:
            remedy = (
                f"Use at least max_running ({self.max_running}), so that every sequence decodes in every step"
            )
            raise ConfigError("max_batch_tokens", self.max_batch_tokens, remedy)


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """How the tokens of one answer are chosen, and where it ends.

    Attributes:
        temperature: 0 takes the likeliest token; higher values flatten the distribution.
        top_p: keep the likeliest tokens whose probabilities reach this sum, the one that crosses it too.
        top_k: keep that many likeliest tokens; 0 keeps all.
        seed: makes the draws repeatable, alone and in any batch; None draws afresh each time.
        max_tokens: tokens of answer at most; 0 computes the prompt only; None: up to the context's end.
        stop: strings that end the answer and are not part of it.
        ignore_eos: go on after the model's end token.

    Raises:
        ConfigError: a field's value cannot be served; names the field and the remedy.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None
    max_tokens: int | None = None
    stop: Sequence[str] = ()
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        if not (_is_number(self.temperature) and self.temperature >= 0):
            raise ConfigError("temperature", self.temperature, "Use 0 or a positive number")
        if not (_is_number(self.top_p) and 0 < self.top_p <= 1):
            raise ConfigError("top_p", self.top_p, "Use a number above 0 and at most 1")
        _require_count("top_k", self.top_k, least=0)
        if self.max_tokens is not None:
            _require_count("max_tokens", self.max_tokens, least=0)
        if self.seed is not None and (isinstance(self.seed, bool) or not isinstance(self.seed, int)):
            raise ConfigError("seed", self.seed, "Use a whole number, or None")
        object.__setattr__(self, "stop", _stop_strings(self.stop))

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is taken, without a draw."""
        return self.temperature == 0 or self.top_k == 1


def _require_count(field: str, value: object, least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(field, value, f"Use a whole number of at least {least}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _stop_strings(stop: object) -> tuple[str, ...]:
    """One string or several, as a tuple; an empty string would stop everything and is refused."""
    strings = (stop,) if isinstance(stop, str) else stop
    if not isinstance(strings, Sequence) or not all(isinstance(text, str) and text for text in strings):
        raise ConfigError("stop", stop, "Use strings of at least one character")
    if len(strings) > MAX_STOP_STRINGS:
        raise ConfigError("stop", stop, f"Use at most {MAX_STOP_STRINGS} strings")
    return tuple(strings)
