"""Every family computes what transformers computes, from a folder and from a GGUF file alike.

The expected logits are recorded by scripts/make_family_reference.py.
"""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine.models import ForwardBatch, KVPool, LoadedModel, SequenceSlice, load_model
from promptcache_engine.models.testing import FAMILY_NAMES, tiny_model
from tests.engine.models.family_cases import PLACES, PROMPT, SCORED
from tests.engine.models.family_files import CASES, write_folder, write_gguf
from tests.engine.models.steps import Context, indices, logits_of, step


def assert_as_recorded(loaded: LoadedModel, case: str) -> None:
    slots = torch.arange(len(PROMPT))
    sequences = [SequenceSlice(0, len(PROMPT), slots)]
    batch = ForwardBatch(indices(PROMPT), slots, slots, sequences, indices(PLACES))
    found = loaded.model.forward(batch, KVPool(loaded.config, len(PROMPT), torch.float32, "cpu"))
    expected = torch.tensor(CASES[case]["logits"])
    torch.testing.assert_close(found[:, :SCORED], expected, atol=5e-5, rtol=1e-4)
    sums = torch.tensor(CASES[case]["log_sums"])
    torch.testing.assert_close(found.logsumexp(-1), sums, atol=5e-5, rtol=1e-4)


@pytest.mark.parametrize("case", sorted(CASES))
def test_a_folder_computes_what_transformers_does(tmp_path: Path, case: str) -> None:
    assert_as_recorded(load_model(write_folder(tmp_path, case)), case)


@pytest.mark.parametrize("case", sorted(CASES))
def test_a_gguf_file_computes_what_transformers_does(tmp_path: Path, case: str) -> None:
    assert_as_recorded(load_model(write_gguf(tmp_path / "model.gguf", case)), case)


def test_the_cases_differ_in_what_they_are_there_for() -> None:
    """A window, a scaling or a bias that changed nothing would prove nothing."""
    for plain, special in (
        ("llama", "llama with biases"),
        ("llama", "llama linear"),
        ("llama", "llama 3"),
        ("llama", "llama longrope"),
        ("mistral", "mistral with a window"),
        ("qwen2", "qwen2 yarn"),
        ("gemma3", "gemma3 stretched"),
    ):
        first, second = (torch.tensor(CASES[case]["logits"][-1]) for case in (plain, special))
        assert (first - second).abs().max() > 0.05, special


WINDOWED = (None, 8, 40, 8)
EXACT = {
    family: tiny_model(5, family=family, num_layers=4, layer_windows=WINDOWED, deterministic=True)
    for family in FAMILY_NAMES
}


@pytest.mark.parametrize("family", FAMILY_NAMES)
@settings(max_examples=8)
@given(data=st.data(), length=st.integers(2, 330))
def test_chunks_and_company_do_not_change_a_bit(family: str, data: st.DataObject, length: int) -> None:
    loaded = EXACT[family]
    generator = torch.Generator().manual_seed(length)
    tokens = torch.randint(0, 256, (length,), generator=generator).tolist()
    pool = KVPool(loaded.config, 2 * length + 20, torch.float32, "cpu")
    slots = torch.randperm(2 * length + 20, generator=generator)
    context, other = Context(slots[:length]), Context(slots[length : length + 20])
    while context.length < length:
        size = data.draw(st.integers(1, length - context.length))
        work = [(context, tokens[context.length : context.length + size])]
        if other.length < 20:
            work.insert(0, (other, [other.length + 1]))
        found = step(loaded, pool, work)
    assert torch.equal(found[-1:], logits_of(loaded, tokens))


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_what_left_every_window_does_not_matter(family: str) -> None:
    """Keys behind the window may be another sequence's by now, or not even numbers."""
    loaded = tiny_model(6, family=family, layer_windows=(8, 8))
    tokens = torch.randint(0, 256, (50,), generator=torch.Generator().manual_seed(1)).tolist()
    pool, context = KVPool(loaded.config, 60, torch.float32, "cpu"), Context(torch.arange(50))
    step(loaded, pool, [(context, tokens[:-1])])
    pool.k[:, : 49 - 7] = float("nan")
    pool.v[:, : 49 - 7] = float("nan")
    found = step(loaded, pool, [(context, tokens[-1:])])
    torch.testing.assert_close(found, logits_of(loaded, tokens), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_bfloat16_stays_close(family: str) -> None:
    tokens = list(b"the tide comes in twice a day")
    dtypes = (torch.float32, torch.bfloat16)
    exact, rounded = (logits_of(tiny_model(2, family=family, dtype=dtype), tokens) for dtype in dtypes)
    assert rounded.dtype == torch.float32
    assert (exact - rounded).abs().max() < 1.0
