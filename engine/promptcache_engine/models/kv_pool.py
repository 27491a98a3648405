"""The keys and values of every cached token, in slots; which slot holds what is the cache's bookkeeping.

Layout: token-major. One slot holds all key (value) heads of one token side by side, so that gathering a
sequence's context copies whole rows. Layers with a sliding window may have fewer slots of their own.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from promptcache_engine.kernels import coded, reference
from promptcache_engine.models.config import ModelConfig


class KVPool:
    """``num_slots`` slots for each layer of a model.

    ``k`` and ``v`` have the shape ``[layers, num_slots, width]``, where a slot's width is ``num_kv_heads *
    head_dim`` values, in eight-bit dtypes with their scales behind them (``kernels.coded``). Their memory is
    not cleared: a slot means nothing until a forward pass has written it, and nothing reads it before.

    ``window_slots``: how many slots the layers of each of the model's ``windows`` have; those layers then
    lie in ``windowed``, a pair (k, v) a window, and ``k`` and ``v`` hold the others. Empty: all layers share
    one slot space. ``copy`` is the backend's ``copy_slots``.
    """

    def __init__(
        self,
        config: ModelConfig,
        num_slots: int,
        dtype: torch.dtype,
        device: torch.device | str,
        *,
        window_slots: Sequence[int] = (),
        copy: Callable[[Tensor, Tensor, Tensor], None] = reference.copy_slots,
    ) -> None:
        self._copy = copy
        if window_slots and len(window_slots) != len(config.windows):
            raise ValueError(f"{len(window_slots)} sizes for the model's {len(config.windows)} windows")
        least = min((num_slots, *window_slots))
        if least < 1:
            raise ValueError(f"a KV pool needs at least one slot, not {least}")
        groups = config.layer_groups if window_slots else (None,) * config.num_layers
        self._places: list[tuple[int | None, int]] = []
        for layer, group in enumerate(groups):
            self._places.append((group, groups[:layer].count(group)))

        width = coded.slot_width(config.num_kv_heads, config.head_dim, dtype)

        def allocate(group: int | None, slots: int) -> Tensor:
            shape = (groups.count(group), slots, width)
            return torch.empty(shape, dtype=dtype, device=device)

        self.k, self.v = allocate(None, num_slots), allocate(None, num_slots)
        self.windowed = tuple(
            (allocate(i, slots), allocate(i, slots)) for i, slots in enumerate(window_slots)
        )

    def use_copy(self, copy: Callable[[Tensor, Tensor, Tensor], None]) -> None:
        """Copy slots with another backend's ``copy_slots`` from now on."""
        self._copy = copy

    @property
    def num_slots(self) -> int:
        """Tokens that fit."""
        return self.k.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of keys and values together."""
        return sum(each.nbytes for pair in ((self.k, self.v), *self.windowed) for each in pair)

    def layer(self, index: int) -> tuple[Tensor, Tensor]:
        """Return the keys and the values of layer ``index``, each ``[slots, width]``."""
        group, place = self._places[index]
        keys, values = (self.k, self.v) if group is None else self.windowed[group]
        return keys[place], values[place]

    def copy_slots(self, src: Tensor, dst: Tensor, window: int | None = None) -> None:
        """Copy slots ``src[i]`` to ``dst[i]`` in every layer of ``k`` and ``v``, or of the model's
        ``window``-th window; all are read before any is written.

        Both are int64 tensors of equal length. ``dst`` must not name a slot twice.
        """
        for each in (self.k, self.v) if window is None else self.windowed[window]:
            self._copy(coded.raw(each), src, dst)
