"""Orders a batch so that requests with a common prefix run one after the other.

A cache keeps what was used last. Requests in the order of a file mix their prefixes, and each pushes the
others out; sorted by what they begin with, each prefix is computed once. Sending them is left to the caller,
or to `promptcache.fan_out`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from promptcache.errors import MalformedRequestError
from promptcache.segments import chain_hashes, cut_request, newest_turn_start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["PrefixBatch", "group_by_prefix"]

_Request = TypeVar("_Request")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class PrefixBatch(Generic[_Request]):
    """A batch in the order of its prefixes.

    ``requests`` are the requests in that order; ``order`` tells where each stood; ``groups`` are runs of
    ``requests`` that share everything before their newest turn, so that the first of each warms the others.
    """

    requests: tuple[_Request, ...]
    order: tuple[int, ...]
    groups: tuple[tuple[_Request, ...], ...]

    def restore(self, results: Iterable[_Result]) -> list[_Result]:
        """Return results, given in the order of ``requests``, in the order the batch came in.

        Raises ValueError when there is not one result for each request.
        """
        placed = sorted(zip(self.order, results, strict=True), key=lambda pair: pair[0])
        return [result for _, result in placed]


def group_by_prefix(
    requests: Sequence[_Request], *, body: Callable[[_Request], Mapping[str, Any]] | None = None
) -> PrefixBatch[_Request]:
    """Order requests so that equal prefixes run together.

    ``body`` returns the request body where a request is more than that, as a line of a batch file is. Equal
    beginnings are found segment by segment, then character by character; the models' caches are their own.
    Raises `promptcache.errors.MalformedRequestError`, with the number of the request, for a body that cannot
    be cut.

    >>> bodies = [{"model": "m", "prompt": text} for text in ("b 1", "a 1", "b 2", "a 2")]
    >>> batch = group_by_prefix(bodies)
    >>> [request["prompt"] for request in batch.requests]
    ['a 1', 'a 2', 'b 1', 'b 2']
    >>> batch.restore(["A1", "A2", "B1", "B2"])
    ['B1', 'A1', 'B2', 'A2']
    """
    keys = [_key(body(request) if body else request, index) for index, request in enumerate(requests)]
    order = sorted(range(len(requests)), key=lambda index: keys[index])
    runs = groupby(order, key=lambda index: (keys[index].model, keys[index].prefix or index))
    return PrefixBatch(
        tuple(requests[index] for index in order),
        tuple(order),
        tuple(tuple(requests[index] for index in run) for _, run in runs),
    )


@dataclass(frozen=True, order=True)
class _Key:
    """What requests are ordered by; ``prefix`` is the hash of all before the newest turn, b"" for none."""

    model: str
    texts: tuple[str, ...]
    prefix: bytes


def _key(body: Any, index: int) -> _Key:
    try:
        segments = cut_request(body)
    except MalformedRequestError as error:
        where = f"requests[{index}] {error.path}"
        raise MalformedRequestError(where, error.problem, remedy=error.remedy) from error
    newest = newest_turn_start(segments)
    texts = tuple(f"{segment.path}\0{segment.text}\0{segment.extra}" for segment in segments)
    prefix = chain_hashes(segments[:newest])[-1] if newest else b""
    return _Key(str(body.get("model") or ""), texts, prefix)
