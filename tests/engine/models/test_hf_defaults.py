"""A configuration that leaves keys out means what transformers takes it to mean.

The expected numbers are recorded by scripts/make_config_reference.py.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from promptcache_engine.models import ModelConfig, load_model
from promptcache_engine.models.errors import ModelFileError
from promptcache_engine.models.hf_config import read_hf_config
from promptcache_engine.models.rope_settings import LinearScaling, RopeSettings
from tests.engine.models.family_cases import PROMPT
from tests.engine.models.family_files import write_folder, write_json
from tests.engine.models.steps import logits_of

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parent / "reference/configs.json").read_text(encoding="utf-8")
)["cases"]
SIZES = {
    "num_layers": "num_hidden_layers",
    "hidden_size": "hidden_size",
    "num_heads": "num_attention_heads",
    "num_kv_heads": "num_key_value_heads",
    "intermediate_size": "intermediate_size",
    "vocab_size": "vocab_size",
    "context_length": "max_position_embeddings",
    "rms_eps": "rms_norm_eps",
    "tied_embeddings": "tie_word_embeddings",
}


def read(given: dict[str, Any]) -> ModelConfig:
    return read_hf_config("model/config.json", given, ())


def rope_of(means: dict[str, Any]) -> RopeSettings:
    scaling = LinearScaling(means["factor"]) if means["rope_type"] == "linear" else None
    return RopeSettings(means["rope_theta"], scaling)


def windows_of(means: dict[str, Any]) -> list[int | None]:
    """Of a class without a pattern every layer has the window, where it has one at all."""
    window, kinds = means.get("sliding_window"), means.get("layer_types")
    if kinds is None:
        return [window] * means["num_hidden_layers"]
    return [window if kind == "sliding_attention" else None for kind in kinds]


@pytest.mark.parametrize("case", sorted(CASES))
def test_what_is_left_out_is_what_transformers_takes(case: str) -> None:
    config, means = read(CASES[case]["given"]), CASES[case]["means"]
    assert {ours: getattr(config, ours) for ours in SIZES} == {
        ours: means[theirs] for ours, theirs in SIZES.items()
    }
    head_dim = means.get("head_dim") or means["hidden_size"] // means["num_attention_heads"]
    assert config.head_dim == head_dim
    assert list(config.layer_windows or [None] * config.num_layers) == windows_of(means)
    assert config.query_scale == pytest.approx(means.get("query_pre_attn_scalar", head_dim) ** -0.5)
    assert config.attention_softcap == means.get("attn_logit_softcapping")
    assert config.final_softcap == means.get("final_logit_softcapping")


@pytest.mark.parametrize("case", sorted(CASES))
def test_so_are_the_rotary_bases(case: str) -> None:
    config, rope = read(CASES[case]["given"]), CASES[case]["means"]["rope_parameters"]
    if "full_attention" in rope:
        assert config.rope == rope_of(rope["full_attention"])
        assert config.window_rope == rope_of(rope["sliding_attention"])
    else:
        assert (config.rope, config.window_rope) == (rope_of(rope), None)


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_a_size_that_every_llama_states_is_missed(key: str) -> None:
    given = {name: value for name, value in CASES["llama"]["given"].items() if name != key}
    with pytest.raises(ModelFileError) as caught:
        read(given)
    assert caught.value.where == f"key {key}"


HOSTILE = [
    ({key: value}, key)
    for key in (
        "num_hidden_layers",
        "hidden_size",
        "intermediate_size",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "vocab_size",
        "max_position_embeddings",
    )
    for value in (0, -3, 2**60, 10**400)
] + [
    ({"num_hidden_layers": 2**40}, "num_hidden_layers"),
    ({"sliding_window": -1}, "sliding_window"),
    ({"sliding_window": 10**30}, "sliding_window"),
    ({"rms_norm_eps": 10**400}, "rms_norm_eps"),
    ({"query_pre_attn_scalar": -8}, "query_pre_attn_scalar"),
    ({"query_pre_attn_scalar": float("nan")}, "query_pre_attn_scalar"),
]


@pytest.mark.parametrize("case", ["mistral", "gemma3 text"])
@pytest.mark.parametrize(("values", "key"), HOSTILE, ids=lambda value: str(value)[:40])
def test_a_size_out_of_all_proportion_is_refused_by_key(case: str, values: dict[str, Any], key: str) -> None:
    """All with a window, which makes an entry for each layer that is claimed."""
    with pytest.raises(ModelFileError) as caught:
        read({**CASES[case]["given"], **values})
    assert caught.value.where == f"key {key}"
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("key", ["sliding_window_pattern", "max_window_layers"])
def test_so_is_a_pattern_of_windows(key: str) -> None:
    case = "gemma3 text" if key == "sliding_window_pattern" else "qwen2 with windows"
    with pytest.raises(ModelFileError) as caught:
        read({**CASES[case]["given"], key: -1})
    assert caught.value.where == f"key {key}"


@pytest.mark.parametrize("case", ["llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3"])
def test_logits_are_the_same_without_the_keys(tmp_path: Path, case: str) -> None:
    """Keys with their class's own value in the case may as well be absent."""
    logits = []
    for name, left_out in (("full", ()), ("sparse", ("rms_norm_eps", "rope_parameters", "layer_types"))):
        folder = write_folder(tmp_path / name, case)
        config = json.loads((folder / "config.json").read_text())
        if case == "gemma3":
            config["sliding_window_pattern"] = 2
        write_json(folder / "config.json", {key: config[key] for key in config.keys() - set(left_out)})
        logits.append(logits_of(load_model(folder), PROMPT))
    assert torch.equal(*logits)


def test_a_llama_has_no_windows() -> None:
    """transformers passes over the key in this class."""
    assert read({**CASES["llama"]["given"], "sliding_window": 8}).layer_windows == ()


def test_no_window_is_taken_from_a_qwen_that_uses_none() -> None:
    given = {**CASES["qwen2"]["given"], "layer_types": ["sliding_attention"] * 7}
    with pytest.raises(ModelFileError) as caught:
        read(given)
    assert caught.value.where == "key layer_types"
