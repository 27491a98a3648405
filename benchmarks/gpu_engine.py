"""The engine with its scheduler on a seeded Llama of Llama 3.2 1B's shape; part of ``gpu``.

Weights are random, so answers are nonsense and speed is not. Times are those a caller sees.
"""

import random
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu_alike import rows_alike
from benchmarks.gpu_parts import Row, attempt
from promptcache_engine import Completion, Engine, EngineConfig, SamplingParams, TokenDelta
from promptcache_engine.choosing import draw_on_host
from promptcache_engine.device.draw import DeviceDraw
from promptcache_engine.kernels.triton import sample_tokens
from promptcache_engine.models import DecoderModel, LoadedModel, ModelConfig
from promptcache_engine.models.products import dense, logits_head
from promptcache_engine.models.rope_settings import RopeSettings
from promptcache_engine.models.triton_operations import TritonOperations
from promptcache_engine.models.weights import DecoderWeights, LayerWeights, Linear
from promptcache_engine.tokenizer.byte_level import CHATML, ByteTokenizer

TTFT_TARGET = 1.3
GREEDY = SamplingParams(temperature=0, ignore_eos=True)
DRAWN = SamplingParams(temperature=0.8, top_k=50, top_p=0.95, seed=1, ignore_eos=True)


@dataclass(frozen=True)
class Sizes:
    """What is run: the model's sizes, lengths of prompts, batches."""

    layers: int = 16
    hidden: int = 2048
    heads: int = 32
    kv_heads: int = 8
    inner: int = 8192
    vocabulary: int = 32_000
    prompts: tuple[int, ...] = (4096, 32_768)
    decoded_prompt: int = 512
    decoded: int = 128
    batches: tuple[int, ...] = (1, 8, 64)
    chunk: int = 8192
    room: int = 200_000
    exact_prompt: int = 512
    cut: int = 72
    """Tokens a step of the engine that cuts ``exact_prompt`` in pieces, the last a shorter one."""


TINY = Sizes(1, 32, 2, 1, 32, 259, (20,), 4, 3, (1, 2), 16, 512, 16, 5)


def run(device: torch.device, *, tiny: bool) -> Iterator[Row]:
    """Prefill, decoding, time to the first token, and warm answers beside cold ones."""
    sizes = TINY if tiny else Sizes()
    dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
    yield from attempt("draws", _draws, device, sizes)
    for name, part in (("engine", _fast), ("warm equals cold", _exact)):
        try:
            yield from part(sizes, device, dtype)
        except Exception as error:  # noqa: BLE001 - whatever it is, this engine is not right and the other may be
            yield {"operation": name, "right": False, "because": f"{type(error).__name__}: {error}"[:300]}


def _fast(sizes: Sizes, device: torch.device, dtype: torch.dtype) -> Iterator[Row]:
    """As the engine is by default, with recorded steps and without."""
    numbers = random.Random(9)
    loaded = _model(sizes, device, dtype, deterministic=False)
    with _engine(loaded, sizes) as engine:
        yield from attempt("warm up", _warm_up, engine)
        _ask(engine, _prompt(numbers, sizes, sizes.decoded_prompt), 2)  # the allocator's first blocks
        for length in sizes.prompts:
            yield from attempt("first token", _first_token, engine, numbers, sizes, length)
        for batch in sizes.batches:
            yield from attempt("decode", _decode, engine, numbers, sizes, batch)
        yield from attempt("decode", _decode, engine, numbers, sizes, sizes.batches[-1], DRAWN)
        yield from attempt("waits", _waits, engine, numbers, sizes)
    if device.type != "cpu":  # there are no graphs to do without
        yield from attempt("decode without graphs", _without_graphs, loaded, numbers, sizes)


def _without_graphs(loaded: LoadedModel, numbers: random.Random, sizes: Sizes) -> list[Row]:
    """Decoding, each step launched kernel by kernel."""
    with _engine(loaded, sizes, cuda_graphs="off") as engine:
        _ask(engine, _prompt(numbers, sizes, sizes.decoded_prompt), 2)
        rows = [_decode(engine, numbers, sizes, batch) for batch in sizes.batches[:2]]
    return [{**row, "operation": "decode without graphs"} for row in rows]


