"""The law on a real model with sliding windows: Gemma 3 270M, whose windows of 512 tokens free their pages.

The model is under Gemma's own terms, so nothing downloads it: name its GGUF file in ``PROMPTCACHE_GEMMA``.
Prompts go beyond the window, so that pages of the windowed layers are freed while the prompt still runs.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from promptcache_engine import EngineConfig
from promptcache_engine.models import LoadedModel, load_model
from tests.engine.scenario import Request, cold, run

FILE = os.environ.get("PROMPTCACHE_GEMMA", "")
pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not Path(FILE).is_file(), reason="PROMPTCACHE_GEMMA names no GGUF of Gemma 3 270M"),
]

TEXT = (Path(__file__).parent / "texts" / "harbour.txt").read_text(encoding="utf-8")
LENGTH, SHARED, ROOM = 560, 530, 640


@pytest.fixture(scope="module")
def gemma() -> Iterator[LoadedModel]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # bits are promised for one number of threads
    yield load_model(Path(FILE), dtype=torch.float32, device="cpu", deterministic=True)
    torch.set_num_threads(threads)


def test_a_warm_run_has_the_bits_of_a_cold_one_beyond_the_window(gemma: LoadedModel) -> None:
    assert gemma.config.windows == (512,)
    once = gemma.tokenizer.encode(TEXT)
    tokens = (once * (LENGTH // len(once) + 2))[: 2 * LENGTH]
    first, second = tokens[:LENGTH], [*tokens[:SHARED], *tokens[LENGTH + 7 : LENGTH + 27]]
    made = [Request(first, 2, at_step=0), Request(second, 2, at_step=60), Request(first, 2, at_step=120)]
    config = EngineConfig(page_size=16, kv_cache_tokens=4 * ROOM, max_batch_tokens=128, max_running=2)
    cache = run(gemma, made, config=config, max_length=ROOM)
    pool = cache.windows.pools[0]
    assert sum(page >= 0 for page in map(pool.page_of, range(cache.num_pages))) < -(-LENGTH // 16) * 2
    assert cache.stats.hits >= LENGTH - 1 + SHARED
    for request in made[:2]:
        alone = cold(gemma, request, max_length=ROOM)
        assert request.token_ids == alone.token_ids
        assert all(torch.equal(logits, alone.logits[n]) for n, logits in request.logits.items())
    assert made[2].token_ids == made[0].token_ids
    assert all(torch.equal(logits, made[0].logits[n]) for n, logits in made[2].logits.items())
