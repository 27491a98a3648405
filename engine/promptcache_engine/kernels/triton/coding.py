"""How values lie in a page: as they are, or in eight bits with a scale for each slot and head.

A coded slot holds the values of all heads, one byte each, then a float32 scale a head: what moves a slot
moves its scales. The bytes are put together from integers, so that every device gives the same ones.
``coded`` is 0 for values as they are, 1 for fp8 (e4m3), 2 for int8.
"""

import triton.language as tl

from promptcache_engine.kernels.triton.launch import jit


@jit()
def load_rows(
    pool: tl.tensor,
    spot: tl.tensor,
    read: tl.tensor,
    masked: tl.constexpr,
    shape: tl.constexpr,
    coded: tl.constexpr,
    wide: tl.constexpr,
    dtype: tl.constexpr,
) -> tl.tensor:
    """Rows [tile, padded dim] of one head, in ``dtype`` (float32 if ``wide``), without their scales.

    ``spot`` is where each row begins. What ``read`` excludes and what lies behind the head's values is 0.
    """
    dims = tl.arange(0, shape[1])
    at = pool + spot[:, None] + dims[None, :]
    if masked and shape[0] != shape[1]:
        found = tl.load(at, mask=read[:, None] & (dims < shape[0])[None, :], other=0)
    elif masked:
        found = tl.load(at, mask=read[:, None], other=0)
    elif shape[0] != shape[1]:
        found = tl.load(at, mask=(dims < shape[0])[None, :], other=0)
    else:
        found = tl.load(at)
    if coded == 1:
        found = _from_fp8(found)
    if wide:
        return found.to(tl.float32)
    return found.to(dtype)


@jit()
def _from_fp8(code: tl.tensor) -> tl.tensor:
    """The float32 value of e4m3 bytes: their bits, moved, are a half's, 2 ** 8 too small."""
    bits = code.to(tl.uint16)
    half = ((bits & 0x7F) << 7) | ((bits & 0x80) << 8)
    return half.to(tl.float16, bitcast=True).to(tl.float32) * 256.0


@jit()
def to_fp8(x: tl.tensor) -> tl.tensor:
    """The e4m3 bytes nearest to float32 values within +-448; half-way, the even one."""
    bits = x.to(tl.int32, bitcast=True)
    size = tl.abs(x)
    plain = size.to(tl.int32, bitcast=True)
    rounded = ((plain + 0x7FFFF + ((plain >> 20) & 1)) >> 20) - 960
    # Below 2 ** -6 values are multiples of 2 ** -9; the sum leaves that multiple in the lowest bits.
    tiny = (size * 512.0 + 8388608.0).to(tl.int32, bitcast=True) & 0xF
    return (tl.where(size < 0.015625, tiny, rounded) | ((bits >> 24) & 0x80)).to(tl.uint8)


@jit()
def to_int8(x: tl.tensor) -> tl.tensor:
    """The integer nearest to float32 values within +-127; half-way, the even one; 0 for what is no number."""
    sound = tl.where(x == x, x, 0.0)  # noqa: PLR0124
    return ((sound + 12582912.0) - 12582912.0).to(tl.int8)
