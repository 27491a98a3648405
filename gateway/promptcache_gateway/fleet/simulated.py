"""The router as `promptcache simulate --replicas` plays traces through it.

The front door's command finds this by the entry point ``promptcache.routers``: neither package imports the
other. Prompts come as page numbers, which are chained keys already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.fleet.prefix import Prefix
from promptcache_gateway.fleet.routing import Router
from promptcache_gateway.fleet.settings import POLICIES

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["POLICIES", "SimulatedRouter"]


class SimulatedRouter:
    """The shipped router over ``replicas`` replicas that hold ``capacity`` pages each.

    Args:
        policy: one of `POLICIES`.
        replicas: how many; they are numbered from 0.
        capacity: pages that each one's cache holds.
    """

    def __init__(self, policy: str, replicas: int, capacity: int) -> None:
        self._router = Router(policy, max_keys=capacity)
        self._targets = [self._router.add(str(number)) for number in range(replicas)]

    def send(self, now: float, pages: Sequence[int], tokens: int, page_tokens: int) -> tuple[int, int]:
        """Choose for a prompt that comes ``now``: the replica's number, and a ticket for `answered`."""
        prefix = Prefix(keys=tuple(pages), key_tokens=page_tokens, tokens=tokens)
        choice = self._router.choose(prefix, self._targets, now)
        return self._targets.index(choice.target), self._router.sent(choice, now)

    def answered(self, now: float, replica: int, ticket: int, computed: int) -> None:
        """Tell that a prompt's first output came, of which ``computed`` tokens were not cached."""
        load = self._targets[replica].load
        load.first_output(ticket, now)
        load.ended(ticket, now, computed=computed)
