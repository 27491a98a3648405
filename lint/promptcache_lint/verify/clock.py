"""A clock that stands still where it is put: `time` and `datetime` ask it, and sleeping moves it on.

It must be in place before the code under test is imported, for ``from time import time`` to get it.
"""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

__all__ = ["Clock"]

_STARTED = 1_741_000_000.0
"""When the machine is said to have started. `time.monotonic` stays real: event loops wait by it."""
_RealDate = dt.date
_RealDateTime = dt.datetime


class Clock:
    """Holds the time, in seconds since the epoch, and puts itself in place of the real one."""

    def __init__(self, now: float) -> None:
        self.now = now

    def install(self) -> None:
        """Replace what tells the time in `time` and `datetime`, for the rest of the process."""
        real_local, real_utc, real_format = time.localtime, time.gmtime, time.strftime
        real_text, real_date_text = time.ctime, time.asctime
        put: dict[str, Any] = {
            "time": lambda: self.now,
            "time_ns": lambda: int(self.now * 1_000_000_000),
            "localtime": lambda seconds=None: real_local(self.now if seconds is None else seconds),
            "gmtime": lambda seconds=None: real_utc(self.now if seconds is None else seconds),
            "strftime": lambda form, parts=None: real_format(
                form, real_local(self.now) if parts is None else parts
            ),
            "ctime": lambda seconds=None: real_text(self.now if seconds is None else seconds),
            "asctime": lambda parts=None: real_date_text(real_local(self.now) if parts is None else parts),
            "perf_counter": lambda: self.now - _STARTED,
            "perf_counter_ns": lambda: int((self.now - _STARTED) * 1_000_000_000),
            "process_time": lambda: (self.now - _STARTED) / 10,
            "sleep": self._sleep,
        }
        for name, function in put.items():
            setattr(time, name, function)
        self._install_datetime()

    def _sleep(self, seconds: float) -> None:
        self.now += max(0.0, float(seconds))

    def _install_datetime(self) -> None:
        clock = self

        class _Likeness(type):
            """Makes dates from before the replacement count as dates still."""

            def __instancecheck__(cls, instance: object) -> bool:
                return isinstance(instance, _real_of(cls))

            def __subclasscheck__(cls, subclass: type) -> bool:
                return issubclass(subclass, _real_of(cls))

        class _Date(_RealDate, metaclass=_Likeness):
            @classmethod
            def today(cls) -> Any:
                return cls.fromtimestamp(clock.now)

        class _DateTime(_RealDateTime, metaclass=_Likeness):
            @classmethod
            def now(cls, tz: dt.tzinfo | None = None) -> Any:
                return cls.fromtimestamp(clock.now, tz)

            @classmethod
            def today(cls) -> Any:
                return cls.fromtimestamp(clock.now)

            @classmethod
            def utcnow(cls) -> Any:
                return cls.fromtimestamp(clock.now, dt.UTC).replace(tzinfo=None)

        def _real_of(cls: type) -> type:
            real: dict[type, type] = {_Date: _RealDate, _DateTime: _RealDateTime}
            return real.get(cls, cls)

        for made, name in ((_Date, "date"), (_DateTime, "datetime")):
            made.__name__ = made.__qualname__ = name
            made.__module__ = "datetime"
            setattr(dt, name, made)
