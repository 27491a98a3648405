"""What an engine and a request are told: frozen values that check themselves.

What the values mean for memory is in ``memory``; what they do is the scheduler's and the sampler's business.
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from promptcache_engine.cache import POLICIES
from promptcache_engine.errors import ConfigError
from promptcache_engine.grammars import Grammar
from promptcache_engine.scheduler.waiting import SchedulingPolicy

ATTENTION_BACKENDS = ("auto", "triton", "torch")
CUDA_GRAPHS = ("auto", "on", "off")
DECODE_KERNELS = ("auto", "native", "torch")
DTYPES = ("float32", "bfloat16", "float16")
CODED_DTYPES = {"fp8": "float8_e4m3fn", "int8": "int8"}
"""Eight-bit forms of keys and values, by the names users give them: torch's names."""
KV_DTYPES = ("auto", *DTYPES, *CODED_DTYPES)
SCHEDULING_POLICIES: tuple[SchedulingPolicy, ...] = ("fewest-missing", "fcfs")
PREEMPTION_MODES = ("keep", "recompute")
MAX_STOP_STRINGS = 16
MAX_LOGPROBS = 20
MAX_PENALTY = 1e6
"""Beyond it, up or down, a penalty or bias changes no choice, but leaves what float32 can hold."""


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """How one engine runs one model.

    Attributes:
        model: a name the hub knows, or the path of a GGUF file.
        dtype: ``float32``, ``bfloat16`` or ``float16``, for weights.
        kv_dtype: the same for keys and values, or ``fp8`` or ``int8``: eight bits and a scale for each token
            and head; ``auto``: ``dtype`` with ``deterministic`` or on Triton, otherwise 16 bits: ``float16``
            if that is ``dtype``, or ``bfloat16``.
        page_size: tokens a page of KV holds.
        kv_cache_tokens: tokens the pool of KV holds, rounded up to whole pages; None: four contexts, or less
            where memory is short.
        enable_prefix_caching: False computes every prompt from its first token and keeps nothing.
        eviction_policy: which cached prefix goes first when pages run out.
        max_batch_tokens: tokens computed in one step, over all sequences; a longer prompt is cut in chunks.
        max_running: sequences computed together.
        max_waiting: requests that may be there beyond those; one more is refused.
        scheduling_policy: ``fewest-missing``: prompts of which the cache lacks the fewest tokens come first,
            those that wait gain on them; ``fcfs``: the order of arrival.
        preemption: a sequence that must give way leaves its pages in the cache until others need them
            (``keep``), or frees them at once (``recompute``).
        max_restarts: how often a worker that died is replaced within ten minutes; 0: never.
        max_context: tokens of prompt and answer together; None: what the model was trained for.
        threads: CPU threads for tensor work, for the whole process; None: torch's own choice, at most the
            cores this process may use.
        chat_template: a Jinja template's text, or the path of its file, instead of the model's own.
        attention_backend: what computes all but matrix products: ``triton``, kernels for a GPU; ``torch``;
            ``auto``: triton on a GPU where it can be.
        decode_kernel: what computes answers: ``native``, a C file compiled at first use; ``torch``, on a CPU
            with a float32 model's matrices in float16 unless ``deterministic``; ``auto``: native where it can
            be, which is never with ``deterministic``.
        cuda_graphs: whether decode steps are recorded at the start and replayed: ``auto``, with Triton on a
            GPU, as far as they can be; ``on``, or the engine does not start; ``off``.
        deterministic: outputs equal to the bit, whatever was cached and whatever else is computed; slower.
        device: ``auto`` (a GPU where there is one), ``cpu``, or a torch device name.

    Raises:
        ConfigError: a field's value cannot be served; names the field and the remedy.
    """

    model: str = "smollm2-135m-instruct"
    dtype: str = "float32"
    kv_dtype: str = "auto"
    page_size: int = 16
    kv_cache_tokens: int | None = None
    enable_prefix_caching: bool = True
    eviction_policy: str = "learned"
    max_batch_tokens: int = 512
    max_running: int = 16
    max_waiting: int = 256
    scheduling_policy: SchedulingPolicy = "fewest-missing"
    preemption: str = "keep"
    max_restarts: int = 3
    max_context: int | None = None
    threads: int | None = None
    chat_template: str | None = None
    attention_backend: str = "auto"
    decode_kernel: str = "auto"
    cuda_graphs: str = "auto"
    deterministic: bool = False
    device: str = "auto"

    def __post_init__(self) -> None:
        if not self.model:
            raise ConfigError("model", self.model, "Name a model or give the path of a .gguf file")
        if self.eviction_policy not in POLICIES:
            remedy = f"Choose one of {', '.join(sorted(POLICIES))}"
            raise ConfigError("eviction_policy", self.eviction_policy, remedy)
        for name, known in (
            ("dtype", DTYPES),
            ("kv_dtype", KV_DTYPES),
            ("scheduling_policy", SCHEDULING_POLICIES),
            ("preemption", PREEMPTION_MODES),
            ("attention_backend", ATTENTION_BACKENDS),
            ("decode_kernel", DECODE_KERNELS),
            ("cuda_graphs", CUDA_GRAPHS),
        ):
            if getattr(self, name) not in known:
                raise ConfigError(name, getattr(self, name), f"Choose one of {', '.join(known)}")
        if self.deterministic and self.decode_kernel == "native":
            remedy = "Use auto or torch: with deterministic there is one numeric path for every token"
            raise ConfigError("decode_kernel", self.decode_kernel, remedy)
        if self.kv_dtype in CODED_DTYPES and self.decode_kernel == "native":
            remedy = f"Use auto or torch: native reads no keys and values of {self.kv_dtype}"
            raise ConfigError("decode_kernel", self.decode_kernel, remedy)
        if self.attention_backend == "triton" and self.decode_kernel == "native":
            remedy = "Use auto or torch: native computes on a CPU, attention_backend='triton' on a GPU"
            raise ConfigError("decode_kernel", self.decode_kernel, remedy)
        if not self.device:
            raise ConfigError("device", self.device, "Use auto, cpu or cuda")
        for name in ("page_size", "max_batch_tokens", "max_running", "max_waiting"):
            _require_count(name, getattr(self, name))
        _require_count("max_restarts", self.max_restarts, least=0)
        for name in ("kv_cache_tokens", "max_context", "threads"):
            if getattr(self, name) is not None:
                _require_count(name, getattr(self, name))
        if self.max_batch_tokens < self.max_running:
            remedy = (
                f"Use at least max_running ({self.max_running}), so that every sequence decodes in every step"
            )
            raise ConfigError("max_batch_tokens", self.max_batch_tokens, remedy)

    @property
    def kept_dtype(self) -> str:
        """Torch's name of the dtype of keys and values: what ``kv_dtype`` says, or what it leaves open."""
        if self.kv_dtype != "auto":
            return CODED_DTYPES.get(self.kv_dtype, self.kv_dtype)
        return self.dtype if self.deterministic or self.dtype == "float16" else "bfloat16"


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """How the tokens of one answer are chosen, and where it ends.

    What shapes the logits comes first, in this order: ``repetition_penalty``, ``frequency_penalty``,
    ``presence_penalty``, ``logit_bias``, ``min_tokens``, ``grammar``. Then ``temperature`` and the cuts
    ``min_p``, ``top_k`` and ``top_p``, each over what the one before it left.

    Attributes:
        temperature: 0 takes the likeliest token; higher values flatten the distribution.
        top_p: keep the likeliest tokens whose probabilities reach this sum, the one that crosses it too.
        top_k: keep that many likeliest tokens; 0 keeps all.
        min_p: drop tokens less likely than this share of the likeliest one's probability; 0 keeps all.
        repetition_penalty: divides positive and multiplies negative logits of tokens that stand in the prompt
            or the answer; 1 changes nothing.
        frequency_penalty: subtracted for each time a token stands in the answer.
        presence_penalty: subtracted once from each token that stands in the answer.
        logit_bias: added to the logits of these token ids.
        min_tokens: tokens of answer before which the model's end tokens are not chosen.
        seed: makes the draws repeatable, alone and in any batch, as far as the logits are; None draws afresh
            each time.
        max_tokens: tokens of answer at most; 0 computes the prompt only; None: up to the context's end.
        stop: strings that end the answer and are not part of it.
        stop_token_ids: tokens that end the answer as the model's own end token does.
        ignore_eos: go on after the model's end token.
        shown_tokens: control tokens that are written out in the answer's text; others have none.
        logprobs: report each token's log-probability and those of this many likeliest ones; None: not at all.
        grammar: what the answer's text must be; None: anything.

    Raises:
        ConfigError: a field's value cannot be served; names the field and the remedy.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=dict, hash=False)
    min_tokens: int = 0
    seed: int | None = None
    max_tokens: int | None = None
    stop: Sequence[str] = ()
    stop_token_ids: Sequence[int] = ()
    ignore_eos: bool = False
    shown_tokens: Sequence[int] = ()
    logprobs: int | None = None
    grammar: Grammar | None = None

    def __post_init__(self) -> None:
        for name, least, most in (
            ("temperature", 0.0, math.inf),
            ("min_p", 0.0, 1.0),
            ("frequency_penalty", -MAX_PENALTY, MAX_PENALTY),
            ("presence_penalty", -MAX_PENALTY, MAX_PENALTY),
            ("repetition_penalty", 1 / MAX_PENALTY, MAX_PENALTY),
        ):
            _require_number(name, getattr(self, name), least, most)
        if not (_is_number(self.top_p) and 0 < self.top_p <= 1):
            raise ConfigError("top_p", self.top_p, "Use a number above 0 and at most 1")
        for name in ("top_k", "min_tokens"):
            _require_count(name, getattr(self, name), least=0)
        for name in ("max_tokens", "logprobs"):
            if getattr(self, name) is not None:
                _require_count(name, getattr(self, name), least=0)
        if self.logprobs is not None and self.logprobs > MAX_LOGPROBS:
            raise ConfigError("logprobs", self.logprobs, f"Use at most {MAX_LOGPROBS}")
        if self.seed is not None and (isinstance(self.seed, bool) or not isinstance(self.seed, int)):
            raise ConfigError("seed", self.seed, "Use a whole number, or None")
        object.__setattr__(self, "logit_bias", _biases(self.logit_bias))
        object.__setattr__(self, "stop", _stop_strings(self.stop))
        for name in ("stop_token_ids", "shown_tokens"):
            object.__setattr__(self, name, _token_ids(name, getattr(self, name)))
        if self.grammar is not None and not isinstance(self.grammar, Grammar):
            raise ConfigError("grammar", type(self.grammar).__name__, "Use a Grammar, or None")

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is taken, without a draw."""
        return self.temperature == 0 or self.top_k == 1

    @property
    def shapes(self) -> bool:
        """Whether the logits are changed before a token is chosen."""
        penalties = (self.repetition_penalty, self.frequency_penalty, self.presence_penalty)
        return penalties != (1.0, 0.0, 0.0) or bool(self.logit_bias or self.min_tokens or self.grammar)