def _exact(sizes: Sizes, device: torch.device, dtype: torch.dtype) -> Iterator[Row]:
    """Warm beside cold, a prompt in pieces beside the whole, replayed steps beside launched ones: to the
    bit."""
    torch.set_num_threads(1)
    loaded = _model(sizes, device, dtype, deterministic=True)
    with rows_alike(device):
        with _engine(loaded, sizes) as engine:
            row, cold = _warm_equals_cold(engine, sizes)
        yield row
        yield from attempt("chunked equals whole", _chunked_equals_whole, loaded, sizes, cold)
    if device.type != "cpu":
        yield from attempt("replayed equals launched", _replayed_equals_launched, loaded, sizes, cold)


def _chunked_equals_whole(loaded: LoadedModel, sizes: Sizes, whole: Completion) -> Row:
    """The prompt that was computed in one step, cut in pieces, beside others that are cut, too."""
    prompt, *others = _exact_prompts(sizes)
    tokens = len(whole.token_ids)
    with _engine(loaded, replace(sizes, chunk=sizes.cut), cuda_graphs="off") as engine:
        chunked = _beside(engine, prompt, others, tokens)
        steps = engine.stats().steps
    return {
        "operation": "chunked equals whole",
        "tokens": tokens,
        "prompt": len(prompt),
        "a_step": sizes.cut,
        "right": _same_bits(whole, chunked)
        and chunked.cached_tokens == 0
        and steps >= len(prompt) // sizes.cut + tokens,
    }


def _replayed_equals_launched(loaded: LoadedModel, sizes: Sizes, replayed: Completion) -> Row:
    with _engine(loaded, sizes, cuda_graphs="off") as engine:
        tokens = len(replayed.token_ids)
        _, launched = _ask(engine, _exact_prompts(sizes)[0], tokens)
    right = _same_bits(replayed, launched)
    return {"operation": "replayed equals launched", "tokens": tokens, "right": right}


def _same_bits(one: Completion, other: Completion) -> bool:
    return one.token_ids == other.token_ids and one.logprobs == other.logprobs


def _model(sizes: Sizes, device: torch.device, dtype: torch.dtype, *, deterministic: bool) -> LoadedModel:
    control = tuple(f"<|{number}|>" for number in range(256 + len(CHATML), sizes.vocabulary))
    tokenizer = ByteTokenizer((*CHATML, *control))
    config = ModelConfig(
        architecture="llama", num_layers=sizes.layers, hidden_size=sizes.hidden, num_heads=sizes.heads,
        num_kv_heads=sizes.kv_heads, head_dim=sizes.hidden // sizes.heads, intermediate_size=sizes.inner,
        vocab_size=sizes.vocabulary, context_length=max(sizes.prompts) + sizes.decoded + 64,
        rope=RopeSettings(500_000.0),
    )  # fmt: skip
    model = DecoderModel(
        config,
        _weights(config, device, dtype),
        deterministic=deterministic,
        operations=TritonOperations(),
    )
    return LoadedModel(model, tokenizer, None, config)


def _engine(loaded: LoadedModel, sizes: Sizes, cuda_graphs: str = "auto") -> Engine:
    model = loaded.model
    settings = EngineConfig(
        model="seeded", dtype=str(model.dtype).removeprefix("torch."), deterministic=model.deterministic,
        kv_cache_tokens=sizes.room, max_batch_tokens=sizes.chunk, max_running=max(sizes.batches),
        device=model.device.type, cuda_graphs=cuda_graphs,
    )  # fmt: skip
    return Engine.from_loaded(loaded, settings)


def _draws(device: torch.device, sizes: Sizes) -> Row:
    """The device's draws beside the host's from the same logits: equal, but where rounding decides a cut."""
    rules = [{}, {"temperature": 0}, {"top_k": 50}, {"top_p": 0.9}, {"min_p": 0.05}, {"temperature": 1.7}]
    params = [SamplingParams(**rule) for rule in rules] * (1 if sizes is TINY else 8)  # type: ignore[arg-type]
    source = torch.Generator().manual_seed(4)
    logits = torch.randn(len(params), sizes.vocabulary, generator=source) * 3
    keys = [2**61 + 7 * row for row in range(len(params))]
    there = logits.to(device)
    found = [each.token for each in DeviceDraw(sample_tokens)(there, there, params, keys)]
    expected = [each.token for each in draw_on_host(logits, logits, params, keys)]
    pairs = [one == other for one, other in zip(found, expected, strict=True)]
    whole = [
        same for same, each in zip(pairs, params, strict=True) if each in (params[0], params[1], params[5])
    ]
    return {
        "operation": "draws",
        "equal": sum(pairs),
        "of": len(pairs),
        "right": all(whole) and sum(pairs) >= len(pairs) - 2,
    }


