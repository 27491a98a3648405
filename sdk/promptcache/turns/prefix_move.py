"""What a step that moves a conversation's prefix costs; the steps themselves are `moves`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PrefixMove"]


@dataclass(frozen=True, slots=True)
class PrefixMove:
    """What moving the prefix costs, in tokens.

    ``kept`` tokens stay the beginning of the request. ``lost`` tokens stay in the request behind the point of
    change, so a cache must compute them anew. ``dropped`` tokens are sent no more, ``added`` ones are new.
    ``code`` is the cause by which the miss will be known. ``estimated`` tells that tokens were estimated from
    characters.
    """

    code: str
    kept: int
    lost: int = 0
    dropped: int = 0
    added: int = 0
    estimated: bool = True

    @property
    def moved(self) -> bool:
        """Whether anything changed at all."""
        return bool(self.lost or self.dropped or self.added)
