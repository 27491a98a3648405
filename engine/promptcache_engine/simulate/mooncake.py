"""The Mooncake format: prompts as lists of page numbers, already hashed by whoever recorded them.

An object has ``timestamp`` (milliseconds), ``input_length`` (tokens) and ``hash_ids``, one for each 512
tokens of the prompt; equal numbers are equal tokens after equal tokens. The last, half-filled page is
dropped, as no cache of whole pages could share it; its number may be missing. Source of the format: the
repository kvcache-ai/Mooncake.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from promptcache_engine.simulate.errors import TraceError
from promptcache_engine.simulate.trace import Trace, TraceRequest

MOONCAKE_PAGE = 512
"""Tokens a number in ``hash_ids`` stands for."""


def read_mooncake(objects: Sequence[tuple[int, Mapping[str, Any]]], page_size: int) -> Trace:
    """Return the trace of (line, object) pairs.

    A page of several times 512 tokens is named by its last number, which stands for all before it; of smaller
    pages each number stands for as many as fit. Raises TraceError for a page size that is neither a multiple
    nor a divisor of 512, and for an object that is no request of this format.
    """
    per_page, pages_each = max(1, page_size // MOONCAKE_PAGE), max(1, MOONCAKE_PAGE // page_size)
    if per_page * MOONCAKE_PAGE != page_size * pages_each:
        raise TraceError(
            f"a Mooncake trace knows pages of {MOONCAKE_PAGE} tokens, and cannot tell pages of {page_size}.",
            remedy=f"Use --page-size {MOONCAKE_PAGE}, or a multiple or divisor of it.",
        )
    requests = [_request(number, line, per_page) for number, line in objects]
    requests.sort(key=lambda request: request.time)
    return Trace(tuple(requests), page_size, pages_each=pages_each)


def _request(number: int, line: Mapping[str, Any], per_page: int) -> TraceRequest:
    ids, length, time = line.get("hash_ids"), line.get("input_length"), line.get("timestamp", 0)
    if not isinstance(ids, list) or not all(_is_count(i, below=2**31) for i in ids):
        raise TraceError("`hash_ids` is no list of page numbers.", remedy="Each is at least 0.", line=number)
    if not isinstance(length, int) or not _is_count(length):
        raise TraceError("`input_length` is no number of tokens.", remedy="It is at least 0.", line=number)
    if isinstance(time, bool) or not isinstance(time, int | float) or not abs(time) <= sys.float_info.max:
        raise TraceError("`timestamp` is no number.", remedy="It is in milliseconds.", line=number)
    if not length // MOONCAKE_PAGE <= len(ids) <= -(-length // MOONCAKE_PAGE):
        raise TraceError(
            f"`hash_ids` has {len(ids)} page numbers, and `input_length` is {length} tokens.",
            remedy=f"There is one for each {MOONCAKE_PAGE} tokens.",
            line=number,
        )
    whole = ids[: length // MOONCAKE_PAGE]
    return TraceRequest(time / 1000, tuple(whole[per_page - 1 :: per_page]), length)


def _is_count(value: object, below: int = 2**62) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below