def _warm_up(engine: Engine) -> Row:
    """What was compiled and recorded before the first request."""
    report = engine.info.warm_up
    if report is None:
        return {"operation": "warm up", "graphs": 0, "right": engine.info.device == "cpu"}
    return {
        "operation": "warm up",
        "compile_s": report.compile_seconds,
        "programs": sum(count for _, count in report.kernels),
        "graphs_s": report.graph_seconds,
        "graphs": report.graphs,
        "MiB": report.graph_bytes >> 20,
        "right": report.graphs > 0 and not report.graphs_missing,
    }


@contextmanager
def _sync_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collects a warning for each time the host waits for the GPU."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield seen
        finally:
            torch.cuda.set_sync_debug_mode("default")


def _waits(engine: Engine, numbers: random.Random, sizes: Sizes) -> Row:
    """How often the host waits for the GPU in a step: once, for what was drawn."""
    if engine.info.device == "cpu":
        return {"operation": "waits", "right": True}
    before = engine.stats().steps
    with _sync_warnings() as seen:
        _decode(engine, numbers, sizes, sizes.batches[1], DRAWN)
    steps = engine.stats().steps - before
    syncs = [each for each in seen if "called a synchronizing" in str(each.message)]
    rate = len(syncs) / steps
    return {"operation": "waits", "steps": steps, "a_step": rate, "target": 1.0, "target_met": rate <= 1.0}


def _weights(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> DecoderWeights:
    generator = torch.Generator(device).manual_seed(1)

    def matrix(rows: int, columns: int) -> Tensor:
        values: Tensor = torch.randn(rows, columns, generator=generator, device=device) * columns**-0.5
        return values.to(dtype)

    def linear(rows: int, columns: int) -> Linear:
        return dense(matrix(rows, columns))

    def layer() -> LayerWeights:
        return LayerWeights(
            attention_norm=torch.ones(config.hidden_size, device=device),
            qkv=linear(config.query_width + 2 * config.kv_width, config.hidden_size),
            output=linear(config.hidden_size, config.query_width),
            mlp_norm=torch.ones(config.hidden_size, device=device),
            gate_up=linear(2 * config.intermediate_size, config.hidden_size),
            down=linear(config.hidden_size, config.intermediate_size),
        )

    return DecoderWeights(
        embedding=matrix(config.vocab_size, config.hidden_size),
        layers=tuple(layer() for _ in range(config.num_layers)),
        final_norm=torch.ones(config.hidden_size, device=device),
        head=logits_head(matrix(config.vocab_size, config.hidden_size), dtype, device),
    )


def _prompt(numbers: random.Random, sizes: Sizes, length: int) -> list[int]:
    return [numbers.randrange(sizes.vocabulary) for _ in range(length)]


def _ask(engine: Engine, prompt: list[int], tokens: int) -> tuple[float, Any]:
    """Seconds to the whole answer, and the answer."""
    begun = time.perf_counter()
    params = SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True, logprobs=1)
    answer = engine.generate(prompt, params)
    return time.perf_counter() - begun, answer


def _first_token(engine: Engine, numbers: random.Random, sizes: Sizes, length: int) -> Row:
    """Cold; with 95 % in the cache; and those 5 % alone, as a prompt of their own. Each best of three.

    Tokens behind a long prefix attend to it, which alone they do not: ``arithmetic`` is how many times the
    products that takes, the ratio of an engine without any other cost. The target is judged as it stands,
    and once more beyond that.
    """
    cold, warm, alone, hits = [], [], [], []
    kept = length * 95 // 100
    for _ in range(3 if length > 64 else 1):
        prompt = _prompt(numbers, sizes, length)
        cold.append(_ask(engine, prompt, 1)[0])
        rest = _prompt(numbers, sizes, length - kept)
        taken, answer = _ask(engine, [*prompt[:kept], *rest], 1)
        warm.append(taken)
        hits.append(answer.cached_tokens)
        alone.append(_ask(engine, _prompt(numbers, sizes, length - kept), 1)[0])
    ratio, rows = min(warm) / min(alone), length - kept
    least = _products(sizes, kept, rows) / _products(sizes, 0, rows)
    return {
        "operation": "first token",
        "prompt": length,
        "cold_ms": 1e3 * min(cold),
        "prefill_tok/s": length / min(cold),
        "cached_95_ms": 1e3 * min(warm),
        "rest_alone_ms": 1e3 * min(alone),
        "ratio": ratio,
        "arithmetic": least,
        **({} if sizes is TINY else _judged(ratio, least)),
        "right": min(hits) >= kept,
    }


