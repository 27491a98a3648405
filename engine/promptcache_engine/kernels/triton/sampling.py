"""One token a row, drawn on the device; one program a row, and no sort.

What truncation keeps is a beginning of the tokens in order of likelihood, so each limit is found by
bisection: how many tokens, or how much weight, lie above a value? Values are compared as integers, two bits
at a time.
The draw is the greatest sum of logit and noise among what is kept: found in float32 first, then exactly among
those that come close (``kernels.noise``). Specification: ``reference_sampling.sample_tokens``.
"""

import torch
import triton.language as tl
from torch import Tensor

from promptcache_engine.kernels import noise
from promptcache_engine.kernels.triton.launch import Launch, Options, jit, target_of

_TILE = 4096
_INTERPRETED_TILE = 128
_NONE = tl.constexpr(2147483647)
_SPREAD = tl.constexpr(noise.SPREAD)
_FIRST = tl.constexpr(noise.FIRST)
_SECOND = tl.constexpr(noise.SECOND)
_SIEVE = tl.constexpr(noise.SIEVE)
_LARGEST_SHARE = tl.constexpr(noise.LARGEST_SHARE)
_UNIT = tl.constexpr(2.0**-31)


def sample_tokens(
    logits: Tensor, *, heats: Tensor, top_k: Tensor, top_p: Tensor, min_p: Tensor, keys: Tensor
) -> Tensor:
    """As ``reference_sampling.sample_tokens``."""
    out = torch.empty(logits.shape[0], dtype=torch.int64, device=logits.device)
    tile = _INTERPRETED_TILE if target_of(logits).kind == "cpu" else _TILE
    plan(logits, heats, top_k, top_p, min_p, keys, out, tile).run()
    return out


def plan(
    logits: Tensor,
    heats: Tensor,
    top_k: Tensor,
    top_p: Tensor,
    min_p: Tensor,
    keys: Tensor,
    out: Tensor,
    tile: int = _TILE,
) -> Launch:
    """The launch; rows are read in runs of ``tile`` values."""
    return Launch(
        _sample_row,
        (logits.shape[0],),
        (logits, heats, top_k, top_p, min_p, keys, out, logits.shape[1], logits.stride(0)),
        {"tile": tile},
        Options(warps=16),
    )


@jit()
def _sample_row(
    logits: tl.tensor,
    heats: tl.tensor,
    top_k: tl.tensor,
    top_p: tl.tensor,
    min_p: tl.tensor,
    keys: tl.tensor,
    out: tl.tensor,
    vocab: tl.tensor,
    stride: tl.tensor,
    tile: tl.constexpr,
) -> None:
    """Choose one row's token."""
    row = tl.program_id(0).to(tl.int64)
    values = logits + row * stride
    heat = tl.load(heats + row)
    count = tl.load(top_k + row)
    share = tl.load(top_p + row)
    least = tl.load(min_p + row)
    top, first, spoiled = _likeliest(values, vocab, tile)
    token = first
    if spoiled:
        token = -1
    elif heat > 0.0:
        last = 2147483646
        edge = 2147483647
        if ((count > 0) & (count < vocab)) | (share < 1.0) | (least > 0.0):
            last, edge = _cut(values, vocab, top, heat, count, share, least, tile)
        low = tl.load(keys + 2 * row)
        high = tl.load(keys + 2 * row + 1)
        token = _loudest(values, vocab, top, heat, low, high, last, edge, tile)
    tl.store(out + row, token.to(tl.int64))


@jit()
def _likeliest(values: tl.tensor, vocab: tl.tensor, tile: tl.constexpr) -> tl.tensor:
    """The largest value, the first token that has it, and whether it is not finite."""
    best = tl.full([tile], float("-inf"), tl.float32)
    sound = tl.zeros([tile], tl.int32)
    for start in tl.range(0, vocab, tile):
        at = start + tl.arange(0, tile)
        found = tl.load(values + at, mask=at < vocab, other=float("-inf"))
        best = tl.maximum(best, found)
        sound += (found != found).to(tl.int32)  # noqa: PLR0124 - true of what is not a number
    top = tl.max(best, 0)
    spoiled = (tl.sum(sound, 0) > 0) | (tl.abs(top) == float("inf"))
    first = tl.full([tile], 2147483647, tl.int32)
    for start in tl.range(0, vocab, tile):
        at = start + tl.arange(0, tile)
        found = tl.load(values + at, mask=at < vocab, other=float("-inf"))
        first = tl.where((found == top) & (at < vocab), tl.minimum(first, at), first)
    return top, tl.min(first, 0), spoiled


