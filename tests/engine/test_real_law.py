"""The law on the default model: equal bits with ``deterministic``, and else a bound.

Without ``deterministic`` a token may be computed in a product of another shape when a prefix was cached, or
by the native decode step, and rounds otherwise. The bound: the mean Kullback-Leibler divergence of the
next-token distribution is at most 0.005 nat from the float32 model's and at most 0.005 between cold and warm,
and a greedy choice differs only where the two best tokens lie within 0.1 nat.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from promptcache_engine import EngineConfig
from promptcache_engine.kernels.native import Library
from promptcache_engine.models import ForwardBatch, KVPool, LoadedModel, SequenceSlice, load_model
from promptcache_engine.models.half_products import halve
from promptcache_engine.models.native_check import add_native_decode
from tests.engine.models.steps import Context, step
from tests.engine.scenario import Request, cold, run

pytestmark = pytest.mark.model

TEXT = (Path(__file__).parent / "texts" / "harbour.txt").read_text(encoding="utf-8")
MAX_KL = 0.005
MAX_GAP = 0.1
# Where the text is asked for its next token; each time the part up to the place before is cached.
PLACES = (60, 61, 75, 97, 128, 129)


@pytest.fixture(scope="module")
def exact(default_model_path: Path) -> Iterator[LoadedModel]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # bits are promised for one number of threads
    yield load_model(default_model_path, dtype=torch.float32, device="cpu", deterministic=True)
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def alone(exact: LoadedModel) -> dict[str, dict[tuple[int, ...], Request]]:
    """Two prompts that share 45 tokens, each computed cold, in one piece, by dtype of keys and values."""
    tokens = exact.tokenizer.encode(TEXT)
    prompts = tokens[:60], [*tokens[:45], *tokens[200:212]]
    return {
        kv_dtype: {
            tuple(prompt): cold(exact, Request(prompt, 2, 0), max_length=64, kv_dtype=kv_dtype)
            for prompt in prompts
        }
        for kv_dtype in ("auto", "bfloat16")
    }


@pytest.mark.parametrize(
    ("page_size", "kv_dtype"), [(1, "auto"), (16, "auto"), (256, "auto"), (16, "bfloat16")]
)
def test_every_logit_has_the_bits_of_a_cold_run(
    exact: LoadedModel, alone: dict[str, dict[tuple[int, ...], Request]], page_size: int, kv_dtype: str
) -> None:
    tokens = exact.tokenizer.encode(TEXT)
    first, second, other = tokens[:60], [*tokens[:45], *tokens[200:212]], tokens[300:360]
    made = [
        Request(first, 2, at_step=0),
        Request(second, 2, at_step=0),
        Request(other, 0, at_step=20),  # drives the others out, or most of them
        Request(second, 2, at_step=30),
        Request(first, 2, at_step=30),
    ]
    room = 64 + page_size % 256 if page_size < 256 else 512
    config = EngineConfig(page_size=page_size, kv_cache_tokens=room, max_batch_tokens=33, kv_dtype=kv_dtype)
    cache = run(exact, made, config=config, max_length=64)
    assert cache.stats.hits > 40
    for request in made:
        if request.answer_tokens:
            expected = alone[kv_dtype][tuple(request.prompt)]
            assert request.token_ids == expected.token_ids
            assert all(torch.equal(logits, expected.logits[n]) for n, logits in request.logits.items())


@pytest.fixture(scope="module")
def reference(default_model: LoadedModel) -> Tensor:
    """Log-probabilities after each token of the text, float32, in one piece."""
    return log_probabilities(default_model, default_model.tokenizer.encode(TEXT)[: PLACES[-1]])


@pytest.fixture(scope="module")
def native(default_model_path: Path, library: Library) -> LoadedModel:
    """The default model with its native decode step, weights in the bits of the file."""
    loaded = load_model(default_model_path, library=library)
    add_native_decode(loaded.model, library)
    assert loaded.model.native is not None
    assert loaded.model.native.nbytes < 100_000_000
    return loaded


# Weights keep their file's bits, so that the native step is far below MAX_KL; 16 bits for keys show.
@pytest.mark.parametrize(
    ("kv_dtype", "most"), [(torch.float32, 1e-6), (torch.bfloat16, MAX_KL / 5)], ids=["float32", "bfloat16"]
)
def test_the_native_step_keeps_the_bound(
    native: LoadedModel, reference: Tensor, kv_dtype: torch.dtype, most: float
) -> None:
    """Every token after the first sixteen by the native step, over what it wrote itself and torch's pages."""
    tokens = native.tokenizer.encode(TEXT)[: PLACES[-1]]
    slots = torch.randperm(len(tokens), generator=torch.Generator().manual_seed(0))
    pool, context, begin = KVPool(native.config, len(tokens), kv_dtype, "cpu"), Context(slots), 16
    step(native, pool, [(context, tokens[:begin])])
    found = torch.cat([step(native, pool, [(context, [token])]) for token in tokens[begin:]])
    found = torch.log_softmax(found, dim=-1)
    assert 0 < divergence(reference[begin:], found) <= most
    assert widest_gap_where_choices_differ(reference[begin:], found) <= MAX_GAP


