"""From a file's tensors to a decoder's weights: each checked, stacked and placed, and none left over.

It is the same for all formats: a ``TensorSource`` answers to llama.cpp's names whatever its file calls them.
"""

import math
from collections.abc import Collection
from typing import Protocol

import torch
from torch import Tensor

from promptcache_engine.kernels.native import Library, PackedMatrix, PackedRows
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.models.families import Family
from promptcache_engine.models.products import dense, logits_head
from promptcache_engine.models.weights import DecoderWeights, LayerWeights, Linear


class TensorSource(Protocol):
    """The tensors of a model's files under llama.cpp's names, such as ``blk.0.attn_q.weight``."""

    @property
    def path(self) -> str:
        """The file or folder, for errors."""

    def names(self) -> Collection[str]:
        """All tensors the model may have wanted; those of no use to any decoder are left out."""

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor that is there."""

    def label(self, name: str) -> str:
        """What the file itself calls the tensor."""

    def read(self, name: str) -> Tensor:
        """The values, query and key rows in half-split order, norms ready to multiply by.

        Raises ModelFileError where there is none of that name, UnsupportedModelError for a type that cannot
        be unpacked.
        """

    def packed(self, name: str) -> PackedRows | None:
        """The rows of ``read`` in the file's own bits; None where they have no form that can be packed."""


def assemble(
    source: TensorSource,
    config: ModelConfig,
    family: Family,
    dtype: torch.dtype,
    device: torch.device,
    *,
    library: Library | None = None,
) -> DecoderWeights:
    """Read all weights of a model; with ``library`` also in the bits of its file, for the native decode step.

    Raises:
        ModelFileError: a tensor is missing, has the wrong shape, or holds a NaN or an infinity.
        UnsupportedModelError: a tensor has an unknown type, or belongs to no part of the model.
    """
    reader = _Reader(source, config, family, dtype, device, library=library)
    weights = reader.weights()
    reader.refuse_unused()
    return weights


class _Reader:
    """Takes tensors one by one and remembers which were taken."""

    def __init__(
        self,
        source: TensorSource,
        config: ModelConfig,
        family: Family,
        dtype: torch.dtype,
        device: torch.device,
        *,
        library: Library | None,
    ) -> None:
        self._source = source
        self._config = config
        self._family = family
        self._dtype = dtype
        self._device = device
        self._library = library
        self._unused = set(source.names())

    def weights(self) -> DecoderWeights:
        """Read all weights."""
        config = self._config
        embedding = self._take("token_embd.weight", config.vocab_size, config.hidden_size)
        head, head_name = embedding, "token_embd.weight"
        if config.tied_embeddings:
            self._unused.discard("output.weight")  # some files hold the same matrix twice
        else:
            head_name = "output.weight"
            head = self._take(head_name, config.vocab_size, config.hidden_size)
        return DecoderWeights(
            embedding=self._place(embedding),
            layers=tuple(self._layer(f"blk.{index}.") for index in range(config.num_layers)),
            final_norm=self._norm("output_norm", config.hidden_size),
            head=logits_head(head, self._dtype, self._device, self._packed([head_name], config.hidden_size)),
        )

    def refuse_unused(self) -> None:
        """Raise UnsupportedModelError if a tensor is left that no part of the model wanted."""
        if self._unused:
            raise UnsupportedModelError(
                self._source.path,
                f"{len(self._unused)} tensors belong to no part of a {self._family.name} decoder",
                where=f"tensor {self._source.label(min(self._unused))}",
            )

    def _layer(self, prefix: str) -> LayerWeights:
        config, family = self._config, self._family
        hidden, inner, head = config.hidden_size, config.intermediate_size, config.head_dim
        widths = {"attn_q": config.query_width, "attn_k": config.kv_width, "attn_v": config.kv_width}
        return LayerWeights(
            attention_norm=self._norm(prefix + "attn_norm", hidden),
            qkv=self._stacked(prefix, widths, hidden, needs_bias=family.qkv_bias),
            output=self._stacked(prefix, {"attn_output": hidden}, config.query_width),
            mlp_norm=self._norm(prefix + "ffn_norm", hidden),
            gate_up=self._stacked(prefix, {"ffn_gate": inner, "ffn_up": inner}, hidden),
            down=self._stacked(prefix, {"ffn_down": hidden}, inner),
            query_norm=self._norm(prefix + "attn_q_norm", head) if family.qk_norm else None,
            key_norm=self._norm(prefix + "attn_k_norm", head) if family.qk_norm else None,
            post_attention_norm=self._norm(prefix + "post_attention_norm", hidden)
            if family.post_norms
            else None,
            post_mlp_norm=self._norm(prefix + "post_ffw_norm", hidden) if family.post_norms else None,
        )

    def _stacked(
        self, prefix: str, widths: dict[str, int], columns: int, *, needs_bias: bool = False
    ) -> Linear:
        """Read matrices of ``columns`` and stack their rows; biases where they are there, or must be."""
        names = [f"{prefix}{name}.weight" for name in widths]
        matrices = [
            self._take(name, rows, columns) for name, rows in zip(names, widths.values(), strict=True)
        ]
        weight, packed = self._place(torch.cat(matrices)), self._packed(names, columns)
        biases = {name: f"{prefix}{name}.bias" for name in widths}
        if not needs_bias and self._unused.isdisjoint(biases.values()):
            return dense(weight, packed=packed)
        values = [self._take(biases[name], rows) for name, rows in widths.items()]
        return dense(weight, self._place(torch.cat(values)), packed)

    def _packed(self, names: list[str], columns: int) -> PackedMatrix | None:
        """Stacked rows in their file's bits; None where they have none, or of several kinds."""
        if self._library is None:
            return None
        parts = [part for part in map(self._source.packed, names) if part is not None]
        if len(parts) < len(names) or len({part.kind for part in parts}) > 1:
            return None
        return self._library.pack(parts, columns)

    def _norm(self, name: str, width: int) -> Tensor:
        """Norm weights stay float32: there are few, and 1 + w loses half its digits in bfloat16."""
        return self._take(f"{name}.weight", width).to(device=self._device, dtype=torch.float32)

    def _take(self, name: str, *shape: int) -> Tensor:
        if name in self._unused and (found := self._source.shape(name)) != shape:
            problem = f"the shape is {found}, but the model's numbers demand {shape}"
            raise ModelFileError(self._source.path, problem, where=f"tensor {self._source.label(name)}")
        self._unused.discard(name)
        values = self._source.read(name)
        if not all(map(math.isfinite, torch.stack(values.aminmax()).tolist())):
            problem = "holds values that are no finite numbers"
            raise ModelFileError(self._source.path, problem, where=f"tensor {self._source.label(name)}")
        return values

    def _place(self, values: Tensor) -> Tensor:
        return values.to(device=self._device, dtype=self._dtype)
