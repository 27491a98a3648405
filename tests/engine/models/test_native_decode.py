"""The native decode step against the torch path: families, head shapes, dtypes, batches, orders of slots."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from promptcache_engine.kernels.native import Library, NativeUnavailableError, PackedMatrix
from promptcache_engine.models import DecoderModel, ForwardBatch, KVPool, LoadedModel, SequenceSlice
from promptcache_engine.models.native_check import add_native_decode, divergence
from promptcache_engine.models.native_decode import NativeDecoder
from promptcache_engine.models.testing import FAMILY_NAMES, tiny_model
from tests.engine.models.steps import Context, step

SHAPES = (
    {"hidden_size": 64, "num_heads": 4, "num_kv_heads": 2},
    {"hidden_size": 96, "num_heads": 6, "num_kv_heads": 1, "intermediate_size": 160},
    {"hidden_size": 192, "num_heads": 3, "num_kv_heads": 3, "layer_windows": (6, None)},
    {"hidden_size": 160, "num_heads": 10, "num_kv_heads": 2, "intermediate_size": 32},
)
CLOSE = 0.01  # nat; a wrong slot, angle or weight gives more than 1


@pytest.fixture
def loaded(library: Library) -> LoadedModel:
    """A tiny model with its native step."""
    made = tiny_model(**SHAPES[0])  # type: ignore[arg-type]
    add_native_decode(made.model, library)
    return made


def apart(expected: Tensor, found: Tensor) -> float:
    """Mean divergence of logits' distributions, in nat."""
    expected, found = torch.log_softmax(expected, -1), torch.log_softmax(found, -1)
    return float((expected.exp() * (expected - found)).sum(-1).mean())


@pytest.mark.parametrize("family", FAMILY_NAMES)
@pytest.mark.parametrize("shape", SHAPES, ids=["2x2", "6x1", "1x3-window", "5x2"])
def test_it_agrees_with_torch(library: Library, family: str, shape: dict[str, int]) -> None:
    for seed, dtype in enumerate((torch.float32, torch.bfloat16, torch.float16)):
        model = tiny_model(seed, family=family, dtype=dtype, **shape).model  # type: ignore[arg-type]
        assert divergence(model, NativeDecoder(model.config, model.weights, library)) < CLOSE


def test_the_check_sees_what_is_wrong(library: Library) -> None:
    model = tiny_model(**SHAPES[0]).model  # type: ignore[arg-type]
    other = tiny_model(seed=1, **SHAPES[0]).model  # type: ignore[arg-type]
    assert divergence(model, NativeDecoder(model.config, other.weights, library)) > 1
    config = replace(model.config, attention_scale=1.0)
    assert divergence(model, NativeDecoder(config, model.weights, library)) > CLOSE


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 30.0])
def test_a_packed_matrix_that_is_not_the_models(library: Library, value: float) -> None:
    made = tiny_model(**SHAPES[0])  # type: ignore[arg-type]
    layer = made.model.weights.layers[1]
    layer.down.weight[3] = value  # type: ignore[attr-defined]
    packed = library.pack_floats(torch.zeros(64, 64))
    object.__setattr__(layer.down, "packed", packed)
    with pytest.raises(NativeUnavailableError, match=r"differ from torch's by .* nat"):
        add_native_decode(made.model, library)
    assert made.model.native is None


def test_deterministic_models_have_none(library: Library) -> None:
    with pytest.raises(NativeUnavailableError, match="one numeric path"):
        add_native_decode(tiny_model(deterministic=True).model, library)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({"hidden_size": 48, "num_heads": 3, "num_kv_heads": 3}, "hidden size, 48"),
        ({"hidden_size": 32, "num_heads": 4, "num_kv_heads": 2}, "head size, 8"),
        ({"hidden_size": 64, "num_heads": 4, "intermediate_size": 72}, "inner size, 72"),
    ],
)
def test_shapes_it_does_not_serve(library: Library, shape: dict[str, int], reason: str) -> None:
    model = tiny_model(**shape).model  # type: ignore[arg-type]
    with pytest.raises(NativeUnavailableError, match=reason):
        NativeDecoder(model.config, model.weights, library)