@pytest.mark.parametrize("kv_dtype", ["float32", "bfloat16"])
def test_warm_equals_cold_with_the_native_step(native: LoadedModel, kv_dtype: str) -> None:
    """Prompts whose cached part ends one or several tokens before their end; answers are native."""
    tokens = native.tokenizer.encode(TEXT)
    ends = (40, 41, 57, 90)
    config = EngineConfig(kv_cache_tokens=512, kv_dtype=kv_dtype)
    alone = [cold(native, Request(tokens[:end], 8, 0), max_length=200, kv_dtype=kv_dtype) for end in ends]
    made = [Request(tokens[:end], 8, at_step=20 * i) for i, end in enumerate(ends)]
    run(native, made, config=config, max_length=200)
    assert [request.events[-1].cached_tokens for request in made] == [0, *ends[:-1]]
    for warm, first in zip(made, alone, strict=True):
        agreed = [
            n
            for n in first.logits
            if warm.token_ids[: n - len(warm.prompt)] == first.token_ids[: n - len(warm.prompt)]
        ]
        expected, found = (
            torch.log_softmax(torch.stack([each.logits[n] for n in agreed]), -1) for each in (first, warm)
        )
        assert divergence(expected, found) <= MAX_KL
        assert widest_gap_where_choices_differ(expected, found) <= MAX_GAP


@pytest.mark.parametrize(
    ("dtype", "kv_dtype"),
    [
        (torch.float32, "float32"),
        (torch.float32, "bfloat16"),
        (torch.float16, "bfloat16"),
        (torch.bfloat16, "bfloat16"),
    ],
    ids=["float32", "mixed", "halved", "bfloat16"],
)
def test_the_bound(
    default_model_path: Path,
    default_model: LoadedModel,
    reference: Tensor,
    dtype: torch.dtype,
    kv_dtype: str,
) -> None:
    """``halved``: rows in float32, weights in float16, as torch alone decodes on a CPU."""
    loaded = default_model if dtype == torch.float32 else halved_or_loaded(default_model_path, dtype)
    tokens = loaded.tokenizer.encode(TEXT)[: PLACES[-1]]
    at_once = reference if dtype == torch.float32 else log_probabilities(loaded, tokens)

    made = [Request(tokens[:place], 1, at_step=10 * i) for i, place in enumerate(PLACES)]
    run(loaded, made, config=EngineConfig(kv_cache_tokens=512, kv_dtype=kv_dtype), max_length=200)
    cached = [request.events[-1].cached_tokens for request in made]
    assert cached == [0, *(place for place in PLACES[:-1])]
    warm = torch.stack([request.logits[place] for request, place in zip(made, PLACES, strict=True)])
    warm = torch.log_softmax(warm, dim=-1)

    places = torch.tensor(PLACES) - 1
    assert divergence(reference, at_once) <= MAX_KL
    assert divergence(reference[places], warm) <= MAX_KL
    assert divergence(at_once[places], warm) <= MAX_KL
    for first, second in ((reference, at_once), (reference[places], warm), (at_once[places], warm)):
        assert widest_gap_where_choices_differ(first, second) <= MAX_GAP


def halved_or_loaded(path: Path, dtype: torch.dtype) -> LoadedModel:
    """The default model in ``dtype``; for float16 only its matrices are."""
    if dtype != torch.float16:
        return load_model(path, dtype=dtype)
    loaded = load_model(path)
    assert halve(loaded.model)
    return loaded


def test_the_bound_can_be_broken(reference: Tensor) -> None:
    """What the test above measures tells a wrong position or page from rounding."""
    shifted = reference.roll(1, dims=0)
    assert divergence(reference, shifted) > MAX_KL
    assert widest_gap_where_choices_differ(reference, shifted) > MAX_GAP


def log_probabilities(loaded: LoadedModel, tokens: list[int]) -> Tensor:
    """After each token, [tokens, vocabulary], computed in one piece without cache or engine."""
    count = len(tokens)
    slots = torch.arange(count)
    pool = KVPool(loaded.config, count, loaded.model.dtype, "cpu")
    batch = ForwardBatch(torch.tensor(tokens), slots, slots, [SequenceSlice(0, count, slots)], slots)
    return torch.log_softmax(loaded.model.forward(batch, pool), dim=-1)


def divergence(expected: Tensor, found: Tensor) -> float:
    """Mean Kullback-Leibler divergence of rows of log-probabilities, in nat."""
    return float((expected.exp() * (expected - found)).sum(dim=-1).mean())


def widest_gap_where_choices_differ(first: Tensor, second: Tensor) -> float:
    """The largest distance of the two best log-probabilities, in either, among rows whose best differ."""
    differ = first.argmax(-1) != second.argmax(-1)
    best = torch.cat((first[differ], second[differ])).topk(2, dim=-1).values
    return float((best[:, 0] - best[:, 1]).max()) if len(best) else 0.0
