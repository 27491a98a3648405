"""The memory that requests under way may take: for their bodies, and for answers that are held whole.

Kept conversations have their own, which the shelf knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.plane.body import bodies_under_way
from promptcache_gateway.upstreams.whole_bodies import answers_under_way

if TYPE_CHECKING:
    from collections import Counter

    from promptcache_gateway.settings import Settings


class Room:
    """Both budgets; they outlive a change of settings.

    Attributes:
        bodies: the memory for bodies of requests.
        answers: the memory for answers of upstreams.
    """

    def __init__(self, settings: Settings) -> None:
        self.bodies = bodies_under_way(settings.bodies_bytes)
        self.answers = answers_under_way(settings.answers_bytes)

    @property
    def refused(self) -> dict[str, Counter[str]]:
        """How many requests found no room, by what for and by tenant."""
        return {"bodies": self.bodies.refused, "answers": self.answers.refused}

    def renew(self, settings: Settings) -> None:
        """Go by other bounds, for what is taken from now on."""
        self.bodies.most, self.answers.most = settings.bodies_bytes, settings.answers_bytes
