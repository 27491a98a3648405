"""The forward pass over paged slots: cached, chunked and batched work gives what whole work gives."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine.models import ForwardBatch, KVPool, LoadedModel, SequenceSlice, load_model
from promptcache_engine.models.testing import tiny_model
from tests.engine.models.steps import Context, indices, logits_of, step

PLAIN = tiny_model(seed=3)
DETERMINISTIC = tiny_model(seed=3, deterministic=True)
WIDE_GROUPS = tiny_model(seed=4, hidden_size=64, num_heads=8, num_kv_heads=1, deterministic=True)


def tokens_of(length: int, seed: int = 0) -> list[int]:
    return torch.randint(0, 256, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


def scattered(size: int, seed: int = 0) -> torch.Tensor:
    return torch.randperm(size, generator=torch.Generator().manual_seed(seed))


def poisoned_pool(loaded: LoadedModel, size: int) -> KVPool:
    pool = KVPool(loaded.config, size, loaded.model.dtype, "cpu")
    pool.k.fill_(float("nan"))
    pool.v.fill_(float("nan"))
    return pool


def test_chunks_give_the_whole_within_rounding() -> None:
    tokens, slots = tokens_of(90), scattered(200)[:90]
    pool, context = poisoned_pool(PLAIN, 200), Context(slots)
    for begin in range(0, 90, 13):
        found = step(PLAIN, pool, [(context, tokens[begin : begin + 13])])
    torch.testing.assert_close(found, logits_of(PLAIN, tokens), atol=2e-5, rtol=1e-4)


@settings(max_examples=30)
@given(data=st.data(), length=st.integers(2, 300))
def test_deterministic_chunking_does_not_change_a_bit(data: st.DataObject, length: int) -> None:
    loaded = data.draw(st.sampled_from([DETERMINISTIC, WIDE_GROUPS]))
    tokens, slots = tokens_of(length, seed=length), scattered(2 * length)[:length]
    pool, context = poisoned_pool(loaded, 2 * length), Context(slots)
    while context.length < length:
        size = data.draw(st.integers(1, length - context.length))
        found = step(loaded, pool, [(context, tokens[context.length : context.length + size])])
    assert torch.equal(found, logits_of(loaded, tokens))


@settings(max_examples=20)
@given(lengths=st.lists(st.integers(1, 90), min_size=2, max_size=5))
def test_deterministic_company_does_not_change_a_bit(lengths: list[int]) -> None:
    pool = poisoned_pool(DETERMINISTIC, 500)
    slots = scattered(500).split([*lengths, 500 - sum(lengths)])
    prompts = [tokens_of(length, seed) for seed, length in enumerate(lengths)]
    together = step(DETERMINISTIC, pool, list(zip(map(Context, slots), prompts, strict=False)))
    for row, prompt in zip(together, prompts, strict=True):
        assert torch.equal(row, logits_of(DETERMINISTIC, prompt)[0])


def test_deterministic_decode_in_company_does_not_change_a_bit() -> None:
    pool = poisoned_pool(DETERMINISTIC, 400)
    slots = scattered(400).split(100)
    prompts = [tokens_of(length, seed=length) for length in (20, 61, 99, 1)]
    contexts = [Context(own) for own in slots]
    for context, prompt in zip(contexts[:3], prompts[:3], strict=True):
        step(DETERMINISTIC, pool, [(context, prompt[:-1])])
    found = step(
        DETERMINISTIC, pool, [(own, prompt[-1:]) for own, prompt in zip(contexts, prompts, strict=True)]
    )
    for row, prompt in zip(found, prompts, strict=True):
        assert torch.equal(row, logits_of(DETERMINISTIC, prompt)[0])


def test_a_shared_prefix_is_computed_once_and_read_by_both() -> None:
    prefix, pool = tokens_of(48), poisoned_pool(DETERMINISTIC, 128)
    step(DETERMINISTIC, pool, [(Context(torch.arange(48)), prefix)])
    work = []
    for own, tail in ((range(48, 58), tokens_of(10, 1)), (range(64, 67), tokens_of(3, 2))):
        context = Context(torch.cat((torch.arange(48), indices(own))))
        context.length = 48
        work.append((context, tail))
    found = step(DETERMINISTIC, pool, work)
    for row, (_, tail) in zip(found, work, strict=True):
        assert torch.equal(row, logits_of(DETERMINISTIC, [*prefix, *tail])[0])


def test_copied_slots_serve_as_well_as_the_original() -> None:
    tokens, pool = tokens_of(33), poisoned_pool(DETERMINISTIC, 100)
    step(DETERMINISTIC, pool, [(Context(torch.arange(32)), tokens[:32])])
    pool.copy_slots(torch.arange(20, 32), torch.arange(70, 82))
    moved = Context(torch.cat((torch.arange(20), torch.arange(70, 82), indices([99]))))
    moved.length = 32
    assert torch.equal(step(DETERMINISTIC, pool, [(moved, tokens[32:])]), logits_of(DETERMINISTIC, tokens))


def test_every_token_and_its_place_matter() -> None:
    tokens = tokens_of(40)
    before = logits_of(PLAIN, tokens)
    for at in (0, 20, 39):
        changed = [*tokens[:at], (tokens[at] + 1) % 256, *tokens[at + 1 :]]
        assert (logits_of(PLAIN, changed) - before).abs().max() > 1e-3
    swapped = [tokens[1], tokens[0], *tokens[2:]]
    assert (logits_of(PLAIN, swapped) - before).abs().max() > 1e-3


def test_logits_of_several_rows_of_one_sequence() -> None:
    tokens, slots = tokens_of(20), torch.arange(20)
    batch = ForwardBatch(indices(tokens), slots, slots, [_slice(20, slots)], indices([19, 4, 4]))
    found = DETERMINISTIC.model.forward(batch, poisoned_pool(DETERMINISTIC, 20))
    assert torch.equal(found[0], logits_of(DETERMINISTIC, tokens)[0])
    assert torch.equal(found[1], logits_of(DETERMINISTIC, tokens[:5])[0])
    assert torch.equal(found[1], found[2])


@pytest.mark.parametrize("loaded", [PLAIN, DETERMINISTIC], ids=["plain", "deterministic"])
def test_a_step_may_want_no_logits(loaded: LoadedModel) -> None:
    tokens, slots = tokens_of(7), torch.arange(7)
    batch = ForwardBatch(indices(tokens), slots, slots, [_slice(7, slots)], indices([]))
    assert loaded.model.forward(batch, poisoned_pool(loaded, 7)).shape == (0, loaded.config.vocab_size)


def test_logits_are_float32_whatever_the_weights() -> None:
    rounded = tiny_model(seed=3, dtype=torch.bfloat16)
    found = logits_of(rounded, tokens_of(30))
    assert found.dtype == torch.float32
    assert (found - logits_of(PLAIN, tokens_of(30))).abs().max() < 1.0


def test_positions_beyond_the_first_piece_of_angles() -> None:
    pool = poisoned_pool(DETERMINISTIC, 2)
    slots = torch.arange(2)
    batch = ForwardBatch(indices([1, 2]), indices([9000, 9001]), slots, [_slice(2, slots)], indices([1]))
    far = DETERMINISTIC.model.forward(batch, pool)
    torch.testing.assert_close(far, logits_of(DETERMINISTIC, [1, 2]), atol=1e-2, rtol=1e-2)


@pytest.mark.model
@pytest.mark.slow
def test_the_default_model_is_bitwise_the_same_warm_and_cold(default_model_path: Path) -> None:
    loaded = load_model(default_model_path, deterministic=True)
    tokens = loaded.tokenizer.encode("The tide comes in twice a day, and nobody is surprised. " * 24)[:259]
    cold = logits_of(loaded, tokens)
    for cached in (1, 255, 258):
        pool, context = poisoned_pool(loaded, 518), Context(scattered(518)[:259])
        step(loaded, pool, [(context, tokens[:cached])])
        other = (Context(scattered(518)[259:]), tokens[5:11])
        warm = step(loaded, pool, [other, (context, tokens[cached:])])
        assert torch.equal(warm[1], cold[0])


def _slice(length: int, slots: torch.Tensor) -> SequenceSlice:
    return SequenceSlice(0, length, slots)
