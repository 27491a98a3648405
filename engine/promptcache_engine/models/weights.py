"""A decoder's weights as the forward pass wants them: stacked, placed, norms ready to multiply by.

Which file they came from, and under which names, is the business of ``assemble`` and its sources.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

Linear = Callable[[Tensor], Tensor]
"""Maps rows [T, in] to rows [T, out]; the place where quantized weights plug in."""


@dataclass(frozen=True, eq=False)
class LayerWeights:
    """One decoder layer. ``qkv`` and ``gate_up`` are products with stacked weights, in that order.

    Norm weights are float32 [hidden_size], those of queries and keys [head_dim]; None where the family has
    no such norm.
    """

    attention_norm: Tensor
    qkv: Linear
    output: Linear
    mlp_norm: Tensor
    gate_up: Linear
    down: Linear
    query_norm: Tensor | None = None
    key_norm: Tensor | None = None
    post_attention_norm: Tensor | None = None
    post_mlp_norm: Tensor | None = None


@dataclass(frozen=True, eq=False)
class DecoderWeights:
    """All weights of a model; ``embedding`` is [vocab_size, hidden_size], ``head`` gives float32."""

    embedding: Tensor
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor
    head: Linear
