"""What a decoder asks of a backend: the operations of a step, with two implementations to choose from.

``torch_operations`` computes with plain torch on any device, ``triton_operations`` with Triton's kernels on
a GPU. Matrix products are torch's in both. Which one an engine takes is ``attention_backend``'s decision.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from promptcache_engine.models.batch import ForwardBatch

Angles = tuple[Tensor, Tensor]
"""Cosines and sines of a step's positions, float32 [T, head_dim / 2]."""

Pools = tuple[Tensor, Tensor]
"""Keys and values of one layer, each [slots, kv_width]."""


@dataclass(frozen=True, eq=False)
class AttentionRules:
    """What one layer's attention does whatever the step: sizes, norms, and which keys a row sees.

    Attributes:
        heads: query heads.
        kv_heads: key/value heads.
        dim: values a head.
        scale: what queries are multiplied by.
        eps: of the norms.
        query_norm: weights float32 [dim] of the queries' norm; None where there is none.
        key_norm: of the keys' norm.
        window: keys that a row sees; None: all before it.
        group: where the window stands among the model's windows; None where there is none.
        softcap: what bounds the scores; None: nothing.
        deterministic: whether a row's bits depend on its sequence's tokens alone.
    """

    heads: int
    kv_heads: int
    dim: int
    scale: float
    eps: float
    query_norm: Tensor | None
    key_norm: Tensor | None
    window: int | None
    group: int | None
    softcap: float | None
    deterministic: bool


class Step(Protocol):
    """One step's sequences in the form in which a backend reads them, made once for all layers."""

    def attend(self, projected: Tensor, angles: Angles, pools: Pools, rules: AttentionRules) -> Tensor:
        """Norm and rotate queries and keys, write keys and values to the step's slots, and attend.

        ``projected`` [T, (H + 2 Hk) * D] holds queries, keys and values side by side. Returns mixed values
        [T, H * D].
        """


@dataclass(frozen=True, eq=False)
class PagedStep:
    """The input of a forward pass over T rows, all of it on the device; ``paged_step`` makes it.

    ``token_ids`` and ``positions`` are int64 [T]. ``logit_rows``, int64, are the rows whose logits are
    wanted; None: all. No position reaches ``limit``.
    """

    token_ids: Tensor
    positions: Tensor
    logit_rows: Tensor | None
    attention: Step
    limit: int


class Operations(Protocol):
    """The operations of one backend; signatures are those of ``kernels.reference``."""

    @property
    def name(self) -> str:
        """``torch`` or ``triton``."""

    @property
    def because(self) -> str:
        """Why another backend, which was to compute, does not; empty where none was."""

    def begin(self, batch: ForwardBatch) -> Step:
        """Lay a step's metadata out on the batch's device."""

    def rms_norm(self, x: Tensor, weight: Tensor, eps: float, dtype: torch.dtype | None = None) -> Tensor:
        """As ``reference.rms_norm``."""

    def add_rms_norm(
        self,
        hidden: Tensor,
        update: Tensor,
        weight: Tensor,
        eps: float,
        *,
        dtype: torch.dtype,
        update_weight: Tensor | None = None,
    ) -> Tensor:
        """As ``reference_fused.add_rms_norm``."""

    def silu_mul(self, gate_up: Tensor) -> Tensor:
        """As ``reference.silu_mul``."""

    def gelu_mul(self, gate_up: Tensor) -> Tensor:
        """As ``reference.gelu_mul``."""

    def copy_slots(self, pool: Tensor, src: Tensor, dst: Tensor) -> None:
        """As ``reference.copy_slots``: all slots are read before any is written."""
