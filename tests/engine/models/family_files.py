"""Writes the tiny models of ``family_cases`` as Hugging Face folders and as GGUF files.

GGUF files are written with ggml's own package, by llama.cpp's names and conventions: rows of queries and keys
turned for Llama, norms with their one, divisors for Llama 3 and LongRoPE.
"""

import json
import math
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tokenizers
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from promptcache_engine.models.testing import CHATML_TEMPLATE
from promptcache_engine.tokenizer.byte_pair import byte_alphabet
from tests.engine.models.family_cases import weights_of

REFERENCE: dict[str, Any] = json.loads(
    (Path(__file__).parent / "reference/families.json").read_text(encoding="utf-8")
)
CASES: dict[str, Any] = REFERENCE["cases"]
CONTROL = ("<|im_start|>", "<|im_end|>", "<|end|>")
TOKENS = [*sorted(byte_alphabet(), key=lambda char: byte_alphabet()[char]), *CONTROL, "ab"]
ARCHITECTURES = {"mistral": "llama", "gemma3_text": "gemma3"}


def tensors_of(case: str) -> dict[str, np.ndarray]:
    """The case's weights under Hugging Face's names."""
    record = CASES[case]
    gemma = record["config"]["model_type"].startswith("gemma")
    return weights_of(record["shapes"], norms_offset_by_one=gemma)


def byte_tokenizer() -> tokenizers.Tokenizer:
    inner = tokenizers.Tokenizer(models.BPE({text: index for index, text in enumerate(TOKENS)}, [("a", "b")]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_tokens([AddedToken(text, special=True, normalized=False) for text in CONTROL])
    return inner


def write_folder(folder: Path, case: str, *, shards: int = 1, dtype: torch.dtype = torch.float32) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: torch.from_numpy(values).to(dtype) for name, values in tensors_of(case).items()}
    write_json(folder / "config.json", CASES[case]["config"])
    write_json(folder / "generation_config.json", {"eos_token_id": [257, 258]})
    names = {"bos_token": CONTROL[0], "eos_token": {"content": CONTROL[2]}}
    write_json(folder / "tokenizer_config.json", {**names, "chat_template": CHATML_TEMPLATE})
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    write_tensors(folder, tensors, shards)
    return folder


def write_json(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values), encoding="utf-8")


def write_tensors(folder: Path, tensors: dict[str, torch.Tensor], shards: int = 1) -> None:
    if shards == 1:
        save_file(tensors, folder / "model.safetensors")
        return
    names, where = sorted(tensors), {}
    for number in range(shards):
        file = f"model-{number + 1:05}-of-{shards:05}.safetensors"
        part = {name: tensors[name] for name in names[number::shards]}
        where |= dict.fromkeys(part, file)
        save_file(part, folder / file)
    write_json(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": where})


def write_gguf(path: Path, case: str) -> Path:
    config = CASES[case]["config"]
    architecture = ARCHITECTURES.get(config["model_type"], config["model_type"])
    writer = gguf.GGUFWriter(path, architecture)
    _write_numbers(writer, architecture, config)
    _write_rope(writer, config)
    _write_tokenizer(writer)
    kind = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    names = gguf.get_tensor_name_map(kind, config["num_hidden_layers"])
    for name, values in tensors_of(case).items():
        translated = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert translated is not None, name
        writer.add_tensor(translated, _as_llama_cpp(architecture, config, name, values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _as_llama_cpp(architecture: str, config: dict[str, Any], name: str, values: np.ndarray) -> np.ndarray:
    if architecture.startswith("gemma") and "norm" in name:
        return values + 1
    if architecture == "llama" and ("q_proj" in name or "k_proj" in name):
        heads = config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"]
        split = values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:])
        return np.ascontiguousarray(split.swapaxes(1, 2).reshape(values.shape))
    return values


def _write_numbers(writer: gguf.GGUFWriter, architecture: str, config: dict[str, Any]) -> None:
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    writer.add_name("tiny")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    if config.get("sliding_window"):
        writer.add_sliding_window(config["sliding_window"])
    if config.get("query_pre_attn_scalar", head_dim) != head_dim:
        writer.add_attention_scale(config["query_pre_attn_scalar"] ** -0.5)
    if "sliding_attention" in config.get("layer_types", ()) and architecture != "gemma2":
        writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])
    if architecture == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])


def _write_rope(writer: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    rope = config["rope_parameters"]
    if "full_attention" in rope:
        writer.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
        rope = rope["full_attention"]
    writer.add_rope_freq_base(rope["rope_theta"])
    kind = rope["rope_type"]
    if kind in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
        writer.add_rope_scaling_factor(rope["factor"])
    if kind in ("yarn", "longrope"):
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if kind == "longrope":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)
        stretch = config["max_position_embeddings"] / rope["original_max_position_embeddings"]
        attention = math.sqrt(1 + math.log(stretch) / math.log(rope["original_max_position_embeddings"]))
        writer.add_rope_scaling_attn_factors(attention)
        for length in ("short", "long"):
            writer.add_tensor(f"rope_factors_{length}.weight", np.array(rope[f"{length}_factor"], np.float32))
    if kind == "llama3":
        writer.add_tensor("rope_freqs.weight", _llama_3_divisors(rope, config["head_dim"]))


def _llama_3_divisors(rope: dict[str, Any], head_dim: int) -> np.ndarray:
    """As llama.cpp's converter writes them."""
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    original, factor = rope["original_max_position_embeddings"], rope["factor"]
    divisors = []
    for pair in range(head_dim // 2):
        wave = 2 * math.pi * rope["rope_theta"] ** (2 * pair / head_dim)
        if wave < original / high:
            divisors.append(1.0)
        elif wave > original / low:
            divisors.append(factor)
        else:
            smooth = (original / wave - low) / (high - low)
            divisors.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(divisors, np.float32)


def _write_tokenizer(writer: gguf.GGUFWriter) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3 if text in CONTROL else 1 for text in TOKENS])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(258)
    writer.add_chat_template(CHATML_TEMPLATE)
