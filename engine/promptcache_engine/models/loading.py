"""From a GGUF file to a model that can compute: tensors checked, unpacked, stacked and placed.

Every tensor of the file must be used and every tensor needed must be there with the shape the numbers demand.
"""

from pathlib import Path

import torch
from torch import Tensor

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.chat_template import ChatTemplate
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.models.gguf_config import read_config
from promptcache_engine.models.llama import LayerWeights, LlamaModel, LlamaWeights
from promptcache_engine.models.loaded import LoadedModel
from promptcache_engine.models.products import dense, logits_head
from promptcache_engine.models.rope import RotaryTable
from promptcache_engine.tokenizer.from_gguf import tokenizer_from_gguf


def load_model(
    path: Path,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    deterministic: bool = False,
) -> LoadedModel:
    """Load a Llama-architecture GGUF file; weights are unpacked to ``dtype``.

    ``deterministic`` makes a token's logits independent of batch, chunking and cache hits, bit for bit; see
    ``LlamaModel``.

    Raises:
        ModelFileError: the file is unreadable, truncated or inconsistent; the key or tensor is named.
        UnsupportedModelError: the file asks for something this engine does not compute.
        ChatTemplateError: the file's chat template does not compile.
    """
    file = GGUFFile(path)
    tokenizer, vocabulary = tokenizer_from_gguf(file)
    config = read_config(file, vocabulary)
    reader = _WeightReader(file, config, dtype, torch.device(device))
    weights, factors = reader.weights(), reader.rotary_factors()
    reader.refuse_unused()
    rope = RotaryTable(
        config.head_dim, config.rope_theta, scale=config.rope_scale, factors=factors, device=device
    )
    tokens = vocabulary.special_tokens()
    template = None
    if "tokenizer.chat_template" in file.metadata:
        template = ChatTemplate(file.metadata.text("tokenizer.chat_template"), tokens=tokens)
    return LoadedModel(
        model=LlamaModel(config, weights, rope, deterministic=deterministic),
        tokenizer=tokenizer,
        chat_template=template,
        config=config,
        special_tokens=tokens,
    )


class _WeightReader:
    """Takes a model's tensors out of a file one by one and remembers which were taken."""

    def __init__(self, file: GGUFFile, config: ModelConfig, dtype: torch.dtype, device: torch.device) -> None:
        self._file = file
        self._config = config
        self._dtype = dtype
        self._device = device
        self._unused = set(file.tensors)

    def weights(self) -> LlamaWeights:
        """Read all weights."""
        config = self._config
        embedding = self._read("token_embd.weight", config.vocab_size, config.hidden_size)
        head = embedding
        if not config.tied_embeddings:
            head = self._read("output.weight", config.vocab_size, config.hidden_size)
        return LlamaWeights(
            embedding=self._place(embedding),
            layers=tuple(self._layer(index) for index in range(config.num_layers)),
            final_norm=self._place(self._read("output_norm.weight", config.hidden_size)),
            head=logits_head(head, self._dtype, self._device),
        )

    def rotary_factors(self) -> Tensor | None:
        """Read the divisors of the rotary frequencies that some Llamas carry."""
        name = "rope_freqs.weight"
        return self._read(name, self._config.head_dim // 2) if name in self._file.tensors else None

    def refuse_unused(self) -> None:
        """Raise UnsupportedModelError if the file has a tensor that no part of the model wanted."""
        if self._unused:
            raise UnsupportedModelError(
                self._file.path,
                f"{len(self._unused)} tensors belong to no part of a plain Llama",
                where=f"tensor {min(self._unused)}",
            )

    def _layer(self, index: int) -> LayerWeights:
        config, prefix = self._config, f"blk.{index}."
        hidden, inner = config.hidden_size, config.intermediate_size
        query = self._read(prefix + "attn_q.weight", config.query_width, hidden)
        key = self._read(prefix + "attn_k.weight", config.kv_width, hidden)
        value = self._read(prefix + "attn_v.weight", config.kv_width, hidden)
        gate = self._read(prefix + "ffn_gate.weight", inner, hidden)
        up = self._read(prefix + "ffn_up.weight", inner, hidden)
        halves = (half_split(query, config.num_heads), half_split(key, config.num_kv_heads))
        return LayerWeights(
            attention_norm=self._place(self._read(prefix + "attn_norm.weight", hidden)),
            qkv=dense(self._place(torch.cat((*halves, value)))),
            output=dense(self._place(self._read(prefix + "attn_output.weight", hidden, config.query_width))),
            mlp_norm=self._place(self._read(prefix + "ffn_norm.weight", hidden)),
            gate_up=dense(self._place(torch.cat((gate, up)))),
            down=dense(self._place(self._read(prefix + "ffn_down.weight", hidden, inner))),
        )

    def _read(self, name: str, *shape: int) -> Tensor:
        info = self._file.tensors.get(name)
        if info is not None and info.shape != shape:
            problem = f"the shape is {info.shape}, but the model's numbers demand {shape}"
            raise ModelFileError(self._file.path, problem, where=f"tensor {name}")
        self._unused.discard(name)
        return torch.from_numpy(self._file.tensor(name))

    def _place(self, values: Tensor) -> Tensor:
        return values.to(device=self._device, dtype=self._dtype)


def half_split(weight: Tensor, heads: int) -> Tensor:
    """Reorder a query or key projection's rows [heads * D, in] from llama.cpp's order to the half-split one.

    llama.cpp rotates neighbours (2i, 2i+1) and stores each head's rows so; this engine rotates (i, i + D/2).
    """
    rows, columns = weight.shape
    pairs = weight.view(heads, rows // heads // 2, 2, columns)
    return pairs.transpose(1, 2).reshape(rows, columns)
