"""The engine with its scheduler on a seeded Llama of Llama 3.2 1B's shape; part of ``gpu``.

Weights are random, so answers are nonsense and speed is not. Times are those a caller sees.
"""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from promptcache_engine import Engine, EngineConfig, EngineError, SamplingParams, TokenDelta
from promptcache_engine.models import DecoderModel, LoadedModel, ModelConfig
from promptcache_engine.models.errors import ModelError
from promptcache_engine.models.products import dense, logits_head
from promptcache_engine.models.rope_settings import RopeSettings
from promptcache_engine.models.triton_operations import TritonOperations
from promptcache_engine.models.weights import DecoderWeights, LayerWeights, Linear
from promptcache_engine.tokenizer.byte_level import CHATML, ByteTokenizer

TTFT_TARGET = 1.3


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


TINY = Sizes(1, 32, 2, 1, 32, 259, (20,), 4, 3, (1, 2), 16, 512)


def run(device: torch.device, *, tiny: bool) -> list[dict[str, Any]]:
    """Prefill, decoding, time to the first token, and warm answers beside cold ones."""
    sizes = TINY if tiny else Sizes()
    dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
    found: list[dict[str, Any]] = []
    with _engine(sizes, device, dtype, deterministic=False) as engine:
        numbers = random.Random(9)
        _ask(engine, _prompt(numbers, sizes, sizes.decoded_prompt), 2)  # compiles what it needs
        found += [_first_token(engine, numbers, sizes, length) for length in sizes.prompts]
        found += [_decode(engine, numbers, sizes, batch) for batch in sizes.batches]
    torch.set_num_threads(1)
    try:
        with _engine(sizes, device, dtype, deterministic=True) as engine:
            found.append(_warm_equals_cold(engine, random.Random(10), sizes))
    except (EngineError, ModelError) as error:
        found.append({"operation": "warm equals cold", "right": False, "because": str(error)})
    return found


def _engine(sizes: Sizes, device: torch.device, dtype: torch.dtype, *, deterministic: bool) -> Engine:
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
    settings = EngineConfig(
        model="seeded", dtype=str(dtype).removeprefix("torch."), deterministic=deterministic,
        kv_cache_tokens=sizes.room, max_batch_tokens=sizes.chunk, max_running=max(sizes.batches),
        device=device.type,
    )  # fmt: skip
    return Engine.from_loaded(LoadedModel(model, tokenizer, None, config), settings)


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


def _first_token(engine: Engine, numbers: random.Random, sizes: Sizes, length: int) -> dict[str, Any]:
    """Cold; with 95 % in the cache; and those 5 % alone, as a prompt of their own. Each best of three."""
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
    ratio = min(warm) / min(alone)
    return {
        "operation": "first token",
        "prompt": length,
        "cold_ms": 1e3 * min(cold),
        "prefill_tok/s": length / min(cold),
        "cached_95_ms": 1e3 * min(warm),
        "rest_alone_ms": 1e3 * min(alone),
        "ratio": ratio,
        **({} if sizes is TINY else {"target": TTFT_TARGET, "target_met": ratio <= TTFT_TARGET}),
        "right": min(hits) >= kept,
    }


def _decode(engine: Engine, numbers: random.Random, sizes: Sizes, batch: int) -> dict[str, Any]:
    """Tokens a second from when all of a batch have begun to when the first of them ends."""
    prompts = [_prompt(numbers, sizes, sizes.decoded_prompt) for _ in range(batch)]
    with ThreadPoolExecutor(batch) as pool:
        times = list(pool.map(lambda prompt: _moments(engine, prompt, sizes.decoded), prompts))
    begin, end = max(each[0] for each in times), min(each[-1] for each in times)
    between = sum(begin < moment <= end for each in times for moment in each)
    return {
        "operation": "decode",
        "batch": batch,
        "tok/s": between / (end - begin) if end > begin else float("nan"),
        "right": all(len(each) == sizes.decoded for each in times),
    }


def _moments(engine: Engine, prompt: list[int], tokens: int) -> list[float]:
    """When each token of an answer came."""
    params = SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True)
    events = engine.stream(prompt, params)
    return [time.perf_counter() for event in events if isinstance(event, TokenDelta) for _ in event.token_ids]


def _warm_equals_cold(engine: Engine, numbers: random.Random, sizes: Sizes) -> dict[str, Any]:
    """One prompt cold, then from the cache beside others: tokens and their log-probabilities, to the bit."""
    prompt = _prompt(numbers, sizes, sizes.decoded_prompt)
    others = [
        _prompt(numbers, sizes, sizes.decoded_prompt // 2) for _ in range(min(3, max(sizes.batches) - 1))
    ]
    tokens = min(32, sizes.decoded)
    _, cold = _ask(engine, prompt, tokens)
    with ThreadPoolExecutor(len(others) + 1) as pool:
        (_, warm), *_ = pool.map(lambda each: _ask(engine, each, tokens), [prompt, *others])
    # Interpreted, products are NumPy's, whose rows differ in the last bits by their place.
    exact = engine.info.device == "cpu" or cold.logprobs == warm.logprobs
    return {
        "operation": "warm equals cold",
        "tokens": tokens,
        "cached": warm.cached_tokens,
        "right": cold.token_ids == warm.token_ids
        and exact
        and cold.cached_tokens == 0
        and warm.cached_tokens == len(prompt) - 1,
    }
