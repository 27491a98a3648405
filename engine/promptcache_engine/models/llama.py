"""The Llama decoder: token ids and slots in, next-token logits out, keys and values left in the pool.

It knows nothing of requests, pages or sampling; ``ForwardBatch`` says what to compute and where to write,
and where the weights come from is ``loading``'s business.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from promptcache_engine.kernels import reference
from promptcache_engine.models.batch import ForwardBatch
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.determinism import find_row_multiple
from promptcache_engine.models.kv_pool import KVPool
from promptcache_engine.models.rope import RotaryTable

Linear = Callable[[Tensor], Tensor]
"""Maps rows [T, in] to rows [T, out]; the place where quantized weights plug in."""


@dataclass(frozen=True, eq=False)
class LayerWeights:
    """One decoder layer. ``qkv`` and ``gate_up`` are products with stacked weights, in that order."""

    attention_norm: Tensor
    qkv: Linear
    output: Linear
    mlp_norm: Tensor
    gate_up: Linear
    down: Linear


@dataclass(frozen=True, eq=False)
class LlamaWeights:
    """All weights of a model; ``embedding`` is [vocab_size, hidden_size], ``head`` gives float32."""

    embedding: Tensor
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor
    head: Linear


class LlamaModel:
    """A Llama-shaped decoder over a paged KV pool.

    With ``deterministic``, a token's logits depend on its sequence's tokens alone, bit for bit: not on what
    was cached, on how a prompt was cut into chunks, or on what else is in the step. Rows are then padded, to
    a multiple that is found by trying products with these weights, and attention works in tiles of fixed
    size. Set the number of torch's threads before: another number may round differently. The cost is small
    for chunks of dozens of tokens; a step of one token takes about twice as long.
    """

    def __init__(
        self,
        config: ModelConfig,
        weights: LlamaWeights,
        rope: RotaryTable,
        *,
        deterministic: bool = False,
    ) -> None:
        self.config = config
        self.weights = weights
        self.deterministic = deterministic
        self._rope = rope
        self._row_multiple = 1
        if deterministic:
            self._row_multiple = find_row_multiple(_products(config, weights), self.dtype, self.device)
        self._scale = config.head_dim**-0.5

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of weights and activations."""
        return self.weights.embedding.dtype

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.weights.embedding.device

    @torch.inference_mode()
    def forward(self, batch: ForwardBatch, pool: KVPool) -> Tensor:
        """Compute a step, write its keys and values, and return float32 logits [logit rows, vocab_size].

        Positions must lie below the model's context length; tokens, slots and rows must exist.
        """
        limit = max(context.shape[0] for _, _, context in batch.slices(None))
        angles = self._rope.at(batch.positions, max(limit, int(batch.positions.max()) + 1))
        # Summed up in float32: layer after layer, rounding would add up.
        hidden = self._pad(functional.embedding(batch.token_ids, self.weights.embedding)).float()
        for index, layer in enumerate(self.weights.layers):
            normed = reference.rms_norm(hidden, layer.attention_norm, self.config.rms_eps)
            projected = layer.qkv(normed)[: batch.token_ids.shape[0]]
            mixed = self._attention(projected, angles, batch, *pool.layer(index))
            hidden = hidden + layer.output(self._pad(mixed))
            normed = reference.rms_norm(hidden, layer.mlp_norm, self.config.rms_eps)
            hidden = hidden + layer.down(reference.silu_mul(layer.gate_up(normed)))
        return self._logits(hidden[batch.logit_rows])

    def _attention(
        self,
        projected: Tensor,
        angles: tuple[Tensor, Tensor],
        batch: ForwardBatch,
        keys: Tensor,
        values: Tensor,
    ) -> Tensor:
        config, rows = self.config, projected.shape[0]
        query = projected[:, : config.query_width].view(rows, config.num_heads, -1)
        key, value = projected[:, config.query_width :].chunk(2, dim=-1)
        key = reference.rotary(key.reshape(rows, config.num_kv_heads, -1), *angles)
        reference.write_kv(key.view(rows, -1), value, keys, values, batch.write_slots)
        return reference.paged_attention(
            reference.rotary(query, *angles),
            keys,
            values,
            batch.slices(None),
            scale=self._scale,
            deterministic=self.deterministic,
        )

    def _logits(self, rows: Tensor) -> Tensor:
        count = rows.shape[0]
        normed = reference.rms_norm(self._pad(rows), self.weights.final_norm, self.config.rms_eps)
        return self.weights.head(normed)[:count]

    def _pad(self, rows: Tensor) -> Tensor:
        missing = -rows.shape[0] % self._row_multiple
        return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


def _products(config: ModelConfig, weights: LlamaWeights) -> list[tuple[Linear, int]]:
    """One product of each shape in the model, with the width of its rows."""
    layer, hidden = weights.layers[0], config.hidden_size
    widths = [(layer.qkv, hidden), (layer.output, config.query_width), (layer.gate_up, hidden)]
    return [*widths, (layer.down, config.intermediate_size), (weights.head, hidden)]
