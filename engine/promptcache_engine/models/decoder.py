"""The decoder: token ids and slots in, next-token logits out, keys and values left in the pool.

One class for all families: what differs between them is in the configuration and in which weights there are.
It knows nothing of requests, pages or sampling; ``ForwardBatch`` says what to compute and where to write,
and where the weights come from is ``loading``'s business.
"""

import torch
from torch import Tensor
from torch.nn import functional

from promptcache_engine.kernels import reference
from promptcache_engine.models.attention import Attention
from promptcache_engine.models.batch import ForwardBatch
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.determinism import RowRule, find_row_rule
from promptcache_engine.models.kv_pool import KVPool
from promptcache_engine.models.native_decode import NativeDecoder
from promptcache_engine.models.operations import Angles, Operations, PagedStep, Step
from promptcache_engine.models.rope import RotaryTable
from promptcache_engine.models.torch_operations import TorchOperations
from promptcache_engine.models.weights import DecoderWeights, Linear


class DecoderModel:
    """A decoder over a paged KV pool.

    With ``deterministic``, a token's logits depend on its sequence's tokens alone, bit for bit: not on what
    was cached, on how a prompt was cut into chunks, or on what else is in the step. Rows are then padded, on
    a GPU also multiplied in blocks, by a rule that is found by trying products with these weights, and
    attention works in tiles of fixed size. Set the number of torch's threads before: another number may round
    differently. The cost is small for chunks of dozens of tokens; a step of one token takes about twice as
    long.

    ``operations`` is the backend for all that is no matrix product; None: torch's.
    """

    def __init__(
        self,
        config: ModelConfig,
        weights: DecoderWeights,
        *,
        deterministic: bool = False,
        operations: Operations | None = None,
    ) -> None:
        self.config = config
        self.weights = weights
        self.deterministic = deterministic
        self.use(operations or TorchOperations())
        self.native: NativeDecoder | None = None
        self._rule = RowRule()
        if deterministic:
            self._rule = find_row_rule(_products(config, weights), self.dtype, self.device)
        self._attentions = [
            Attention(config, index, layer, deterministic=deterministic)
            for index, layer in enumerate(weights.layers)
        ]
        own = config.window_rope or config.rope
        by_layer = [config.rope if group is None else own for group in config.layer_groups]
        tables = {
            rope: RotaryTable(config.head_dim, rope, device=self.device) for rope in dict.fromkeys(by_layer)
        }
        self._tables = list(tables.values())
        self._table_of = [list(tables).index(rope) for rope in by_layer]

    def use(self, operations: Operations) -> None:
        """Compute with a backend, from the next step on."""
        self.operations = operations
        gates = {"silu": operations.silu_mul, "gelu_tanh": operations.gelu_mul}
        self._gate = gates[self.config.activation]

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

        Positions must lie below the model's context length; tokens, slots and rows must exist. Sequences of
        one row are computed by ``native`` where there is one, whatever else is in the step.
        """
        single = [index for index, part in enumerate(batch.sequences) if part.length == 1]
        if self.native is None or not single:
            return self.forward_torch(batch, pool)
        if len(single) == len(batch.sequences):
            return self.forward_native(self.native, batch, pool)
        others = [index for index, part in enumerate(batch.sequences) if part.length > 1]
        (decoding, first), (rest, second) = batch.select(single), batch.select(others)
        logits = torch.empty(batch.logit_rows.shape[0], self.config.vocab_size)
        logits[first] = self.forward_native(self.native, decoding, pool)
        logits[second] = self.forward_torch(rest, pool)
        return logits

    @torch.inference_mode()
    def forward_torch(self, batch: ForwardBatch, pool: KVPool) -> Tensor:
        """As ``forward``, with torch's products and the backend's operations."""
        step, angles = self.operations.begin(batch), self._angles(batch)
        return self._logits(self._rows(batch.token_ids, angles, step, pool, batch.logit_rows))

    @torch.inference_mode()
    def forward_paged(self, step: PagedStep, pool: KVPool) -> Tensor:
        """As ``forward``, of a step that lies on the device; the host neither reads nor waits."""
        angles = [table.at(step.positions, step.limit) for table in self._tables]
        rows = self._rows(step.token_ids, angles, step.attention, pool)
        wanted = rows[: step.token_ids.shape[0]] if step.logit_rows is None else rows[step.logit_rows]
        return self._logits(wanted)

    def prepare_angles(self, limit: int) -> list[Angles]:
        """Compute the angles of all positions below ``limit``, so that none is computed in a step.

        Returns:
            What steps read from then on, until longer ones are prepared: who records steps keeps it.
        """
        return [table.upto(limit) for table in self._tables]

    @torch.inference_mode()
    def forward_native(self, native: NativeDecoder, batch: ForwardBatch, pool: KVPool) -> Tensor:
        """As ``forward``, by ``native``; every sequence has one row."""
        hidden = functional.embedding(batch.token_ids, self.weights.embedding).float()
        hidden.mul_(self.config.embedding_scale)
        logits = native.decode(hidden, self._angles(batch), batch, pool)[batch.logit_rows]
        cap = self.config.final_softcap
        return logits if cap is None else reference.softcap_(logits, cap)

    def _rows(
        self,
        token_ids: Tensor,
        angles: list[Angles],
        step: Step,
        pool: KVPool,
        wanted: Tensor | None = None,
    ) -> Tensor:
        """The residual rows behind the last layer: [T and padding, hidden_size], or those ``wanted`` alone,
        in that order, as then the last layer computes no more of the others than keys and values."""
        hidden, rows, multiply = self._embed(token_ids), token_ids.shape[0], self._rule.multiply
        normed = self._normed(hidden, self.weights.layers[0].attention_norm)
        for index, layer in enumerate(self.weights.layers):
            attend, turn = self._attentions[index], angles[self._table_of[index]]
            mixed = attend(multiply(layer.qkv, normed)[:rows], turn, step, pool)
            if wanted is not None and layer is self.weights.layers[-1]:
                rows, mixed, hidden = wanted.shape[0], mixed[wanted], self._rule.pad(hidden[wanted])
                if not rows:  # a piece of a prompt that no token follows yet
                    return hidden
            update = multiply(layer.output, self._rule.pad(mixed))
            normed = self._added(hidden, update, layer.post_attention_norm, layer.mlp_norm)
            update = multiply(layer.down, self._gate(multiply(layer.gate_up, normed)))
            if layer is not self.weights.layers[-1]:
                following = self.weights.layers[index + 1].attention_norm
                normed = self._added(hidden, update, layer.post_mlp_norm, following)
        last = hidden + self._after(update, layer.post_mlp_norm)
        return last if wanted is None else last[:rows]

    def _added(self, hidden: Tensor, update: Tensor, own: Tensor | None, following: Tensor) -> Tensor:
        """Add a block's update, normed by ``own`` in the families that do, to ``hidden`` in place; return
        the rows normed for the next block."""
        return self.operations.add_rms_norm(
            hidden, update, following, self.config.rms_eps, dtype=self.dtype, update_weight=own
        )

    def _angles(self, batch: ForwardBatch) -> list[Angles]:
        """Of each rotary table, for the step's positions."""
        limit = max(context.shape[0] for _, _, context in batch.slices(None))
        if batch.positions.device.type == "cpu":  # elsewhere the step would wait for the device
            limit = max(limit, int(batch.positions.max()) + 1)
        return [table.at(batch.positions, limit) for table in self._tables]

    def _embed(self, token_ids: Tensor) -> Tensor:
        # Summed up in float32: layer after layer, rounding would add up.
        hidden = self._rule.pad(functional.embedding(token_ids, self.weights.embedding)).float()
        scale = self.config.embedding_scale
        return hidden if scale == 1.0 else hidden * scale

    def _normed(self, rows: Tensor, weight: Tensor) -> Tensor:
        return self.operations.rms_norm(rows, weight, self.config.rms_eps, self.dtype)

    def _after(self, update: Tensor, weight: Tensor | None) -> Tensor:
        """Norm what a block adds to the rows, in the families that do."""
        return update if weight is None else self.operations.rms_norm(update, weight, self.config.rms_eps)

    def _logits(self, rows: Tensor) -> Tensor:
        normed = self._normed(self._rule.pad(rows), self.weights.final_norm)
        logits = self._rule.multiply(self.weights.head, normed)[: rows.shape[0]]
        cap = self.config.final_softcap
        return logits if cap is None else reference.softcap_(logits, cap)


def _products(config: ModelConfig, weights: DecoderWeights) -> list[tuple[Linear, int]]:
    """One product of each shape in the model, with the width of its rows."""
    layer, hidden = weights.layers[0], config.hidden_size
    widths = [(layer.qkv, hidden), (layer.output, config.query_width), (layer.gate_up, hidden)]
    return [*widths, (layer.down, config.intermediate_size), (weights.head, hidden)]