@jit()
def _weights(
    values: tl.tensor, at: tl.tensor, vocab: tl.tensor, top: tl.tensor, heat: tl.tensor
) -> tl.tensor:
    """Weights of tokens, the largest 1, and keys that grow as they shrink; keys of none are the largest."""
    found = tl.load(values + at, mask=at < vocab, other=float("-inf"))
    # Rounded as the host rounds it: the noise then decides alike.
    below = tl.div_rn(top - found, heat)
    key = tl.where(at < vocab, tl.abs(below).to(tl.int32, bitcast=True), 2147483647)
    return tl.exp(-below), key


@jit()
def _above(
    values: tl.tensor,
    vocab: tl.tensor,
    top: tl.tensor,
    heat: tl.tensor,
    limit: tl.tensor,
    tile: tl.constexpr,
) -> tl.tensor:
    """How many tokens have a key below ``limit``, and their weight."""
    count = tl.zeros([tile], tl.int32)
    mass = tl.zeros([tile], tl.float32)
    for start in tl.range(0, vocab, tile):
        weight, key = _weights(values, start + tl.arange(0, tile), vocab, top, heat)
        inside = key < limit
        count += inside.to(tl.int32)
        mass += tl.where(inside, weight, 0.0)
    return tl.sum(count, 0), tl.sum(mass, 0)


@jit()
def _search(
    values: tl.tensor,
    vocab: tl.tensor,
    top: tl.tensor,
    heat: tl.tensor,
    most: tl.tensor,
    tile: tl.constexpr,
    counts: tl.constexpr,
) -> tl.tensor:
    """The largest key below which there is at most ``most``: of tokens if ``counts``, else of weight.

    It is the key of the token that crosses ``most``, if any does.
    """
    found = 0
    for step in tl.range(0, 16):
        unit = 1 << (30 - 2 * step)
        one = tl.zeros([tile], tl.float32)
        two = tl.zeros([tile], tl.float32)
        three = tl.zeros([tile], tl.float32)
        for start in tl.range(0, vocab, tile):
            weight, key = _weights(values, start + tl.arange(0, tile), vocab, top, heat)
            if counts:
                weight = tl.where(key < 2147483647, 1.0, 0.0)
            # Differences cannot overflow: keys and limits are not negative.
            one += tl.where(key - found < unit, weight, 0.0)
            two += tl.where(key - found - unit < unit, weight, 0.0)
            three += tl.where(key - found - unit < 2 * unit, weight, 0.0)
        # The highest bit of a key is never set.
        if (step > 0) & (tl.sum(three, 0) <= most):
            found += 3 * unit
        elif (step > 0) & (tl.sum(two, 0) <= most):
            found += 2 * unit
        elif tl.sum(one, 0) <= most:
            found += unit
    return found


@jit()
def _cut(
    values: tl.tensor,
    vocab: tl.tensor,
    top: tl.tensor,
    heat: tl.tensor,
    count: tl.tensor,
    share: tl.tensor,
    least: tl.tensor,
    tile: tl.constexpr,
) -> tl.tensor:
    """What is kept of a row, limited in likelihood, then in number, then in weight: the key of the last token
    that is, and of those that have this key the last that is."""
    last = 2147483646
    if least > 0.0:
        last = _last_reaching(values, vocab, top, heat, least, tile)
    kept, mass = _above(values, vocab, top, heat, last + 1, tile)
    if (count > 0) & (count < kept):
        last = _search(values, vocab, top, heat, (count - 1).to(tl.float32), tile, True)
        before, mass = _above(values, vocab, top, heat, last, tile)
        mass += (count - before).to(tl.float32) * _weight_of(last)
        kept = count
    if share < 1.0:
        # The token that crosses the share is kept: what lies before it does not reach the share.
        wanted = share * mass
        last = tl.minimum(last, _search(values, vocab, top, heat, wanted, tile, False))
        before, mass_before = _above(values, vocab, top, heat, last, tile)
        more = tl.maximum(tl.ceil((wanted - mass_before) / _weight_of(last)), 1.0)
        more = tl.minimum(more, (kept - before).to(tl.float32))
        kept = before + more.to(tl.int32)
    before, _ = _above(values, vocab, top, heat, last, tile)
    return last, _ranked(values, vocab, top, heat, last, kept - before - 1, tile)


