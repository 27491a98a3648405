"""Folders as the Hugging Face hub has them: shards, dtypes, older keys; each fault named by file and key."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from promptcache_engine.models import load_model
from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.models.rope_settings import (
    DivisorScaling,
    LinearScaling,
    Llama3Scaling,
    RopeSettings,
    YarnScaling,
)
from promptcache_engine.models.testing import CHATML_TEMPLATE
from tests.engine.models.family_files import tensors_of, write_folder, write_json, write_tensors
from tests.engine.models.steps import logits_of

PROMPT = [1, 2, 3, 200]


def change(folder: Path, **values: Any) -> Path:
    """Replace keys of a folder's config.json; None takes one away."""
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), **values}
    write_json(path, {key: value for key, value in config.items() if value is not None})
    return folder


def refusal(folder: Path) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        load_model(folder)
    assert caught.value.remedy
    return caught.value


def test_shards_are_one_model(tmp_path: Path) -> None:
    whole = load_model(write_folder(tmp_path / "one", "qwen3"))
    parts = load_model(write_folder(tmp_path / "three", "qwen3", shards=3))
    torch.testing.assert_close(logits_of(whole, PROMPT), logits_of(parts, PROMPT))


@pytest.mark.parametrize("case", ["llama", "gemma3"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_other_dtypes_are_converted(tmp_path: Path, case: str, dtype: torch.dtype) -> None:
    exact = logits_of(load_model(write_folder(tmp_path / "exact", case)), PROMPT)
    rounded = load_model(write_folder(tmp_path / "rounded", case, dtype=dtype))
    assert rounded.model.dtype == torch.float32
    torch.testing.assert_close(logits_of(rounded, PROMPT), exact, atol=0.5, rtol=0.05)


def test_the_small_files_are_read(tmp_path: Path) -> None:
    loaded = load_model(write_folder(tmp_path, "llama"))
    assert loaded.config.eos_token_ids == loaded.tokenizer.eos_token_ids == (257, 258)
    assert loaded.tokenizer.bos_token_id == 256
    assert not loaded.tokenizer.adds_bos
    prompt = loaded.require_chat_template().render([{"role": "user", "content": "hello"}])
    assert loaded.tokenizer.encode(prompt)[0] == 256
    assert loaded.compile_chat_template("{{ bos_token }}{{ eos_token }}").render([]) == "<|im_start|><|end|>"


def test_the_chat_template_may_be_a_file_or_one_of_several(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, "llama")
    several = [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]
    write_json(folder / "tokenizer_config.json", {"chat_template": several})
    assert load_model(folder).require_chat_template().source == "D"
    (folder / "chat_template.jinja").write_text(CHATML_TEMPLATE)
    assert load_model(folder).require_chat_template().source == CHATML_TEMPLATE
    (folder / "chat_template.jinja").unlink()
    write_json(folder / "tokenizer_config.json", {})
    assert load_model(folder).chat_template is None


def test_names_follow_the_folder(tmp_path: Path) -> None:
    assert load_model(write_folder(tmp_path / "my-model", "llama")).config.name == "my-model"
    snapshot = tmp_path / "models--owner--Some-Model" / "snapshots" / "0123abc"
    assert load_model(write_folder(snapshot, "llama")).config.name == "Some-Model"


OLDER_ROPES = [
    ({"rope_theta": 5e5}, RopeSettings(5e5)),
    ({"rope_scaling": {"type": "linear", "factor": 2.0}}, RopeSettings(1e4, LinearScaling(2.0))),
    (
        {
            "rope_theta": 5e5,
            "rope_scaling": {
                "rope_type": "llama3",
                "factor": 32.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            },
        },
        RopeSettings(5e5, Llama3Scaling(32.0, 1.0, 4.0, 64)),
    ),
    (
        {"rope_scaling": {"type": "yarn", "factor": 4.0, "attention_factor": 1.5}},
        RopeSettings(1e4, YarnScaling(4.0, 256, 1.5)),
    ),
    (
        {
            "original_max_position_embeddings": 256,
            "rope_scaling": {"type": "longrope", "short_factor": [1, 2, 3, 4], "long_factor": [5, 5, 5, 5]},
        },
        RopeSettings(1e4, DivisorScaling((1.0, 2.0, 3.0, 4.0), 1.0)),
    ),
]


@pytest.mark.parametrize(("keys", "expected"), OLDER_ROPES, ids=lambda value: str(value)[:40])
def test_older_rotary_keys(tmp_path: Path, keys: dict[str, Any], expected: RopeSettings) -> None:
    folder = change(write_folder(tmp_path, "llama"), rope_parameters=None, **keys)
    config = load_model(folder).config
    assert config.rope == expected
    assert config.window_rope is None


def test_older_gemma_3_keys(tmp_path: Path) -> None:
    new = load_model(write_folder(tmp_path / "new", "gemma3 stretched"))
    old = change(
        write_folder(tmp_path / "old", "gemma3 stretched"),
        rope_parameters=None,
        layer_types=None,
        rope_theta=100_000.0,
        rope_scaling={"rope_type": "linear", "factor": 8.0},
        rope_local_base_freq=1_000.0,
        sliding_window_pattern=2,
    )
    torch.testing.assert_close(logits_of(load_model(old), PROMPT * 9), logits_of(new, PROMPT * 9))


def test_a_model_that_reads_images_serves_its_language_model(tmp_path: Path) -> None:
    plain = load_model(write_folder(tmp_path / "plain", "gemma3"))
    for number, prefix in enumerate(("model.language_model.", "language_model.model.")):
        folder = write_folder(tmp_path / str(number), "gemma3")
        inner = json.loads((folder / "config.json").read_text())
        write_json(folder / "config.json", {"model_type": "gemma3", "text_config": inner})
        named = {name.replace("model.", prefix, 1): values for name, values in tensors_of("gemma3").items()}
        tensors = {name: torch.from_numpy(values) for name, values in named.items()}
        write_tensors(folder, {**tensors, "vision_tower.x.weight": torch.zeros(3)})
        torch.testing.assert_close(logits_of(load_model(folder), PROMPT), logits_of(plain, PROMPT))


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"model_type": "mamba"}, "model_type"),
        ({"model_type": None}, "model_type"),
        ({"hidden_size": None}, "hidden_size"),
        ({"num_hidden_layers": "three"}, "num_hidden_layers"),
        ({"num_attention_heads": 0}, "num_attention_heads"),
        ({"hidden_act": "relu"}, "hidden_act"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantization_config"),
        ({"layer_types": ["linear_attention"] * 3}, "layer_types"),
        ({"layer_types": ["sliding_attention"] * 3}, "layer_types"),
        ({"rope_parameters": None, "rope_scaling": {"type": "dynamic", "factor": 2.0}}, "rope_type"),
        ({"rope_parameters": {"rope_type": "linear"}}, "factor"),
        ({"rope_parameters": {"rope_type": "longrope", "factor": 2.0}}, "short_factor"),
        ({"rope_parameters": [1]}, "rope_scaling"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor"),
    ],
)
def test_what_is_not_computed_is_refused_by_key(tmp_path: Path, values: dict[str, Any], where: str) -> None:
    error = refusal(change(write_folder(tmp_path, "llama"), **values))
    assert error.where == f"key {where}"


