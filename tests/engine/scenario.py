"""Requests at chosen moments on an engine's core that is stepped without its thread, so that it repeats.

The pool begins full of NaN: a slot that is read before it was written shows in every token after it.
"""

from collections.abc import Callable
from collections.abc import Sequence as Items
from dataclasses import dataclass, field

import torch
from torch import Tensor

from promptcache_engine import EngineConfig, GenerationEvent, SamplingParams, TokenDelta
from promptcache_engine.cache import PrefixCache
from promptcache_engine.core import EngineCore
from promptcache_engine.detokenizer import TextStream
from promptcache_engine.generation import Generation
from promptcache_engine.kernels import coded
from promptcache_engine.memory import needed_window_pages
from promptcache_engine.models import KVPool, LoadedModel
from promptcache_engine.runner import ModelRunner
from promptcache_engine.sampling import Draws
from promptcache_engine.scheduler import Chunk, Scheduler, Sequence

MAX_LENGTH = 48


@dataclass
class Request:
    """One request of a scenario and what became of it."""

    prompt: list[int]
    answer_tokens: int
    at_step: int
    cancel_after: int | None = None
    namespace: str = ""
    use_cache: bool = True
    priority: int = 0
    fork_of: "Request | None" = None
    events: list[GenerationEvent] = field(default_factory=list)
    logits: dict[int, Tensor] = field(default_factory=dict)  # by the number of tokens they follow
    sequence: Sequence | None = None

    @property
    def token_ids(self) -> list[int]:
        return [token for event in self.events if isinstance(event, TokenDelta) for token in event.token_ids]


class Recording(ModelRunner):
    """A runner that keeps all logits; ``inner`` computes them, if there is one."""

    requests: dict[str, Request]
    inner: ModelRunner | None = None

    def forget(self, sequence_id: str) -> None:
        super().forget(sequence_id)
        if self.inner is not None:
            self.inner.forget(sequence_id)

    def compute(self, chunks: Items[Chunk]) -> Tensor:
        logits = (super() if self.inner is None else self.inner).compute(chunks)
        for row, chunk in enumerate(chunk for chunk in chunks if chunk.samples):
            self.requests[chunk.sequence.id].logits[chunk.end] = logits[row].clone()
        return logits


def generation(loaded: LoadedModel, request: Request, name: str) -> Generation:
    length = len(request.prompt)
    params = SamplingParams(temperature=0, max_tokens=request.answer_tokens, ignore_eos=True)
    sequence = Sequence(
        id=name,
        tokens=list(request.prompt),
        prompt_tokens=length,
        max_length=length + request.answer_tokens,
        namespace=request.namespace,
        use_cache=request.use_cache,
        priority=request.priority,
        parent=None if request.fork_of is None else request.fork_of.sequence,
    )
    request.sequence = sequence
    text = TextStream(loaded.tokenizer.token_bytes, ())
    return Generation(sequence, params, text, Draws(params), request.events.append)


MakeRunner = Callable[..., ModelRunner]


def run(
    loaded: LoadedModel,
    requests: list[Request],
    *,
    config: EngineConfig,
    max_length: int = MAX_LENGTH,
    make_runner: MakeRunner | None = None,
) -> PrefixCache:
    """Step a fresh engine until every request has ended; returns its cache, whose clock counts the steps.

    ``make_runner`` makes the runner that computes, if it is not to be the plain one.
    """
    step = 0
    assert config.kv_cache_tokens is not None
    num_pages = -(-config.kv_cache_tokens // config.page_size)
    windows = loaded.config.windows
    sizes = [min(num_pages, needed_window_pages(config, window)) for window in windows]
    cache = PrefixCache(
        num_pages,
        config.page_size,
        config.eviction_policy,
        clock=lambda: float(step),
        share_on_admission=False,
        window_pools=list(zip(windows, sizes, strict=True)),
    )
    scheduler = Scheduler(
        cache,
        max_batch_tokens=config.max_batch_tokens,
        max_running=config.max_running,
        policy=config.scheduling_policy,
        keep_preempted=config.preemption == "keep",
    )
    pool = KVPool(
        loaded.config,
        num_pages * config.page_size,
        loaded.model.dtype if config.kv_dtype == "auto" else getattr(torch, config.kept_dtype),
        "cpu",
        window_slots=[size * config.page_size for size in sizes],
    )
    for each in (pool.k, pool.v, *(each for pair in pool.windowed for each in pair)):
        if each.dtype in coded.LARGEST:
            each.view(torch.uint8).fill_(255)  # scales, too
        else:
            each.fill_(float("nan"))
    settings = {
        "page_size": config.page_size,
        "max_length": max_length,
        "windows": cache.windows.pools,
    }
    runner = Recording(loaded.model, pool, **settings)
    if make_runner is not None:
        runner.inner = make_runner(loaded.model, pool, **settings)
    runner.requests = {str(index): request for index, request in enumerate(requests)}
    core = EngineCore(scheduler, runner, eos_token_ids=())
    pending = sorted(enumerate(requests), key=lambda item: item[1].at_step)
    alive: dict[str, tuple[Generation, Request]] = {}
    while pending or core.busy:
        while pending and (pending[0][1].at_step <= step or not core.busy):
            index, request = pending.pop(0)
            alive[str(index)] = (generation(loaded, request, str(index)), request)
            core.add(alive[str(index)][0])
        for submitted, request in alive.values():
            if request.cancel_after is not None and len(request.token_ids) >= request.cancel_after:
                submitted.cancel()
        for receiver, event in core.step():
            receiver.emit(event)
        cache.check()
        step += 1
        assert step < 5000
    return cache


def cold(
    loaded: LoadedModel, request: Request, *, max_length: int = MAX_LENGTH, kv_dtype: str = "auto"
) -> Request:
    """The same request alone, in one chunk, without a cache."""
    most = max(512, max_length)
    config = EngineConfig(kv_cache_tokens=max_length, max_batch_tokens=most, kv_dtype=kv_dtype)
    alone = Request(request.prompt, request.answer_tokens, 0, use_cache=False)
    run(loaded, [alone], config=config, max_length=max_length)
    return alone


def cold_answer(loaded: LoadedModel, request: Request) -> list[int]:
    return cold(loaded, request).token_ids
