"""The operations in plain torch: the path on a CPU, and the one that others are compared with."""

import torch
from torch import Tensor

from promptcache_engine.kernels import host, reference
from promptcache_engine.models.batch import ForwardBatch
from promptcache_engine.models.operations import Angles, AttentionRules, Pools, Step


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


class HostStep:
    """A step on the CPU: as ``TorchStep``, to the bit, with what its layers share prepared once."""

    def __init__(self, batch: ForwardBatch) -> None:
        self._batch = batch
        self._turns: dict[int, host.Turns] = {}
        self._writes: dict[int | None, host.Runs] = {}
        self._contexts: dict[tuple[int | None, int | None], list[host.Runs]] = {}
        self._rooms: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}

    def attend(self, projected: Tensor, angles: Angles, pools: Pools, rules: AttentionRules) -> Tensor:
        """As ``operations.Step.attend``."""
        turned = self._turned(projected, angles, rules)
        key = turned[:, rules.heads :].reshape(projected.shape[0], -1)
        value = projected[:, (rules.heads + rules.kv_heads) * rules.dim :]
        writes = self._written(rules.group)
        writes.write(key, pools[0], rules.dim)
        writes.write(value, pools[1], rules.dim)
        query = turned[:, : rules.heads]
        if not rules.deterministic:
            return self._mixed(query, pools, rules)
        return reference.paged_attention(
            query,
            *pools,
            self._batch.slices(rules.group),
            scale=rules.scale,
            window=rules.window,
            softcap=rules.softcap,
            deterministic=True,
        )

    def _turned(self, projected: Tensor, angles: Angles, rules: AttentionRules) -> Tensor:
        """Queries and keys, normed and rotated, [T, H + Hk, D]."""
        rows, both = projected.shape[0], rules.heads + rules.kv_heads
        heads = projected[:, : both * rules.dim].view(rows, both, rules.dim)
        if rules.query_norm is not None or rules.key_norm is not None:
            query = _normed(heads[:, : rules.heads], rules.query_norm, rules.eps)
            heads = torch.cat((query, _normed(heads[:, rules.heads :], rules.key_norm, rules.eps)), dim=1)
        # The step's angles live as long as the step, so their address names them.
        turns = self._turns.get(id(angles))
        if turns is None:
            turns = self._turns[id(angles)] = host.turns(*angles)
        return host.rotary(heads, turns)

    def _written(self, group: int | None) -> host.Runs:
        if group not in self._writes:
            self._writes[group] = host.Runs(self._batch.writes(group))
        return self._writes[group]

    def _mixed(self, query: Tensor, pools: Pools, rules: AttentionRules) -> Tensor:
        """What the rows of all sequences take from their contexts, [T, H * D]."""
        parts = []
        slices = self._batch.slices(rules.group)
        for (start, length, _), context in zip(slices, self._seen(rules), strict=True):
            keys_room, values_room = self._room(len(context), rules.kv_heads * rules.dim)
            mixed = reference.attend(
                query[start : start + length],
                context.read(pools[0], keys_room, rules.dim),
                context.read(pools[1], values_room, rules.dim),
                scale=rules.scale,
                window=rules.window,
                softcap=rules.softcap,
            )
            parts.append(mixed.to(query.dtype))
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _seen(self, rules: AttentionRules) -> list[host.Runs]:
        """Of each sequence the slots that some row of its sees."""
        key = rules.group, rules.window
        if key not in self._contexts:
            self._contexts[key] = [
                host.Runs(slots[reference.first_seen(slots.shape[0], length, rules.window) :])
                for _, length, slots in self._batch.slices(rules.group)
            ]
        return self._contexts[key]

    def _room(self, length: int, width: int) -> tuple[Tensor, Tensor]:
        """Float32 [length, width] twice, the same for all layers."""
        if (length, width) not in self._rooms:
            self._rooms[length, width] = torch.empty(length, width), torch.empty(length, width)
        return self._rooms[length, width]


class TorchOperations:
    """Runs on any device torch knows.

    Args:
        because: why another backend, which was to compute, does not.
    """

    name = "torch"
    rms_norm = staticmethod(host.rms_norm)
    add_rms_norm = staticmethod(host.add_rms_norm)
    silu_mul = staticmethod(reference.silu_mul)
    gelu_mul = staticmethod(reference.gelu_mul)
    copy_slots = staticmethod(reference.copy_slots)

    def __init__(self, because: str = "") -> None:
        self.because = because

    def begin(self, batch: ForwardBatch) -> Step:
        """As ``operations.Operations.begin``."""
        return HostStep(batch) if batch.token_ids.device.type == "cpu" else TorchStep(batch)


def _normed(heads: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    if weight is None:
        return heads
    dtype: torch.dtype = heads.dtype
    return host.rms_norm(heads, weight, eps, dtype)
