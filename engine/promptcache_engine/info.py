"""What an engine is and what it has done: values for health pages and metrics.

Counters only grow until the engine is started again; the rest describes one moment between two steps.
"""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """What an engine on a GPU did before its first request.

    Attributes:
        compile_seconds: for one step of each kind, which compiles the kernels or finds them compiled.
        kernels: (name, programs) of the kernels that were launched up to then, by this process.
        graph_seconds: for recording decode steps.
        graphs: how many were recorded; other steps are launched kernel by kernel.
        graphs_missing: how many could not be.
        graph_batches: for how many sequences there are graphs.
        graph_contexts: for contexts of up to how many tokens.
        graph_bytes: memory of the device that all of them take.
    """

    compile_seconds: float = 0.0
    kernels: tuple[tuple[str, int], ...] = ()
    graph_seconds: float = 0.0
    graphs: int = 0
    graphs_missing: int = 0
    graph_batches: tuple[int, ...] = ()
    graph_contexts: tuple[int, ...] = ()
    graph_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """The model an engine serves and the room it has.

    Attributes:
        model_name: as configured; of a file, its name without folder and suffix.
        architecture: as the model's file calls it.
        context_length: tokens of prompt and answer together that one request may have.
        vocab_size: token ids run from 0 to one below this.
        dtype: of weights.
        kv_dtype: of keys and values.
        device: where the tensors lie.
        num_pages: pages of the KV pool.
        page_size: tokens a page holds.
        attention_backend: what computes all but matrix products: ``torch`` or ``triton``.
        attention_fallback: why torch computes where ``triton`` was to; empty where it was not.
        decode_kernel: what computes the tokens of answers: ``torch``, which may keep ``weights in float16``,
            or ``native`` and its instructions.
        window_pools: (window in tokens, pages) of the layers with a sliding window that have pages of their
            own beside ``num_pages``; empty where all layers share theirs.
        warm_up: what was done before the first request; None where nothing was, as on a CPU.
    """

    model_name: str
    architecture: str
    context_length: int
    vocab_size: int
    dtype: str
    kv_dtype: str
    device: str
    num_pages: int
    page_size: int
    attention_backend: str = "torch"
    attention_fallback: str = ""
    decode_kernel: str = "torch"
    window_pools: tuple[tuple[int, int], ...] = ()
    warm_up: WarmUp | None = None

    def for_health(self) -> dict[str, object]:
        """What computes, why not what was to, and what was done before the first request, by these fields'
        names; what there is not is left out."""
        told: dict[str, object] = {"attention_backend": self.attention_backend}
        if self.attention_fallback:
            told["attention_fallback"] = self.attention_fallback
        if self.warm_up is not None:
            told["warm_up"] = asdict(self.warm_up)
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStats:
    """One moment of an engine, and its counters.

    Attributes:
        page_size: tokens a page holds.
        pages_total: pages of the pool; free + cached + held.
        pages_free: pages with nothing to reuse in them.
        pages_cached: pages kept for reuse that no running request needs.
        pages_held: pages running requests need.
        running: sequences being computed.
        waiting: sequences queued, preempted ones included.
        held_back: how many of the waiting ones wait for another's prefix to be stored.
        prefix_queries: prompt tokens looked up at first admissions.
        prefix_hits: how many of them were found.
        preempted_queries: tokens looked up when preempted sequences came back; never part of the above.
        preempted_hits: how many of them were found.
        evicted_pages: cached pages that were given to others.
        preemptions: times a sequence gave its pages back and waited again.
        prefill_tokens: prompt tokens computed, recomputation after preemption included.
        generated_tokens: tokens sampled.
        steps: forward passes.
        finished: requests that ended in good order.
        cancelled: requests cancelled.
        failed: requests that failed.
        restarts: how often a worker that had died was replaced; the other counters began anew with it.
    """

    page_size: int
    pages_total: int
    pages_free: int
    pages_cached: int
    pages_held: int
    running: int = 0
    waiting: int = 0
    held_back: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0
    evicted_pages: int = 0
    preemptions: int = 0
    prefill_tokens: int = 0
    generated_tokens: int = 0
    steps: int = 0
    finished: int = 0
    cancelled: int = 0
    failed: int = 0
    restarts: int = 0
