"""Tells operators what they should look at: new faults, regressions, money lost, budgets nearly used up.

An alert is counted, shown to whoever listens and posted to the webhook. Each is told once; a quiet time holds
back what would follow too soon, and the next one says how many were held back. It holds names, codes and
counts, no text of a prompt.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause
from promptcache_gateway.observe.regressions import Regressions
from promptcache_gateway.observe.templates import OVERFLOW
from promptcache_gateway.observe.webhook import Webhook
from promptcache_gateway.tenancy.budgets import dollars

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptcache_gateway.alert_settings import AlertSettings
    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.store import Store

_MAX_KNOWN = 50_000
_MAX_WATCHED = 1_000
_HOUR_S = 3_600

Told = tuple[str, str, str, str]
"""Kind, tenant, template, and what it is about: what one alert is the same as another by."""


class Alerts:
    """Watches records. Safe to share between threads; never waits.

    Args:
        settings: thresholds, address and quiet time.
        publish: takes each alert that is told.
        clock: Unix time in seconds.

    Attributes:
        known: tenant, template and code of every fault that was told of.
    """

    def __init__(
        self,
        settings: AlertSettings,
        publish: Callable[[Mapping[str, Any]], None],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._publish = publish
        self._clock = clock
        self._lock = Lock()
        self._regressions = _regressions(settings)
        self._webhook = _webhook(settings)
        self._started = False
        self._dropped = 0
        self._store: Store | None = None
        self.known: set[tuple[str, str, str]] = set()
        self._told: OrderedDict[Told, tuple[float, int]] = OrderedDict()
        self._lost: OrderedDict[tuple[str, str], tuple[int, float, bool]] = OrderedDict()

    def start(self) -> None:
        """Begin to post."""
        self._started = True
        if self._webhook is not None:
            self._webhook.start()

    def stop(self) -> None:
        """Post what is queued, within the time one post may take."""
        self._started = False
        if self._webhook is not None:
            self._webhook.stop()

    def renew(self, settings: AlertSettings) -> None:
        """Go by other settings; where what counts has changed, what was recorded is counted anew."""
        old, before = self._settings, self._webhook
        if (old.window, old.least_requests, old.fall) != (
            settings.window,
            settings.least_requests,
            settings.fall,
        ):
            self._regressions = _regressions(settings)
            self._recall_courses()
        self._settings = settings
        if old.lost_usd_per_hour != settings.lost_usd_per_hour:
            self._recall_losses()
        if old.webhook != settings.webhook:
            self._webhook = _webhook(settings)
            if self._webhook is not None and self._started:
                self._webhook.start()
            if before is not None:
                before.stop(self._webhook)
                self._dropped += before.dropped

    @property
    def dropped(self) -> int:
        """Alerts that the webhook did not take, however often they were posted."""
        return self._dropped + (self._webhook.dropped if self._webhook is not None else 0)

    def forget(self, tenant: str) -> None:
        """Forget what was told of a tenant."""
        self._regressions.forget(tenant)
        with self._lock:
            self.known = {key for key in self.known if key[0] != tenant}
            for key in [key for key in self._told if key[1] == tenant]:
                del self._told[key]
            for lost in [lost for lost in self._lost if lost[0] == tenant]:
                del self._lost[lost]

    def rename(self, tenant: str, template: str, to: str) -> None:
        """Know the faults of a template under another name too."""
        codes = [key[2] for key in self.known if key[:2] == (tenant, template)]
        self.known |= {(tenant, to, code) for code in codes}
        self._regressions.rename(tenant, template, to)

    def recall(self, store: Store) -> None:
        """Know what earlier runs told: their faults, and what each template read."""
        self._store = store
        self.known = store.read.known_causes()
        self._recall_courses()
        self._recall_losses()

    def _recall_courses(self) -> None:
        if self._store is not None:
            courses = self._store.courses(self._regressions.memory)
            self._regressions.recall(course for course in courses if course.template != OVERFLOW)

    def _recall_losses(self) -> None:
        """Go on with what was lost since the hour began. What reached the threshold then was told then."""
        limit, hour = self._settings.lost_usd_per_hour, int(self._clock() // _HOUR_S)
        if self._store is None or limit is None:
            return
        lost = self._store.losses(hour)
        with self._lock:
            for key, usd in reversed(lost):
                told = self._lost.get(key, (hour, 0.0, False))
                if told[0] != hour or told[1] < usd:
                    self._lost[key] = (hour, usd, usd >= limit)

    def watch(self, record: RequestRecord) -> None:
        """Look at a record."""
        if record.diagnosis.cause is not None:
            self._watch_causes(record)
        if record.template != OVERFLOW:  # many templates under one name: its rate is nobody's
            self._watch_regressions(record)
        if record.diagnosis.lost_usd:
            self._watch_losses(record)

    def budget(self, tenant: str, about: str, message: str, **more: Any) -> None:
        """Tell of a budget; ``about`` is the same for each alert of one budget and period."""
        self._tell("budget", tenant, "", about, message, **more)

    @property
    def budget_used(self) -> float:
        """Share of a budget from which on it is told."""
        return self._settings.budget_used

    def _watch_causes(self, record: RequestRecord) -> None:
        """Tell of a fault that a template shows for the first time."""
        diagnosis = record.diagnosis
        if diagnosis.attribution != "caller" or diagnosis.cause is None:
            return
        key = (record.tenant, record.template, diagnosis.cause)
        if key in self.known or len(self.known) >= _MAX_KNOWN:
            return
        self.known.add(key)
        self._tell_of(
            record,
            "new_cause",
            diagnosis.cause,
            get_cause(diagnosis.cause).title,
            cause=diagnosis.cause,
            path=diagnosis.path,
            lost_tokens=diagnosis.lost_tokens,
        )

    def _watch_regressions(self, record: RequestRecord) -> None:
        """Tell that a template reads less of what it could than it used to."""
        fell = self._regressions.watch(record)
        if fell is None:
            return
        why = "" if fell.cause is None else f" ({get_cause(fell.cause).title})"
        self._tell_of(
            record,
            "regression",
            "",
            f"reads {fell.after:.0%} of what could be read, after {fell.before:.0%}{why}",
            before=fell.before,
            after=fell.after,
            cause=fell.cause,
            lost_tokens=fell.lost_tokens,
        )

    def _watch_losses(self, record: RequestRecord) -> None:
        """Tell that a template loses more money in an hour of the clock than it may."""
        limit, usd = self._settings.lost_usd_per_hour, record.diagnosis.lost_usd
        if limit is None or not usd:
            return
        key, hour = (record.tenant, record.template), int(record.time // _HOUR_S)
        with self._lock:
            known = self._lost.get(key, (hour, 0.0, False))
            lost, told = (known[1] + usd, known[2]) if known[0] == hour else (usd, False)
            self._lost[key] = (hour, lost, told or lost >= limit)
            self._lost.move_to_end(key)
            if len(self._lost) > _MAX_WATCHED:
                self._lost.popitem(last=False)
        if lost >= limit and not told:
            message = f"lost {dollars(lost)} since the hour began; [alerts] allows {dollars(limit)}"
            self._tell_of(record, "loss", "", message, lost_usd=lost, cause=record.diagnosis.cause)

    def _tell_of(self, record: RequestRecord, kind: str, about: str, message: str, **more: Any) -> None:
        message = f"{record.template}: {message}"
        self._tell(kind, record.tenant, record.template, about, message, request=record.id, **more)

    def _tell(self, kind: str, tenant: str, template: str, about: str, message: str, **more: Any) -> None:
        if kind not in self._settings.kinds:
            return
        held = self._held_back((kind, tenant, template, about))
        if held is None:
            return
        alert = {
            "kind": kind,
            "time": self._clock(),
            "template": template,
            "tenant": tenant,
            "message": message,
            "held_back": held,
            **more,
        }
        self._publish(alert)
        if self._webhook is not None:
            self._webhook.post(alert)

    def _held_back(self, told: Told) -> int | None:
        """How many were held back since the last one of these; None where this one has to be, too."""
        now = self._clock()
        with self._lock:
            at, held = self._told.get(told, (float("-inf"), 0))
            quiet = now - at < self._settings.quiet_s
            self._told[told] = (at, held + 1) if quiet else (now, 0)
            self._told.move_to_end(told)
            if len(self._told) > _MAX_WATCHED:
                self._told.popitem(last=False)
        return None if quiet else held


def _regressions(settings: AlertSettings) -> Regressions:
    return Regressions(window=settings.window, least=settings.least_requests, fall=settings.fall)


def _webhook(settings: AlertSettings) -> Webhook | None:
    return Webhook(settings.webhook) if settings.webhook else None