def _judged(ratio: float, least: float) -> Row:
    """Against the rest alone, which counts; beside it against what its products behind the prefix take at the
    least."""
    return {
        "target": TTFT_TARGET,
        "target_met": ratio <= TTFT_TARGET,
        "target_beyond_arithmetic": TTFT_TARGET * least,
        "met_beyond_arithmetic": ratio <= TTFT_TARGET * least,
    }


def _products(sizes: Sizes, cached: int, rows: int) -> int:
    """Multiplications of a prompt's last ``rows`` tokens, behind ``cached`` ones: weights and attention."""
    width = sizes.hidden // sizes.heads * sizes.kv_heads
    weights = sizes.hidden * (2 * sizes.hidden + 2 * width + 3 * sizes.inner)
    seen = rows * cached + rows * (rows + 1) // 2
    return sizes.layers * (rows * weights + 2 * sizes.hidden * seen)


def _decode(
    engine: Engine, numbers: random.Random, sizes: Sizes, batch: int, params: SamplingParams = GREEDY
) -> Row:
    """Tokens a second from when all of a batch have begun to when the first of them ends."""
    prompts = [_prompt(numbers, sizes, sizes.decoded_prompt) for _ in range(batch)]
    with ThreadPoolExecutor(batch) as pool:
        asked = replace(params, max_tokens=sizes.decoded)
        times = list(pool.map(lambda prompt: _moments(engine, prompt, asked), prompts))
    begin, end = max(each[0] for each in times), min(each[-1] for each in times)
    between = sum(begin < moment <= end for each in times for moment in each)
    return {
        "operation": "decode",
        "batch": batch,
        "temperature": params.temperature,
        "tok/s": between / (end - begin) if end > begin else float("nan"),
        "right": all(len(each) == sizes.decoded for each in times),
    }


def _moments(engine: Engine, prompt: list[int], params: SamplingParams) -> list[float]:
    """When each token of an answer came."""
    events = engine.stream(prompt, params)
    return [time.perf_counter() for event in events if isinstance(event, TokenDelta) for _ in event.token_ids]


def _exact_prompts(sizes: Sizes) -> list[list[int]]:
    """The prompt whose answers are compared, then those that are computed beside it."""
    numbers, beside = random.Random(10), min(3, max(sizes.batches) - 1)
    lengths = [sizes.exact_prompt, *[sizes.exact_prompt // 2] * beside]
    return [_prompt(numbers, sizes, length) for length in lengths]


def _beside(engine: Engine, prompt: list[int], others: list[list[int]], tokens: int) -> Completion:
    """The answer to a prompt that is computed together with others."""
    with ThreadPoolExecutor(len(others) + 1) as pool:
        (_, answer), *_ = pool.map(lambda each: _ask(engine, each, tokens), [prompt, *others])
    found: Completion = answer
    return found


def _warm_equals_cold(engine: Engine, sizes: Sizes) -> tuple[Row, Completion]:
    """One prompt cold, then from the cache beside others: tokens and their log-probabilities, to the bit; and
    the cold answer."""
    prompt, *others = _exact_prompts(sizes)
    tokens = min(32, sizes.decoded)
    _, cold = _ask(engine, prompt, tokens)
    warm = _beside(engine, prompt, others, tokens)
    row = {
        "operation": "warm equals cold",
        "tokens": tokens,
        "cached": warm.cached_tokens,
        "right": _same_bits(cold, warm) and cold.cached_tokens == 0 and warm.cached_tokens == len(prompt) - 1,
    }
    return row, cold
