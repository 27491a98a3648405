"""A GGUF file's tensors as ``assemble`` wants them: unpacked, query and key rows in half-split order."""

import torch
from torch import Tensor

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.kernels.native import PACKABLE, PackedRows
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.families import Family

_ROTARY = frozenset(("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"))
"""Tensors that belong to the rotary settings and are read with them."""


class GGUFTensors:
    """A ``TensorSource`` over a GGUF file, whose names are the source's own."""

    def __init__(self, file: GGUFFile, config: ModelConfig, family: Family) -> None:
        self._file = file
        self._heads = {}
        if family.interleaved:
            self._heads = {"attn_q": config.num_heads, "attn_k": config.num_kv_heads}

    @property
    def path(self) -> str:
        """The file."""
        return self._file.path

    def names(self) -> frozenset[str]:
        """All tensors but those of the rotary settings."""
        return frozenset(self._file.tensors) - _ROTARY

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape, outermost dimension first."""
        return self._file.tensors[name].shape

    def label(self, name: str) -> str:
        """The name itself."""
        return name

    def read(self, name: str) -> Tensor:
        """The values as float32."""
        values = torch.from_numpy(self._file.tensor(name))
        heads = self._heads.get(name.split(".")[-2])
        return values if heads is None else half_split(values, heads)

    def packed(self, name: str) -> PackedRows | None:
        """The same rows in the file's own bits, where the native decode step can take them."""
        info = self._file.tensors.get(name)
        if info is None or info.type_name not in PACKABLE:
            return None
        raw = torch.from_numpy(self._file.raw(name).copy()).view(info.shape[0], -1)
        heads = self._heads.get(name.split(".")[-2])
        return PackedRows(info.type_name, (raw if heads is None else half_split(raw, heads)).numpy())


def half_split(weight: Tensor, heads: int) -> Tensor:
    """Reorder a query or key projection's rows [heads * D, ...] from llama.cpp's order to the half-split one.

    llama.cpp rotates neighbours (2i, 2i+1) and stores each head's rows so; this engine rotates (i, i + D/2).
    """
    pairs = weight.view(heads, weight.shape[0] // heads // 2, 2, -1)
    return pairs.transpose(1, 2).reshape(weight.shape)
