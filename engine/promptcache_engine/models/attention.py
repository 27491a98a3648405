"""One layer's attention: from stacked projections to mixed values, keys and values left in the pool.

Norms of queries and keys, a window, a soft cap and the angles differ by layer and family; the sums
themselves are an operation of ``kernels``.
"""

import torch
from torch import Tensor

from promptcache_engine.kernels import reference
from promptcache_engine.models.batch import ForwardBatch
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.kv_pool import KVPool
from promptcache_engine.models.weights import LayerWeights

Angles = tuple[Tensor, Tensor]
"""Cosines and sines of a step's positions, float32 [T, head_dim / 2]."""


class Attention:
    """The attention of layer ``index``."""

    def __init__(
        self, config: ModelConfig, index: int, weights: LayerWeights, *, deterministic: bool
    ) -> None:
        self._config = config
        self._index = index
        self._query_norm = weights.query_norm
        self._key_norm = weights.key_norm
        self._window = config.layer_windows[index] if config.layer_windows else None
        self._group = config.layer_groups[index]
        self._deterministic = deterministic

    def __call__(self, projected: Tensor, angles: Angles, batch: ForwardBatch, pool: KVPool) -> Tensor:
        """Return mixed values [T, H * D] for stacked projections [T, (H + 2 Hk) * D]."""
        config, rows = self._config, projected.shape[0]
        query = projected[:, : config.query_width].view(rows, config.num_heads, -1)
        key, value = projected[:, config.query_width :].chunk(2, dim=-1)
        key = key.reshape(rows, config.num_kv_heads, -1)
        query, key = self._normed(query, self._query_norm), self._normed(key, self._key_norm)
        keys, values = pool.layer(self._index)
        turned = reference.rotary(key, *angles).view(rows, -1)
        reference.write_kv(turned, value, keys, values, batch.writes(self._group))
        return reference.paged_attention(
            reference.rotary(query, *angles),
            keys,
            values,
            batch.slices(self._group),
            scale=config.query_scale,
            window=self._window,
            softcap=config.attention_softcap,
            deterministic=self._deterministic,
        )

    def _normed(self, heads: Tensor, weight: Tensor | None) -> Tensor:
        if weight is None:
            return heads
        dtype: torch.dtype = heads.dtype
        return reference.rms_norm(heads, weight, self._config.rms_eps, dtype)
