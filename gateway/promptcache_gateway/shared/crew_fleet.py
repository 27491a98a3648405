"""A fleet as all workers of one gateway see it together, for the parent's control plane.

Each worker sends to the replicas itself. What it has running adds up with what others have; of what each has
learned the mean is shown, and of what each thinks of a replica's state the worst.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.fleet.upstream import FleetUpstream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptcache_gateway.fleet.members import MakeUpstream
    from promptcache_gateway.upstream_settings import UpstreamSettings

    View = Mapping[str, Any]

_COUNTED = ("requests", "failures", "lone_refusals")
_RUNNING = ("running", "pending_tokens")
_MEANS = ("prefill_tokens_per_s", "decode_tokens_per_s")
_MOST = ("backlog_s", "known_tokens", "checked_at")
_FLEET_COUNTED = ("held", "hold_timeouts", "waited")
_GOOD_FIRST = ("ready", "full")


class CrewFleet(FleetUpstream):
    """A fleet that sends nothing itself.

    Args:
        settings: the upstream's.
        make: makes what would send to one replica.
        views: what the workers see: of those there are, and what those that are gone saw last.
        drain: has every worker drain a replica, or give it requests again.
    """

    def __init__(
        self,
        settings: UpstreamSettings,
        make: MakeUpstream,
        views: Callable[[], tuple[Sequence[View], Sequence[View]]],
        drain: Callable[[str, str, bool], None],
    ) -> None:
        super().__init__(settings, make)
        self._views, self._have_drained = views, drain

    def view(self) -> dict[str, Any]:
        """The fleet as all workers see it."""
        now, past = self._views()
        mine = [view for view in now if view["upstream"] == self.name]
        if not mine:
            return super().view()
        return merged(mine, [view for view in past if view["upstream"] == self.name])

    def drain(self, replica: str, *, on: bool) -> bool:
        """Have every worker do it; False where none knows a replica of that name."""
        if not any(one["name"] == replica for one in self.view()["replicas"]):
            return False
        self._have_drained(self.name, replica, on)
        return True


def merged(views: Sequence[View], past: Sequence[View]) -> dict[str, Any]:
    """Several workers' views of one fleet as one; of those that are gone only what they counted is added."""
    names = dict.fromkeys(one["name"] for view in views for one in view["replicas"])
    found = {**views[0], "replicas": [_replica(name, views, past) for name in names]}
    for field in _FLEET_COUNTED:
        found[field] = sum(view[field] for view in (*views, *past))
    found["waiting"] = sum(view["waiting"] for view in views)
    found["utilisation"] = round(sum(view["utilisation"] for view in views), 4)
    return found


def _replica(name: str, views: Sequence[View], past: Sequence[View]) -> dict[str, Any]:
    now = [one for view in views for one in view["replicas"] if one["name"] == name]
    before = [one for view in past for one in view["replicas"] if one["name"] == name]
    found = dict(now[0])
    found["state"] = max((one["state"] for one in now), key=_badness)
    found["refusal"] = next((one["refusal"] for one in now if one["refusal"] is not None), None)
    for field in _COUNTED:
        found[field] = sum(one[field] for one in (*now, *before))
    for field in _RUNNING:
        found[field] = sum(one[field] for one in now)
    for field in _MEANS:
        found[field] = round(sum(one[field] for one in now) / len(now), 1)
    for field in _MOST:
        found[field] = max((one[field] for one in now if one[field] is not None), default=None)
    return found


def _badness(state: str) -> int:
    return _GOOD_FIRST.index(state) if state in _GOOD_FIRST else len(_GOOD_FIRST)