@jit()
def _weight_of(key: tl.tensor) -> tl.tensor:
    """The weight of the tokens that have a key."""
    return tl.exp(-key.to(tl.float32, bitcast=True))


@jit()
def _last_reaching(
    values: tl.tensor, vocab: tl.tensor, top: tl.tensor, heat: tl.tensor, least: tl.tensor, tile: tl.constexpr
) -> tl.tensor:
    """The key of the least likely token whose weight reaches ``least``."""
    highest = tl.zeros([tile], tl.int32)
    for start in tl.range(0, vocab, tile):
        weight, key = _weights(values, start + tl.arange(0, tile), vocab, top, heat)
        highest = tl.where((weight >= least) & (key < 2147483647), tl.maximum(highest, key), highest)
    return tl.max(highest, 0)


@jit()
def _ranked(
    values: tl.tensor,
    vocab: tl.tensor,
    top: tl.tensor,
    heat: tl.tensor,
    key: tl.tensor,
    rank: tl.tensor,
    tile: tl.constexpr,
) -> tl.tensor:
    """The token at place ``rank``, from 0, of those that have a key; the last if there are fewer."""
    passed = 0
    token = -1
    for start in tl.range(0, vocab, tile):
        at = start + tl.arange(0, tile)
        _, own = _weights(values, at, vocab, top, heat)
        same = ((own == key) & (at < vocab)).to(tl.int32)
        place = passed + tl.cumsum(same, 0) - 1
        token = tl.maximum(token, tl.max(tl.where((same > 0) & (place <= rank), at, -1), 0))
        passed += tl.sum(same, 0)
    return token


@jit()
def _noisy(
    values: tl.tensor,
    at: tl.tensor,
    vocab: tl.tensor,
    top: tl.tensor,
    heat: tl.tensor,
    low: tl.tensor,
    high: tl.tensor,
    last: tl.tensor,
    edge: tl.tensor,
) -> tl.tensor:
    """Sums of logit and noise in float32, -inf for tokens that are not kept; logits, negated; hashes."""
    found = tl.load(values + at, mask=at < vocab, other=float("-inf"))
    below = tl.div_rn(top - found, heat)
    key = tl.where(at < vocab, tl.abs(below).to(tl.int32, bitcast=True), _NONE)
    mixed = at * _SPREAD + low
    mixed = (mixed ^ ((mixed >> 16) & 0xFFFF)) * _FIRST
    mixed = (mixed ^ ((mixed >> 15) & 0x1FFFF) ^ high) * _SECOND
    mixed = (mixed ^ ((mixed >> 16) & 0xFFFF)) & _NONE
    share = tl.minimum((mixed.to(tl.float32) + 0.5) * _UNIT, _LARGEST_SHARE)
    wait = tl.where(share < 0.001, share * (1.0 + 0.5 * share), -tl.log(1.0 - share))
    kept = (key < last) | ((key == last) & (at <= edge))
    return tl.where(kept, -tl.log(wait) - below, float("-inf")), below, mixed


@jit()
def _loudest(
    values: tl.tensor,
    vocab: tl.tensor,
    top: tl.tensor,
    heat: tl.tensor,
    low: tl.tensor,
    high: tl.tensor,
    last: tl.tensor,
    edge: tl.tensor,
    tile: tl.constexpr,
) -> tl.tensor:
    """The first token of those that have the greatest sum of logit and noise."""
    peak = tl.full([tile], float("-inf"), tl.float32)
    for start in tl.range(0, vocab, tile):
        rough, _, _ = _noisy(values, start + tl.arange(0, tile), vocab, top, heat, low, high, last, edge)
        peak = tl.maximum(peak, rough)
    close = tl.max(peak, 0) - _SIEVE
    best = tl.full([tile], float("-inf"), tl.float64)
    token = tl.full([tile], _NONE, tl.int32)
    for start in tl.range(0, vocab, tile):
        at = start + tl.arange(0, tile)
        rough, below, mixed = _noisy(values, at, vocab, top, heat, low, high, last, edge)
        if tl.max(rough, 0) >= close:
            share = (mixed.to(tl.float64) + 0.5) * _UNIT
            exact = -tl.log(-tl.log(1.0 - share)) - below.to(tl.float64)
            exact = tl.where(rough >= close, exact, float("-inf"))
            token = tl.where(exact > best, at, token)
            best = tl.maximum(best, exact)
    return tl.min(tl.where(best == tl.max(best, 0), token, _NONE), 0)