def _require_count(field: str, value: object, least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(field, value, f"Use a whole number of at least {least}")


def _require_number(field: str, value: object, least: float, most: float) -> None:
    if not _is_number(value) or not least <= float(value) <= most:
        low = "" if math.isinf(least) else f" of at least {least:g}"
        high = "" if math.isinf(most) else f" and at most {most:g}"
        raise ConfigError(field, value, f"Use a finite number{low}{high}")


def _is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def _biases(biases: Mapping[Any, Any]) -> dict[int, float]:
    if not isinstance(biases, Mapping):
        raise ConfigError("logit_bias", biases, "Map token ids to numbers")
    for token, bias in biases.items():
        if not _is_token(token) or not _is_number(bias) or abs(bias) > MAX_PENALTY:
            remedy = f"Map token ids to numbers from -{MAX_PENALTY:g} to {MAX_PENALTY:g}"
            raise ConfigError("logit_bias", {token: bias}, remedy)
    return dict(biases)


def _token_ids(field: str, tokens: object) -> tuple[int, ...]:
    if not isinstance(tokens, str | bytes) and isinstance(tokens, Iterable):
        ids = tuple(tokens)
        if all(map(_is_token, ids)):
            return ids
    raise ConfigError(field, tokens, "List token ids: whole numbers from 0")


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _stop_strings(stop: object) -> tuple[str, ...]:
    """One string or several, as a tuple; an empty string would stop everything and is refused."""
    strings = (stop,) if isinstance(stop, str) else stop
    if not isinstance(strings, Sequence) or not all(isinstance(text, str) and text for text in strings):
        raise ConfigError("stop", stop, "Use strings of at least one character")
    if len(strings) > MAX_STOP_STRINGS:
        raise ConfigError("stop", stop, f"Use at most {MAX_STOP_STRINGS} strings")
    return tuple(strings)
