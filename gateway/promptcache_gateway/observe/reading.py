"""Reads requests one after another, and remembers what of them may come again.

A beginning that was sent before is known as a whole (`repeats`); of another request what it has of messages
and segments that came before is neither cut nor keyed again. How a prompt is put together is `prompt`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.known_messages import KnownMessages
from promptcache.segments import Segment, cut_request
from promptcache_gateway.observe.pieces import Pieces
from promptcache_gateway.observe.prompt import Prompt, put_together
from promptcache_gateway.observe.read_alike import read_alike
from promptcache_gateway.observe.repeats import Repeats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.observe.masking import Masker


class PromptReader:
    """Reads requests, and remembers what of them may come again. Safe to share between threads.

    Args:
        masker: makes the keys that volatile values do not change.
    """

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._known: KnownMessages[Segment] = KnownMessages()
        self._pieces = Pieces()
        self._repeats = Repeats(masker)

    def read(self, body: Mapping[str, Any], tenant: str = "") -> Prompt:
        """Cut a request's body and key it; what has come before is neither cut nor keyed again.

        ``tenant``: who sent it.

        Raises:
            promptcache.errors.MalformedRequestError: the body is not one of the known shapes.
        """
        repeated = self._repeats.read(body, tenant)
        if repeated is not None:
            return repeated
        segments = read_alike(body, cut_request(body, self._known))
        piece_of = self._pieces.of
        prompt = put_together(
            body, segments, tuple([piece_of(segment) for segment in segments]), self._masker
        )
        self._repeats.keep(body, prompt, tenant)
        return prompt

    def forget(self, tenant: str) -> None:
        """Forget a tenant's beginnings, and all that cannot be told to be somebody else's."""
        self._repeats.forget(tenant)
        self._known.clear()
        self._pieces.clear()
        self._masker.clear()
