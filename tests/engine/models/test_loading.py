"""A model built from a file computes what its weights say, and a file with a fault is refused by name."""

import contextlib
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptcache_engine.models import load_model
from promptcache_engine.models.errors import ChatTemplateMissingError, ModelError, ModelFileError
from promptcache_engine.models.gguf_tensors import half_split
from promptcache_engine.models.rope_settings import LinearScaling
from promptcache_engine.models.testing import FAMILY_NAMES, tiny_model
from tests.engine.gguf_files import SIZES, f32, floats, gguf_bytes, llama_metadata, llama_tensors, write_llama
from tests.engine.models.steps import logits_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


def refusal(path: Path, **faults: Any) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        load_model(write_llama(path, **faults))
    assert caught.value.remedy
    return caught.value


def test_half_split_undoes_llama_cpp_order() -> None:
    heads, dim, columns = 3, 8, 5
    ours = torch.randn(heads * dim, columns)
    stored = ours.view(heads, 2, dim // 2, columns).transpose(1, 2).reshape(heads * dim, columns)
    assert torch.equal(half_split(stored, heads), ours)


def test_a_loaded_model_computes_what_its_weights_say(path: Path) -> None:
    """An independent forward, interleaved as llama.cpp stores it, over the same file."""
    loaded = load_model(write_llama(path))
    tokens = loaded.tokenizer.encode("<|im_start|>hello world 12")
    found = logits_of(loaded, tokens)
    torch.testing.assert_close(found.double(), interleaved_forward(tokens), atol=1e-4, rtol=1e-4)


def interleaved_forward(tokens: list[int]) -> torch.Tensor:
    weights = {
        name: torch.from_numpy(np.frombuffer(raw, np.float32).reshape(shape).astype(np.float64))
        for name, (shape, _, raw) in llama_tensors().items()
    }
    heads, kv_heads = SIZES["heads"], SIZES["kv_heads"]
    dim = SIZES["hidden"] // heads
    count = len(tokens)
    turns = torch.outer(torch.arange(count).double(), 10000.0 ** -(torch.arange(0, dim, 2).double() / dim))

    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight

    def rotate(x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.reshape(count, -1, dim // 2, 2).contiguous())
        turned = pairs * torch.polar(torch.ones_like(turns), turns)[:, None]
        return torch.view_as_real(turned).flatten(2)

    x = weights["token_embd.weight"][tokens]
    for layer in range(SIZES["layers"]):
        own = {key.split(".")[2]: item for key, item in weights.items() if key.startswith(f"blk.{layer}.")}
        h = norm(x, own["attn_norm"])
        query = rotate(h @ own["attn_q"].T)
        key = rotate(h @ own["attn_k"].T).repeat_interleave(heads // kv_heads, 1)
        value = (h @ own["attn_v"].T).view(count, kv_heads, dim).repeat_interleave(heads // kv_heads, 1)
        scores = torch.einsum("ihd,jhd->hij", query, key) / dim**0.5
        scores += torch.full((count, count), -torch.inf).triu(1)
        x = x + torch.einsum("hij,jhd->ihd", scores.softmax(-1), value).flatten(1) @ own["attn_output"].T
        h = norm(x, own["ffn_norm"])
        gate = h @ own["ffn_gate"].T
        x = x + (gate * gate.sigmoid() * (h @ own["ffn_up"].T)) @ own["ffn_down"].T
    return norm(x[-1:], weights["output_norm.weight"]) @ weights["token_embd.weight"].T


def test_numbers_come_from_the_file(path: Path) -> None:
    config = load_model(write_llama(path)).config
    assert (config.num_layers, config.hidden_size, config.head_dim, config.kv_width) == (2, 32, 8, 16)
    assert (config.context_length, config.tied_embeddings, config.name) == (256, True, "tiny")
    assert config.rms_eps == pytest.approx(1e-5)


@pytest.mark.parametrize("name", ["token_embd.weight", "blk.1.attn_q.weight", "blk.0.ffn_norm.weight"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused_by_name(path: Path, name: str, value: float) -> None:
    shape, _, raw = llama_tensors()[name]
    values = np.frombuffer(raw, np.float32).reshape(shape).copy()
    values.flat[-1] = value
    error = refusal(path, tensors={name: f32(values)})
    assert "no finite numbers" in str(error)
    assert error.where == f"tensor {name}"


def test_an_untied_head_is_used(path: Path) -> None:
    shape = llama_tensors()["token_embd.weight"][0]
    loaded = load_model(write_llama(path, tensors={"output.weight": f32(np.zeros(shape))}))
    assert not loaded.config.tied_embeddings
    assert not logits_of(loaded, [1, 2, 3]).any()


def test_missing_head_count_kv_means_no_sharing(path: Path) -> None:
    square = {f"blk.{i}.attn_{x}.weight": f32(np.eye(32)) for i in range(2) for x in "kv"}
    loaded = load_model(write_llama(path, tensors=square, without=("llama.attention.head_count_kv",)))
    assert loaded.config.num_kv_heads == loaded.config.num_heads


def test_linear_rope_scaling_stretches_positions(path: Path) -> None:
    scaling = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}
    assert load_model(write_llama(path, metadata=scaling)).config.rope.scaling == LinearScaling(4.0)
    tokens = [5, 6, 7, 8]
    scaled = logits_of(load_model(path), tokens)
    factors = {"rope_freqs.weight": f32(np.full(4, 4.0))}
    by_factors = logits_of(load_model(write_llama(path, tensors=factors)), tokens)
    plain = logits_of(load_model(write_llama(path)), tokens)
    torch.testing.assert_close(scaled, by_factors)
    assert (scaled - plain).abs().max() > 1e-3


def test_bfloat16_weights_stay_close(path: Path) -> None:
    write_llama(path)
    exact = logits_of(load_model(path), [1, 2, 3])
    rounded = logits_of(load_model(path, dtype=torch.bfloat16), [1, 2, 3])
    assert rounded.dtype == torch.float32
    assert (exact - rounded).abs().max() < 0.2


def test_a_file_without_chat_template_says_so_when_asked(path: Path) -> None:
    loaded = load_model(write_llama(path, without=("tokenizer.chat_template",)))
    assert loaded.chat_template is None
    with pytest.raises(ChatTemplateMissingError, match="--chat-template") as caught:
        loaded.require_chat_template()
    assert caught.value.model == "tiny"


def test_templates_know_the_files_special_tokens(path: Path) -> None:
    named = "{{ bos_token }}|{{ eos_token }}"
    loaded = load_model(write_llama(path, metadata={"tokenizer.chat_template": named}))
    assert loaded.require_chat_template().render([]) == "<|im_start|>|<|im_end|>"
    assert loaded.compile_chat_template(named + "!").render([]) == "<|im_start|>|<|im_end|>!"


@pytest.mark.parametrize(
    "key",
    [
        "general.architecture",
        "llama.block_count",
        "llama.context_length",
        "llama.embedding_length",
        "llama.feed_forward_length",
        "llama.attention.head_count",
        "llama.attention.layer_norm_rms_epsilon",
        "tokenizer.ggml.model",
        "tokenizer.ggml.tokens",
        "tokenizer.ggml.merges",
    ],
)
def test_a_missing_key_is_named(path: Path, key: str) -> None:
    error = refusal(path, without=(key,))
    assert "missing" in str(error)
    assert error.where == f"key {key}"


def test_a_sentencepiece_vocabulary_is_read(path: Path) -> None:
    tokens = [*llama_metadata()["tokenizer.ggml.tokens"][:-3], "<unk>", "<s>", "</s>"]
    tokens[:2] = ["\u2581h", "\u2581"]
    kinds = [1] * (len(tokens) - 3) + [2, 3, 3]
    metadata = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.scores": floats([-float(index) for index in range(len(tokens))]),
    }
    tokenizer = load_model(write_llama(path, metadata=metadata)).tokenizer
    assert tokenizer.adds_bos
    assert [tokenizer.token_text(token) for token in tokenizer.encode("h</s>")] == ["\u2581h", "</s>"]
    assert refusal(path, metadata={"tokenizer.ggml.model": "llama"}).where == "key tokenizer.ggml.scores"


@pytest.mark.parametrize("name", sorted(llama_tensors()))
def test_a_missing_tensor_is_named(path: Path, name: str) -> None:
    error = refusal(path, without=(name,))
    assert "missing" in str(error)
    assert error.where == f"tensor {name}"


@pytest.mark.parametrize("name", ["token_embd.weight", "blk.0.attn_k.weight", "blk.1.ffn_down.weight"])
def test_a_wrong_shape_is_named(path: Path, name: str) -> None:
    error = refusal(path, tensors={name: f32(np.zeros((3, 32)))})
    assert "(3, 32)" in str(error)
    assert error.where == f"tensor {name}"


@pytest.mark.parametrize(
    ("metadata", "where", "says"),
    [
        ({"general.architecture": "mamba"}, "general.architecture", "'mamba'"),
        ({"llama.expert_count": 8}, "llama.expert_count", "8"),
        ({"llama.expert_count": [0, 4]}, "llama.expert_count", "an array"),
        ({"llama.attention.causal": floats([])}, "llama.attention.causal", "an array"),
        ({"llama.attention.sliding_window": "4096"}, "llama.attention.sliding_window", "whole number"),
        ({"llama.rope.scaling.type": "dynamic"}, "llama.rope.scaling.type", "'dynamic'"),
        ({"llama.rope.scaling.type": "yarn"}, "llama.rope.scaling.factor", "missing"),
        ({"llama.rope.scaling.type": "linear"}, "llama.rope.scaling.factor", "missing"),
        ({"llama.rope.dimension_count": 4}, "llama.rope.dimension_count", "differs"),
        ({"split.count": 3}, "split.count", "3 files"),
        ({"llama.block_count": "two"}, "llama.block_count", "whole number"),
        ({"llama.attention.head_count": 0}, "llama.attention.head_count", "at least 1"),
        ({"tokenizer.ggml.model": "rwkv"}, "tokenizer.ggml.model", "'rwkv'"),
        ({"tokenizer.ggml.pre": "bloom"}, "tokenizer.ggml.pre", "'bloom'"),
        ({"tokenizer.ggml.eos_token_id": 9999}, "tokenizer.ggml.eos_token_id", "9999"),
        ({"tokenizer.ggml.token_type": [1, 1]}, "tokenizer.ggml.token_type", "2 token types"),
        ({"tokenizer.ggml.merges": ["h e", "q zz"]}, "tokenizer.ggml.merges", "merge 1"),
    ],
)
def test_what_is_not_computed_is_refused_by_key(
    path: Path, metadata: dict[str, Any], where: str, says: str
) -> None:
    error = refusal(path, metadata=metadata)
    assert error.where == f"key {where}"
    assert says in str(error)


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        ({"llama.attention.head_count_kv": 3}, "cannot share"),
        ({"llama.rope.freq_base": 0.0}, "rope_theta"),
        ({"llama.rope.freq_base": float("nan")}, "rope_theta"),
        ({"llama.attention.layer_norm_rms_epsilon": -1.0}, "rms_eps"),
    ],
)
def test_sizes_that_contradict_each_other(path: Path, metadata: dict[str, Any], says: str) -> None:
    assert says in str(refusal(path, metadata=metadata))


def test_an_unsupported_type_is_named(path: Path) -> None:
    error = refusal(path, tensors={"blk.0.attn_v.weight": ((16, 32), 20, bytes(300))})
    assert "IQ4_NL" in str(error)
    assert error.where == "tensor blk.0.attn_v.weight"


def test_a_tensor_nobody_wants_stops_the_load(path: Path) -> None:
    error = refusal(path, tensors={"blk.0.attn_sinks.weight": f32(np.zeros(4))})
    assert error.where == "tensor blk.0.attn_sinks.weight"


def test_a_bias_must_be_whole(path: Path) -> None:
    """Some Llamas have biases; one of three is a damaged file."""
    error = refusal(path, tensors={"blk.0.attn_q.bias": f32(np.zeros(32))})
    assert error.where == "tensor blk.0.attn_k.bias"


def test_a_chat_template_that_does_not_compile(path: Path) -> None:
    write_llama(path, metadata={"tokenizer.chat_template": "{% for %}"})
    with pytest.raises(ModelError, match=r"does not compile.*line 1"):
        load_model(path)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_loads_or_is_one_clear_error(tmp_path: Path, data: st.DataObject) -> None:
    sound = gguf_bytes(llama_metadata(), llama_tensors())
    head = sound.index(b"blk.1.ffn_norm.weight") + 60
    damaged = bytearray(sound)
    for at in data.draw(st.lists(st.integers(4, head), min_size=1, max_size=3)):
        damaged[at] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.gguf"
    path.write_bytes(damaged)
    with contextlib.suppress(ModelError):  # any other exception fails the test
        load_model(path)


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_tiny_model_is_the_same_for_the_same_seed(family: str) -> None:
    tokens = [72, 101, 108, 108, 111]
    first, again, other = (logits_of(tiny_model(seed, family=family), tokens) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)


@pytest.mark.parametrize(
    "key",
    [
        "block_count",
        "embedding_length",
        "context_length",
        "feed_forward_length",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
    ],
)
@pytest.mark.parametrize("value", [0, 2**60], ids=["none", "beyond all"])
def test_a_size_out_of_all_proportion_is_refused_by_key(path: Path, key: str, value: int) -> None:
    wide = struct.pack("<IQ", 10, value)
    error = refusal(path, metadata={f"llama.{key}": wide, "llama.attention.sliding_window": 8})
    assert error.where == f"key llama.{key}"


@pytest.mark.parametrize("pattern", [None, 2])
def test_layers_that_are_claimed_are_not_made(path: Path, pattern: int | None) -> None:
    """With a window there would be an entry for each."""
    windows = {"llama.attention.sliding_window": 8, "llama.attention.sliding_window_pattern": pattern}
    claimed = {"llama.block_count": 2**32 - 1, **{key: item for key, item in windows.items() if item}}
    assert refusal(path, metadata=claimed).where == "key llama.block_count"
