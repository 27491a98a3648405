"""A window of time, cut into the steps of a curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Window = Literal["hour", "day", "week", "month"]

_HOUR = 3_600


@dataclass(frozen=True, slots=True)
class Span:
    """A window cut into steps, the last of which is under way.

    Attributes:
        start: Unix time in seconds of the first step.
        step_s: seconds in a step.
        steps: how many there are.
    """

    start: int
    step_s: int
    steps: int

    @classmethod
    def ending_at(cls, window: Window, now: float) -> Span:
        """The steps of a window that ends with the one ``now`` is in."""
        step, count = {"hour": (60, 60), "day": (_HOUR, 24), "week": (_HOUR, 168), "month": (86_400, 30)}[
            window
        ]
        return cls((int(now // step) - count + 1) * step, step, count)
