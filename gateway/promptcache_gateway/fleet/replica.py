"""One replica of a fleet: the upstream behind it, how it has been lately, whether it may take a request."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from promptcache_gateway.fleet.prefix import KEY_TOKENS
from promptcache_gateway.upstreams.circuit import Circuit

if TYPE_CHECKING:
    from promptcache_gateway.fleet.kv_stream import KvStream
    from promptcache_gateway.fleet.settings import ReplicaSettings
    from promptcache_gateway.fleet.target import Target
    from promptcache_gateway.upstreams.base import Upstream

_log = logging.getLogger("promptcache.gateway")


@dataclass(slots=True)
class Counts:
    """What was counted of a replica since it is named, under whatever settings.

    Attributes:
        requests: those it got.
        failures: how many of them it did not answer.
        lone_refusals: how many it refused (401, 403, 404) and another replica answered.
    """

    requests: int = 0
    failures: int = 0
    lone_refusals: int = 0


class Replica:
    """A replica that is known.

    Args:
        settings: what was configured or found of it.
        upstream: sends to it.
        target: what the router knows of it.
        limit: requests it gets at a time; None: any number.

    Attributes:
        circuit: left alone after failures in a row.
        draining: gets no more requests, by an operator's wish.
        starting: gets none yet.
        removed: is no longer named, and is closed when its last request has ended.
        speaks: its last failure was an answer, however bad, or the answer to a probe has begun: it is tried
            all the same where nobody else can be.
        up: what the last question about its health told; None before the first.
        stream: its own events, where it sends any.
        counts: what became of its requests.
        under_way: requests that were sent to it under these settings and have not ended.
        refusal: the status of the last such answer, None where it has answered since.
    """

    def __init__(
        self, settings: ReplicaSettings, upstream: Upstream, target: Target, limit: int | None
    ) -> None:
        self.settings, self.upstream, self.target, self.limit = settings, upstream, target, limit
        self.circuit = Circuit()
        self.draining = False
        self.starting = True
        self.removed = False
        self.speaks = False
        self.up: bool | None = None
        self.checked_at: float | None = None
        self.stream: KvStream | None = None
        self.counts = Counts()
        self.under_way = 0
        self.refusal: int | None = None
        self._misses = 0

    @property
    def name(self) -> str:
        """What it is called."""
        return self.settings.label

    @property
    def running(self) -> int:
        """Requests the server has, those too that it got under earlier settings."""
        return self.target.load.running

    def retune(self, settings: ReplicaSettings, limit: int | None) -> bool:
        """Take other settings where only the work it gets is another; False where it must be made anew."""
        ours = replace(self.settings, weight=settings.weight, max_concurrency=settings.max_concurrency)
        if ours != settings:
            return False
        self.settings, self.limit = settings, limit
        self.target.reweigh(settings.weight)
        return True

    def follow(self, earlier: Replica) -> None:
        """Go on for one of that name under earlier settings; at the same server its requests count."""
        self.counts = earlier.counts
        if self.settings.url != earlier.settings.url:
            return
        self.target.follow(earlier.target)
        if self.settings.api_key == earlier.settings.api_key:
            self.circuit, self.speaks, self.refusal = earlier.circuit, earlier.speaks, earlier.refusal

    @property
    def serves(self) -> bool:
        """Whether it may get requests at all."""
        return not (self.draining or self.starting or self.removed)

    @property
    def well(self) -> bool:
        """Whether nothing is known against it."""
        return self.serves and self.up is not False and not self.circuit.is_open

    @property
    def is_readable(self) -> bool:
        """Whether its cache could be read if it got requests; an operator may have drained it."""
        return not (self.starting or self.removed or self.up is False or self.circuit.is_open)

    @property
    def has_room(self) -> bool:
        """Whether it may get one more."""
        return self.limit is None or self.running < self.limit

    @property
    def is_due(self) -> bool:
        """Whether it was left alone for long enough, and a call may find out how it is."""
        left_alone = self.serves and self.up is not False and self.circuit.is_open
        return left_alone and self.has_room and not self.circuit.probe_in_s

    @property
    def may_recover(self) -> bool:
        """Whether a call may be sent to it although it is left alone."""
        return self.is_due or (self.speaks and self.serves and self.up is not False)

    def checked(self, *, up: bool, patience: int) -> bool:
        """Note what a question about its health told; True when it has come back after it was down."""
        self.checked_at = time.time()
        self._misses = 0 if up else self._misses + 1
        was = self.up
        if up or self._misses >= patience:
            self.up = up
        if self.up is False and was is not False:
            _log.warning(
                "replica %s is down: its health page did not answer well %d times", self.name, patience
            )
        return up and was is False

    @property
    def is_refusing(self) -> bool:
        """Whether it is left alone because it refuses what others answer."""
        return self.refusal is not None and self.circuit.is_open

    def refused_alone(self, status: int) -> None:
        """Note that it refused a request that another replica then answered."""
        if self.refusal != status:
            _log.warning("replica %s answers %d to what another replica answers", self.name, status)
        self.refusal = status
        self.counts.lone_refusals += 1
        self.counts.failures += 1
        self.failed()

    def failed(self, *, speaks: bool = False) -> None:
        """Note a failure; ``speaks``: it answered, if badly."""
        was_open = self.circuit.is_open
        self.circuit.failed()
        self.speaks = speaks
        if self.circuit.is_open and not was_open:
            left_s = self.circuit.retry_after_s
            _log.warning("replica %s failed several times in a row: left alone for %d s", self.name, left_s)

    def answered(self) -> None:
        """Note an answer that is as it should be."""
        self.refusal = None
        self.circuit.succeeded()

    def state(self) -> str:
        """One word: ``removed``, ``draining``, ``down``, ``ejected``, ``full`` or ``ready``."""
        if self.removed:
            return "removed"
        if self.draining or self.starting:
            return "draining"
        if self.up is False:
            return "down"
        if self.circuit.is_open:
            return "ejected"
        return "ready" if self.has_room else "full"

    def view(self, now: float) -> dict[str, Any]:
        """What an operator wants to see; times in seconds, rates in tokens a second."""
        load = self.target.load
        return {
            "name": self.name,
            "url": self.settings.url,
            "state": self.state(),
            "weight": self.settings.weight,
            "account": self.settings.account or None,
            "region": self.settings.region or None,
            "max_concurrency": self.limit,
            "running": self.under_way if self.removed else self.running,
            "requests": self.counts.requests,
            "failures": self.counts.failures,
            "lone_refusals": self.counts.lone_refusals,
            "refusal": self.refusal,
            "checked_at": self.checked_at,
            "backlog_s": round(load.backlog_s(now), 3),
            "pending_tokens": round(load.pending_tokens),
            "prefill_tokens_per_s": round(load.prefill_rate),
            "decode_tokens_per_s": round(load.decode_rate, 1),
            "known_tokens": round(len(self.target.tree) * KEY_TOKENS),
            "kv_events": None if self.stream is None else self.stream.view(),
        }