@pytest.mark.parametrize(
    "values",
    [
        {"num_key_value_heads": 3},
        {"rope_parameters": {"rope_type": "yarn", "factor": -1.0}},
        {"rope_parameters": {"rope_type": "yarn", "original_max_position_embeddings": 0}},
        {
            "rope_parameters": {
                "rope_type": "longrope",
                "original_max_position_embeddings": 0,
                "long_factor": [1, 1, 1, 1],
            }
        },
        {"rms_norm_eps": -1.0},
    ],
)
def test_numbers_that_contradict_each_other(tmp_path: Path, values: dict[str, Any]) -> None:
    refusal(change(write_folder(tmp_path, "llama"), **values))


def test_dynamic_scaling_says_what_to_do(tmp_path: Path) -> None:
    folder = change(write_folder(tmp_path, "llama"), rope_parameters={"rope_type": "dynamic", "factor": 2.0})
    assert "Remove rope_scaling" in refusal(folder).remedy


def test_missing_surplus_and_misshapen_tensors_are_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, "qwen2")
    tensors = {name: torch.from_numpy(values) for name, values in tensors_of("qwen2").items()}
    for name in ("model.layers.1.self_attn.k_proj.bias", "model.norm.weight", "model.embed_tokens.weight"):
        write_tensors(folder, {key: value for key, value in tensors.items() if key != name})
        assert refusal(folder).where == f"tensor {name}"
        write_tensors(folder, {**tensors, name: torch.zeros(3)})
        assert refusal(folder).where == f"tensor {name}"
    surplus = "model.layers.0.self_attn.sinks"
    write_tensors(folder, {**tensors, surplus: torch.zeros(4)})
    error = refusal(folder)
    assert isinstance(error, UnsupportedModelError)
    assert error.where == f"tensor {surplus}"
    for value, dtype in ((torch.nan, torch.float32), (torch.inf, torch.bfloat16)):
        write_tensors(folder, {**tensors, "model.norm.weight": torch.full((32,), value, dtype=dtype)})
        error = refusal(folder)
        assert (error.where, "no finite numbers" in str(error)) == ("tensor model.norm.weight", True)
    write_tensors(folder, {**tensors, "model.norm.weight": torch.zeros(32, dtype=torch.int8)})
    assert "int8" in str(refusal(folder))