@settings(max_examples=20)
@given(
    lengths=st.lists(st.integers(1, 50), min_size=1, max_size=9),
    seed=st.integers(0, 2**16),
    window=st.sampled_from([None, 1, 7, 100]),
)
def test_any_batch_of_any_slots(library: Library, lengths: list[int], seed: int, window: int | None) -> None:
    """A row's bits are those it has alone; keys and values lie where they belong and nowhere else."""
    made = tiny_model(layer_windows=(window, None), **SHAPES[0])  # type: ignore[arg-type]
    native = NativeDecoder(made.config, made.model.weights, library)
    generator = torch.Generator().manual_seed(seed)
    room = sum(lengths) + 5
    order = torch.randperm(room, generator=generator)
    pool = KVPool(made.config, room, torch.float32, "cpu")
    pool.k.fill_(float("nan")), pool.v.fill_(float("nan"))
    contexts = []
    for length in lengths:
        context, order = Context(order[:length]), order[length:]
        if length > 1:
            tokens = torch.randint(256, (length - 1,), generator=generator).tolist()
            step(made, pool, [(context, tokens)])
        contexts.append(context)
    before = pool.k.clone()
    whole = decode_step(made.model, native, pool, contexts)
    assert torch.isfinite(whole).all()
    written = {int(context.slots[-1]) for context in contexts}
    changed = (pool.k.nan_to_num(7) != before.nan_to_num(7)).any(-1).any(0).nonzero().flatten().tolist()
    assert set(changed) == written
    for row, context in enumerate(contexts):
        assert torch.equal(decode_step(made.model, native, pool, [context])[0], whole[row])


def decode_step(model: DecoderModel, native: NativeDecoder, pool: KVPool, contexts: list[Context]) -> Tensor:
    """The last token of each context, which is always the same one."""
    last = torch.stack([context.slots[-1] for context in contexts])
    windowed = tuple(last for _ in model.config.windows)
    batch = ForwardBatch(
        torch.full((len(contexts),), 65),
        torch.tensor([len(context.slots) - 1 for context in contexts]),
        last,
        [
            SequenceSlice(row, 1, context.slots, tuple(context.slots for _ in windowed))
            for row, context in enumerate(contexts)
        ],
        torch.arange(len(contexts)),
        windowed,
    )
    return model.forward_native(native, batch, pool)


def test_a_mixed_step_is_split(loaded: LoadedModel) -> None:
    """Answers' tokens are native and prompts' in torch, whatever is computed beside them."""
    pool = KVPool(loaded.config, 90, torch.float32, "cpu")
    slots = torch.randperm(90)
    first, prompt, second = Context(slots[:30]), Context(slots[30:60]), Context(slots[60:])
    text = list(b"the harbour lies to the north")
    step(loaded, pool, [(first, text[:20]), (second, text[5:12])])
    mixed = step(loaded, pool, [(first, text[:1]), (prompt, text[:9]), (second, text[3:4])])
    first.length, second.length, prompt.length = 20, 7, 0
    native = step(loaded, pool, [(first, text[:1]), (second, text[3:4])])
    alone = step(loaded, pool, [(prompt, text[:9])])
    assert torch.equal(mixed, torch.stack((native[0], alone[0], native[1])))
    first.length, second.length = 20, 7
    kernel, loaded.model.native = loaded.model.native, None
    torch_only = step(loaded, pool, [(first, text[:1]), (second, text[3:4])])
    loaded.model.native = kernel
    assert not torch.equal(native, torch_only)
    assert apart(torch_only, native) < CLOSE


def test_what_is_not_a_number_stays_so(loaded: LoadedModel) -> None:
    """A poisoned sequence must be seen by its logits, and must not harm the others of its step."""
    pool = KVPool(loaded.config, 20, torch.float32, "cpu")
    sound, poisoned = Context(torch.arange(10)), Context(torch.arange(10, 20))
    step(loaded, pool, [(sound, [1, 2, 3]), (poisoned, [1, 2, 3])])
    pool.v[0, 11, 0] = float("nan")
    logits = step(loaded, pool, [(sound, [4]), (poisoned, [4])])
    assert torch.isfinite(logits[0]).all()
    assert logits[1].isnan().all()


def test_two_pools_at_once(loaded: LoadedModel) -> None:
    """One model may serve two engines."""
    pools = [KVPool(loaded.config, 20, torch.float32, "cpu") for _ in range(2)]
    contexts = [Context(torch.arange(20)), Context(torch.arange(20).flip(0))]
    found = []
    for token in (72, 101, 121):
        found += [step(loaded, pool, [(each, [token])]) for pool, each in zip(pools, contexts, strict=True)]
    assert all(torch.equal(*found[at : at + 2]) for at in (0, 2, 4))


def test_threads_change_no_bit(loaded: LoadedModel) -> None:
    pool = KVPool(loaded.config, 60, torch.float32, "cpu")
    context = Context(torch.arange(60))
    step(loaded, pool, [(context, list(b"some words to begin with"))])
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        context.length = 24
        found.append(step(loaded, pool, [(context, [65])]))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_weights_keep_the_bits_of_their_file(library: Library) -> None:
    matrix = library.pack_floats(torch.randn(5, 32))
    assert isinstance(matrix, PackedMatrix)
    assert (matrix.bits, matrix.rows, matrix.columns, matrix.data.nbytes) == (8, 5, 32, 544)
