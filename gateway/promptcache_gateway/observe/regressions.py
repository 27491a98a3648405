"""Notices that a template reads less of what it could than it used to: something was changed.

What counts is the share of the reusable tokens that was read, so that new conversations, which have nothing
to reuse, are no regression, and neither is a quiet hour. The last requests are held against those before.
Memory is bounded by templates; what was recorded is recalled after a restart. Who is told is the journal's
business.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.store.courses import Course

_MAX_TEMPLATES = 1_000
_MAX_RECALLED = 2_000


@dataclass(frozen=True, slots=True)
class Regression:
    """A fall of what a template reads.

    Attributes:
        before: share of the reusable tokens that was read before, 0 to 1.
        after: the same of the last requests.
        cause: the code that most of the last requests missed by, None where none is known.
        lost_tokens: what the last requests lost.
    """

    before: float
    after: float
    cause: str | None
    lost_tokens: int


@dataclass(slots=True)
class _Course:
    """One template's requests, oldest first: those of long ago added up, the last ones each by itself."""

    recent: deque[tuple[int, int, str | None]] = field(default_factory=deque)
    recent_read: int = 0
    recent_reusable: int = 0
    requests: int = 0
    read: float = 0.0
    reusable: float = 0.0


class Regressions:
    """Watches templates. Safe to share between threads.

    Args:
        window: how many of the last requests are held against those before them.
        least: how many requests there must have been before.
        fall: by how much the share must have fallen.
    """

    def __init__(self, *, window: int = 20, least: int = 30, fall: float = 0.2) -> None:
        self._window = window
        self._least = least
        self._fall = fall
        self._fade = 1.0 - 1.0 / (10 * window)  # what was long ago counts less and less
        self._courses: OrderedDict[tuple[str, str], _Course] = OrderedDict()
        self._lock = Lock()

    def watch(self, record: RequestRecord) -> Regression | None:
        """Take a record; the regression it completes, told once for each fall."""
        reusable, cached = record.diagnosis.reusable_tokens, record.cached_tokens
        if not reusable or cached is None or record.failed:
            return None
        with self._lock:
            course = self._course(record.tenant, record.template)
            return self._take(course, min(cached, reusable), reusable, record.diagnosis.cause)

    @property
    def memory(self) -> int:
        """How many of a template's requests are enough to go on from."""
        return min(_MAX_RECALLED, self._window + max(self._least, 10 * self._window))

    def recall(self, courses: Iterable[Course]) -> None:
        """Go on from what earlier runs saw, as if it was seen now; what fell then was told then.

        Args:
            courses: the template that was seen last first.
        """
        for told in reversed(list(courses)):
            with self._lock:
                course = self._course(told.tenant, told.template)
                course.requests, course.read, course.reusable = told.requests, told.read, told.reusable
                for read, reusable, cause in told.latest:
                    self._take(course, read, reusable, cause)

    def rename(self, tenant: str, template: str, to: str) -> None:
        """Watch a template under another name; one that is there already goes on as it is."""
        with self._lock:
            course = self._courses.pop((tenant, template), None)
            if course is not None:
                self._courses.setdefault((tenant, to), course)

    def forget(self, tenant: str) -> None:
        """Forget a tenant's templates."""
        with self._lock:
            for key in [key for key in self._courses if key[0] == tenant]:
                del self._courses[key]

    def _course(self, tenant: str, template: str) -> _Course:
        key = (tenant, template)
        course = self._courses.get(key)
        if course is None:
            course = self._courses[key] = _Course()
        self._courses.move_to_end(key)
        if len(self._courses) > _MAX_TEMPLATES:
            self._courses.popitem(last=False)
        return course

    def _take(self, course: _Course, read: int, reusable: int, cause: str | None) -> Regression | None:
        recent = course.recent
        recent.append((read, reusable, cause))
        course.recent_read += read
        course.recent_reusable += reusable
        if len(recent) > self._window:
            self._let_go(course)
        if course.requests < self._least or len(recent) < self._window:
            return None
        before, after = course.read / course.reusable, course.recent_read / course.recent_reusable
        return _fallen(course, before, after) if after <= before - self._fall else None

    def _let_go(self, course: _Course) -> None:
        read, reusable, _ = course.recent.popleft()
        course.recent_read -= read
        course.recent_reusable -= reusable
        course.requests += 1
        course.read = course.read * self._fade + read
        course.reusable = course.reusable * self._fade + reusable


def _fallen(course: _Course, before: float, after: float) -> Regression:
    """What fell; what is now is measured against itself from now on."""
    lost = course.recent_reusable - course.recent_read
    missed = Counter(one[2] for one in course.recent if one[2] is not None)
    cause = missed.most_common(1)[0][0] if missed else None
    course.requests, course.read, course.reusable = 0, 0.0, 0.0
    course.recent.clear()
    course.recent_read = course.recent_reusable = 0
    return Regression(before, after, cause, lost)