def test_a_tied_head_written_twice_is_read_once(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, "qwen2")
    expected = logits_of(load_model(folder), PROMPT)
    tensors = {name: torch.from_numpy(values) for name, values in tensors_of("qwen2").items()}
    write_tensors(folder, {**tensors, "lm_head.weight": torch.zeros(260, 32)})
    torch.testing.assert_close(logits_of(load_model(folder), PROMPT), expected)


def test_broken_and_missing_files_are_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "a", "llama")
    (folder / "tokenizer.json").write_text("{}")
    assert "tokenizer.json" in str(refusal(folder))
    (folder / "tokenizer.json").unlink()
    assert "no tokenizer.json" in str(refusal(folder))
    folder = write_folder(tmp_path / "b", "llama")
    (folder / "model.safetensors").write_bytes(b"\x00" * 40)
    assert "model.safetensors" in str(refusal(folder))
    (folder / "model.safetensors").unlink()
    assert "neither" in str(refusal(folder))
    folder = write_folder(tmp_path / "c", "llama", shards=2)
    (folder / "model-00002-of-00002.safetensors").unlink()
    assert "model-00002-of-00002.safetensors" in str(refusal(folder))
    for text in ("[]", "[" * 100_000):
        (folder / "model.safetensors.index.json").write_text(text)
        assert refusal(folder).where == "key weight_map"
    (folder / "config.json").write_text("{")
    assert "not JSON" in str(refusal(folder))
    (folder / "config.json").unlink()
    assert "no config.json" in str(refusal(folder))


def test_files_outside_the_folder_are_not_read(tmp_path: Path) -> None:
    """An index may name a path; only its last part counts."""
    folder = write_folder(tmp_path / "model", "llama", shards=2)
    index = folder / "model.safetensors.index.json"
    outside = tmp_path / "outside.safetensors"
    save_file({"x": torch.zeros(1)}, outside)
    weight_map = dict.fromkeys(json.loads(index.read_text())["weight_map"], "../outside.safetensors")
    write_json(index, {"weight_map": weight_map})
    assert str(folder / "outside.safetensors") in str(refusal(folder))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_a_bottomless_file_is_named(tmp_path: Path, name: str) -> None:
    folder = write_folder(tmp_path, "llama")
    (folder / name).write_text("[" * 100_000)
    assert refusal(folder).path == str(folder / name)


def test_templates_without_proper_names_are_passed_over(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, "llama")
    write_json(folder / "tokenizer_config.json", {"chat_template": [{"name": ["x"], "template": 3}, 5]})
    assert load_model(folder).chat_template is None


def test_a_vocabulary_out_of_all_proportion_is_refused_before_it_is_made(tmp_path: Path) -> None:
    told = refusal(change(write_folder(tmp_path, "llama"), vocab_size=10**15))
    assert told.where == "key vocab_size"
    assert "1000000000000000" in str(told)


@pytest.mark.parametrize("key", ["bos_token_id", "eos_token_id"])
@pytest.mark.parametrize("value", ["x", -1, 10**9, 2.5, True, [257, "x"]], ids=str)
def test_a_role_s_token_that_is_none_is_refused_by_key(tmp_path: Path, key: str, value: Any) -> None:
    told = refusal(change(write_folder(tmp_path, "llama"), **{key: value}))
    assert told.where == f"key {key}"


def test_one_token_only_begins_a_text(tmp_path: Path) -> None:
    assert refusal(change(write_folder(tmp_path, "llama"), bos_token_id=[256])).where == "key bos_token_id"
