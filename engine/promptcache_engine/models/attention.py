"""One layer's attention: from stacked projections to mixed values, keys and values left in the pool.

Norms of queries and keys, a window, a soft cap and the angles differ by layer and family; the sums
themselves are a backend's.
"""

from torch import Tensor

from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.kv_pool import KVPool
from promptcache_engine.models.operations import Angles, AttentionRules, Step
from promptcache_engine.models.weights import LayerWeights


class Attention:
    """The attention of layer ``index``."""

    def __init__(
        self, config: ModelConfig, index: int, weights: LayerWeights, *, deterministic: bool
    ) -> None:
        self._index = index
        self._rules = AttentionRules(
            heads=config.num_heads,
            kv_heads=config.num_kv_heads,
            dim=config.head_dim,
            scale=config.query_scale,
            eps=config.rms_eps,
            query_norm=weights.query_norm,
            key_norm=weights.key_norm,
            window=config.layer_windows[index] if config.layer_windows else None,
            group=config.layer_groups[index],
            softcap=config.attention_softcap,
            deterministic=deterministic,
        )

    def __call__(self, projected: Tensor, angles: Angles, step: Step, pool: KVPool) -> Tensor:
        """Return mixed values [T, H * D] for stacked projections [T, (H + 2 Hk) * D]."""
        return step.attend(projected, angles, pool.layer(self._index), self._rules)
