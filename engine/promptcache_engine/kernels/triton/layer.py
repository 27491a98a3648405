"""One layer's pools and rules, checked and in the form in which kernels take them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from promptcache_engine.kernels import coded as coding
from promptcache_engine.kernels.tables import LARGEST_HEAD
from promptcache_engine.kernels.triton.launch import Constant, Target, next_power_of_two

_CODES = {torch.float8_e4m3fn: 1, torch.int8: 2}


@dataclass(frozen=True, eq=False)
class PoolParts:
    """A layer's pools [S, width], taken apart.

    ``tensors`` are keys, values, key scales and value scales; where nothing is coded the values stand in for
    the scales, which are then not read. ``coded`` is 0 for values as they are, 1 for fp8, 2 for int8.
    """

    tensors: tuple[Tensor, Tensor, Tensor, Tensor]
    kv_heads: int
    coded: int

    @property
    def slot_stride(self) -> int:
        """From one slot's values to the next's."""
        return self.tensors[0].stride(0)

    @property
    def scale_stride(self) -> int:
        """From one slot's scales to the next's."""
        return self.tensors[2].stride(0)


@dataclass(frozen=True, eq=False)
class Layer:
    """What attention in one layer reads besides the queries and the page table, and by which rules.

    ``dtype`` is the queries'. ``group`` query heads share a key/value head; ``padded`` is the power of two
    that holds a head. ``window`` is 0 and ``softcap`` 0.0 where there is none.
    """

    parts: PoolParts
    dtype: torch.dtype
    group: int
    padded: int
    scale: float
    window: int
    softcap: float

    def form(self, target: Target) -> dict[str, Constant]:
        """The constants that say which rules are compiled in."""
        # The interpreter multiplies the bits of bfloat16 values, not the values.
        wide = target.kind == "cpu" and self.dtype == torch.bfloat16
        return {
            "windowed": self.window > 0,
            "softcap": self.softcap,
            "coded": self.parts.coded,
            "wide": wide,
        }


def pool_parts(key_pool: Tensor, value_pool: Tensor, dim: int) -> PoolParts:
    """Check a layer's pools against each other and take them apart.

    Raises:
        ValueError: they differ, do not hold whole heads of ``dim``, or their rows are not contiguous.
    """
    if key_pool.shape != value_pool.shape or key_pool.dtype != value_pool.dtype:
        raise ValueError(f"keys {_named(key_pool)} and values {_named(value_pool)} differ")
    if key_pool.stride() != value_pool.stride() or key_pool.stride(1) != 1:
        raise ValueError("the values of a slot must lie side by side, in keys and values alike")
    kv_heads = coding.heads_in(key_pool, dim)
    keys, values = coding.take_apart(key_pool, dim), coding.take_apart(value_pool, dim)
    code = _CODES.get(key_pool.dtype, 0)
    if keys.scales is None or values.scales is None:
        return PoolParts((keys.values, values.values, keys.values, values.values), kv_heads, 0)
    raw = torch.uint8 if code == 1 else torch.int8
    return PoolParts(
        (keys.values.view(raw), values.values.view(raw), keys.scales, values.scales), kv_heads, code
    )


def layer_of(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    scale: float,
    window: int | None,
    softcap: float | None,
) -> Layer:
    """Check pools [S, width] against queries [rows, H, D].

    Raises:
        ValueError: they do not fit together.
    """
    heads, dim = query.shape[-2:]
    if dim > LARGEST_HEAD:
        raise ValueError(f"heads of {dim} values do not fit the tiles, which hold up to {LARGEST_HEAD}")
    parts = pool_parts(key_pool, value_pool, dim)
    if heads % parts.kv_heads or query.stride(-1) != 1:
        raise ValueError(f"{heads} query heads do not share {parts.kv_heads} key/value heads evenly")
    if not parts.coded and key_pool.dtype != query.dtype:
        raise ValueError(f"queries are {query.dtype}, pages {key_pool.dtype}")
    if (window is not None and window < 1) or scale <= 0:
        raise ValueError(f"a window of {window} and a scale of {scale} attend to nothing")
    padded = max(16, next_power_of_two(dim))
    return Layer(parts, query.dtype, heads // parts.kv_heads, padded, scale, window or 0, softcap or 0.0)


def _named(pool: Tensor) -> str:
    return f"{tuple(pool.shape)} {pool.dtype}"
