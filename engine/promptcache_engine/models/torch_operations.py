"""The operations in plain torch: the path on a CPU, and the one that others are compared with."""

import torch
from torch import Tensor

from promptcache_engine.kernels import reference, reference_fused
from promptcache_engine.models.batch import ForwardBatch
from promptcache_engine.models.operations import Angles, AttentionRules, Pools


class TorchStep:
    """A step whose metadata are its batch's own slot tensors."""

    def __init__(self, batch: ForwardBatch) -> None:
        self._batch = batch

    def attend(self, projected: Tensor, angles: Angles, pools: Pools, rules: AttentionRules) -> Tensor:
        """As ``operations.Step.attend``."""
        rows, width = projected.shape[0], rules.heads * rules.dim
        query = projected[:, :width].view(rows, rules.heads, -1)
        key, value = projected[:, width:].chunk(2, dim=-1)
        key = key.reshape(rows, rules.kv_heads, -1)
        query, key = _normed(query, rules.query_norm, rules.eps), _normed(key, rules.key_norm, rules.eps)
        turned = reference.rotary(key, *angles).view(rows, -1)
        reference.write_kv(turned, value, *pools, slots=self._batch.writes(rules.group), dim=rules.dim)
        return reference.paged_attention(
            reference.rotary(query, *angles),
            *pools,
            self._batch.slices(rules.group),
            scale=rules.scale,
            window=rules.window,
            softcap=rules.softcap,
            deterministic=rules.deterministic,
        )


class TorchOperations:
    """Runs on any device torch knows."""

    name = "torch"
    rms_norm = staticmethod(reference.rms_norm)
    add_rms_norm = staticmethod(reference_fused.add_rms_norm)
    silu_mul = staticmethod(reference.silu_mul)
    gelu_mul = staticmethod(reference.gelu_mul)
    copy_slots = staticmethod(reference.copy_slots)

    def begin(self, batch: ForwardBatch) -> TorchStep:
        """As ``operations.Operations.begin``."""
        return TorchStep(batch)


def _normed(heads: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    if weight is None:
        return heads
    dtype: torch.dtype = heads.dtype
    return reference.rms_norm(heads, weight, eps, dtype)
