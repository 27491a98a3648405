"""Writes small GGUF files for tests, sound ones and ones with a chosen fault."""

import struct
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from promptcache_engine.gguf import TensorType
from promptcache_engine.models.testing import CHATML_TEMPLATE
from promptcache_engine.tokenizer.byte_pair import byte_alphabet

Tensors = dict[str, tuple[tuple[int, ...], int, bytes]]
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ("h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "1 2")
SIZES = {"layers": 2, "hidden": 32, "heads": 4, "kv_heads": 2, "inner": 64}


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(item: Any) -> bytes:
    """Type number and bytes of a metadata value; int is u32, a float f32."""
    match item:
        case bool():
            return struct.pack("<I?", 7, item)
        case int():
            return struct.pack("<II", 4, item)
        case float():
            return struct.pack("<If", 6, item)
        case str():
            return struct.pack("<I", 8) + string(item)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(item)) + b"".join(map(string, item))
        case [int(), *_]:
            return struct.pack(f"<IIQ{len(item)}i", 9, 5, len(item), *item)
        case bytes():
            return item
    raise AssertionError(item)


def floats(items: list[float]) -> bytes:
    """A metadata value: an array of float32."""
    return struct.pack(f"<IIQ{len(items)}f", 9, 6, len(items), *items)


def gguf_bytes(metadata: Mapping[str, Any], tensors: Tensors, *, version: int = 3) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    head += b"".join(string(key) + value(item) for key, item in metadata.items())
    data = b""
    for name, (shape, kind, raw) in tensors.items():
        head += string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
        head += struct.pack("<IQ", kind, len(data))
        data += raw + bytes(-len(raw) % 32)
    return head + bytes(-len(head) % 32) + data


def f32(values: np.ndarray | torch.Tensor) -> tuple[tuple[int, ...], int, bytes]:
    array = np.asarray(values, np.float32)
    return array.shape, int(TensorType.F32), array.tobytes()


def llama_metadata() -> dict[str, Any]:
    vocabulary = [*byte_alphabet(), *(merge.replace(" ", "") for merge in MERGES), *CONTROL]
    plain = len(vocabulary) - len(CONTROL)
    return {
        "general.architecture": "llama",
        "general.name": "tiny",
        "llama.block_count": SIZES["layers"],
        "llama.context_length": 256,
        "llama.embedding_length": SIZES["hidden"],
        "llama.feed_forward_length": SIZES["inner"],
        "llama.attention.head_count": SIZES["heads"],
        "llama.attention.head_count_kv": SIZES["kv_heads"],
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 10000.0,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": vocabulary,
        "tokenizer.ggml.token_type": [1] * plain + [3] * len(CONTROL),
        "tokenizer.ggml.merges": list(MERGES),
        "tokenizer.ggml.bos_token_id": plain + 1,
        "tokenizer.ggml.eos_token_id": plain + 2,
        "tokenizer.chat_template": CHATML_TEMPLATE,
    }


def llama_tensors(seed: int = 0) -> Tensors:
    """Random weights in llama.cpp's names and shapes, tied embeddings."""
    generator = np.random.default_rng(seed)
    vocabulary = len(byte_alphabet()) + len(MERGES) + len(CONTROL)
    hidden, inner = SIZES["hidden"], SIZES["inner"]
    kv_width = hidden // SIZES["heads"] * SIZES["kv_heads"]

    def matrix(rows: int, columns: int) -> tuple[tuple[int, ...], int, bytes]:
        return f32(generator.normal(0, 1.5 * columns**-0.5, (rows, columns)))

    tensors: Tensors = {
        "token_embd.weight": matrix(vocabulary, hidden),
        "output_norm.weight": f32(np.ones(hidden)),
    }
    for layer in range(SIZES["layers"]):
        shapes = {
            "attn_q": (hidden, hidden),
            "attn_k": (kv_width, hidden),
            "attn_v": (kv_width, hidden),
            "attn_output": (hidden, hidden),
            "ffn_gate": (inner, hidden),
            "ffn_up": (inner, hidden),
            "ffn_down": (hidden, inner),
        }
        for name, shape in shapes.items():
            tensors[f"blk.{layer}.{name}.weight"] = matrix(*shape)
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"blk.{layer}.{name}.weight"] = f32(1 + generator.normal(0, 0.1, hidden))
    return tensors


def write_llama(
    path: Path,
    *,
    metadata: Mapping[str, Any] = MappingProxyType({}),
    tensors: Tensors | None = None,
    without: tuple[str, ...] = (),
) -> Path:
    """Write a tiny Llama with keys and tensors replaced, added or left out."""
    keys = {**llama_metadata(), **metadata}
    weights = {**llama_tensors(), **(tensors or {})}
    for name in without:
        keys.pop(name, None)
        weights.pop(name, None)
    path.write_bytes(gguf_bytes(keys, weights))
    return path
