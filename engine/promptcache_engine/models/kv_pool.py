"""The keys and values of every cached token, in slots; which slot holds what is the cache's bookkeeping.

Layout: token-major. One slot holds all key (value) heads of one token side by side, so that gathering a
sequence's context copies whole rows.
"""

import torch
from torch import Tensor

from promptcache_engine.kernels import reference
from promptcache_engine.models.config import ModelConfig


class KVPool:
    """``num_slots`` slots for each layer of a model.

    ``k`` and ``v`` have the shape ``[num_layers, num_slots, num_kv_heads * head_dim]``. Their memory is not
    cleared: a slot means nothing until a forward pass has written it, and nothing reads it before.
    """

    def __init__(
        self, config: ModelConfig, num_slots: int, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        if num_slots < 1:
            raise ValueError(f"a KV pool needs at least one slot, not {num_slots}")
        shape = (config.num_layers, num_slots, config.kv_width)
        self.k = torch.empty(shape, dtype=dtype, device=device)
        self.v = torch.empty(shape, dtype=dtype, device=device)

    @property
    def num_slots(self) -> int:
        """Tokens that fit."""
        return self.k.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of keys and values together."""
        return self.k.nbytes + self.v.nbytes

    def copy_slots(self, src: Tensor, dst: Tensor) -> None:
        """Copy slots ``src[i]`` to ``dst[i]`` in every layer; all are read before any is written.

        Both are int64 tensors of equal length. ``dst`` must not name a slot twice.
        """
        reference.copy_slots(self.k, src, dst)
        reference.copy_slots(self.v, src, dst)
