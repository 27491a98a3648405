"""The safetensors files of a Hugging Face folder as ``assemble`` wants them: by llama.cpp's names, mapped.

One file ``model.safetensors``, or several with ``model.safetensors.index.json``. Values are read when asked
for; until then a file is only mapped.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from promptcache_engine.kernels.native import PackedRows
from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.models.families import Family

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_OUTER = {"token_embd": "embed_tokens", "output_norm": "norm"}
_INNER: Mapping[str, str] = MappingProxyType(
    {
        "attn_norm": "input_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "attn_q_norm": "self_attn.q_norm",
        "attn_k_norm": "self_attn.k_norm",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
)
_PREFIXES = ("model.", "model.language_model.", "language_model.model.")
"""Where the language model stands; a model that reads images too has it under a name of its own."""

_HEADS = ("lm_head.weight", "language_model.lm_head.weight")
_OTHER_PARTS = (
    "vision_tower.",
    "model.vision_tower.",
    "multi_modal_projector.",
    "model.multi_modal_projector.",
)


class HFTensors:
    """A ``TensorSource`` over a folder.

    Raises:
        ModelFileError: no safetensors file, or one that is broken or missing.
    """

    def __init__(self, folder: Path, family: Family) -> None:
        self._folder = folder
        self._one_plus = family.norms_offset_by_one
        self._files = _tensor_files(folder)
        prefix = next((p for p in _PREFIXES if p + "embed_tokens.weight" in self._files), "model.")
        inner = {**_INNER, **family.tensors}
        back = {theirs: ours for ours, theirs in inner.items()}
        self._theirs: dict[str, str] = {}
        for name in self._files:
            if not name.startswith(_OTHER_PARTS) and not name.endswith("rotary_emb.inv_freq"):
                self._theirs[_our_name(name, prefix, back)] = name
        self._prefix, self._inner = prefix, inner

    @property
    def path(self) -> str:
        """The folder."""
        return str(self._folder)

    def names(self) -> frozenset[str]:
        """All tensors of the language model; one without a name of llama.cpp keeps its own."""
        return frozenset(self._theirs)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape, outermost dimension first."""
        theirs = self._theirs[name]
        return tuple(self._files[theirs].get_slice(theirs).get_shape())

    def label(self, name: str) -> str:
        """The file's own name for the tensor, or what it would be."""
        if name in self._theirs:
            return self._theirs[name]
        if name == "output.weight":
            return _HEADS[0]
        layer, _, rest = name.removeprefix("blk.").partition(".")
        kind, _, suffix = rest.rpartition(".")
        if name.startswith("blk.") and kind in self._inner:
            return f"{self._prefix}layers.{layer}.{self._inner[kind]}.{suffix}"
        return self._prefix + _OUTER.get(name.removesuffix(".weight"), name) + ".weight"

    def read(self, name: str) -> Tensor:
        """The values in the file's own dtype, still mapped; norms of float32 where one is to be added."""
        theirs = self._theirs.get(name)
        if theirs is None:
            raise ModelFileError(self.path, "a tensor is missing", where=f"tensor {self.label(name)}")
        values: Tensor = self._files[theirs].get_tensor(theirs)
        if values.dtype not in _FLOATS:
            kind = str(values.dtype).removeprefix("torch.")
            raise UnsupportedModelError(
                self.path,
                f"tensors of type {kind} are not supported",
                where=f"tensor {theirs}",
                remedy="Choose the unquantized model, in bfloat16, float16 or float32",
            )
        return values.float() + 1 if self._one_plus and "norm" in name else values

    def packed(self, name: str) -> PackedRows | None:  # noqa: ARG002 - the protocol's
        """None: safetensors files hold floats."""
        return None


def _our_name(name: str, prefix: str, back: Mapping[str, str]) -> str:
    """``model.layers.3.self_attn.q_proj.bias`` -> ``blk.3.attn_q.bias``."""
    if name in _HEADS:
        return "output.weight"
    rest = name.removeprefix(prefix)
    if rest.startswith("layers."):
        layer, _, inner = rest.removeprefix("layers.").partition(".")
        kind, _, suffix = inner.rpartition(".")
        return f"blk.{layer}.{back[kind]}.{suffix}" if kind in back else name
    for ours, theirs in _OUTER.items():
        if rest == f"{theirs}.weight":
            return f"{ours}.weight"
    return name


def _tensor_files(folder: Path) -> dict[str, Any]:
    """Which open file holds each tensor."""
    names = [SINGLE]
    if not (folder / SINGLE).is_file():
        if not (folder / INDEX).is_file():
            problem = f"the folder has neither {SINGLE} nor {INDEX}"
            remedy = "Download the model's safetensors files, or give a .gguf file"
            raise ModelFileError(str(folder), problem, remedy=remedy)
        names = _shards(folder / INDEX)
    held: dict[str, Any] = {}
    for name in names:
        try:
            file = safe_open(folder / name, framework="pt", device="cpu")
            held.update(dict.fromkeys(file.keys(), file))  # type: ignore[no-untyped-call]
        except (SafetensorError, OSError) as error:
            problem = f"cannot be read: {str(error).partition(chr(10))[0]}"
            raise ModelFileError(str(folder / name), problem, remedy="Download the file again") from error
    return held


def _shards(index: Path) -> list[str]:
    try:
        files = set(json.loads(index.read_bytes())["weight_map"].values())
        return sorted(Path(str(name)).name for name in files)
    except (ValueError, KeyError, AttributeError, TypeError, OSError, RecursionError) as error:
        raise ModelFileError(str(index), "is not an index of tensors", where="key weight_map") from error
