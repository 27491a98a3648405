"""Counters and one kind of histogram kept in plain dictionaries, shown to Prometheus when it asks.

The client library's own counters cost a lock and a walk through the labels for each sample; a request
counts in a dozen of them. Here a sample is one addition, and the families are made when the page is read.
What is counted is `metrics`' business.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from threading import Lock
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prometheus_client.core import Metric

Labels = tuple[str, ...]


class Tally:
    """One counter with labels. Additions must not run at once: whoever adds holds `Tallies.lock`.

    Attributes:
        values: the sums by label values, in the order of the labels' names; they may be added to directly.
    """

    def __init__(self, name: str, text: str, labels: Labels) -> None:
        self.name, self.text, self.labels = name, text, labels
        self.values: defaultdict[Labels, float] = defaultdict(float)

    def add(self, labels: Labels, amount: float = 1.0) -> None:
        """Add ``amount`` under label values, in the order of the labels' names."""
        self.values[labels] += amount

    def family(self) -> Metric:
        """The counter as Prometheus reads it."""
        family = CounterMetricFamily(self.name, self.text, labels=self.labels)
        for labels, value in self.values.items():
            family.add_metric(labels, value)
        return family


class Spread:
    """One histogram with labels; the same rule holds for additions.

    Args:
        name: the metric's.
        text: what it says.
        labels: the labels' names.
        bounds: upper bounds of the buckets, ascending; one without an end follows.
    """

    def __init__(self, name: str, text: str, labels: Labels, bounds: Sequence[float]) -> None:
        self.name, self.text, self.labels, self.bounds = name, text, labels, tuple(bounds)
        self._counts: dict[Labels, list[int]] = {}
        self._sums: defaultdict[Labels, float] = defaultdict(float)

    def add(self, labels: Labels, value: float) -> None:
        """Count one value, in the metric's unit."""
        counts = self._counts.get(labels)
        if counts is None:
            counts = self._counts[labels] = [0] * (len(self.bounds) + 1)
        counts[bisect_left(self.bounds, value)] += 1
        self._sums[labels] += value

    def family(self) -> Metric:
        """The histogram as Prometheus reads it: cumulative buckets."""
        family = HistogramMetricFamily(self.name, self.text, labels=self.labels)
        for labels, counts in self._counts.items():
            family.add_metric(labels, list(self._buckets(counts)), self._sums[labels])
        return family

    def _buckets(self, counts: Iterable[int]) -> Iterator[tuple[str, float]]:
        total = 0
        for bound, count in zip((*self.bounds, None), counts, strict=True):
            total += count
            yield ("+Inf" if bound is None else str(float(bound))), total


class Tallies(Collector):
    """The counters of one page.

    Attributes:
        lock: held while counting and while the page is made, so that a page is of one moment.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self._all: list[Tally | Spread] = []

    def counter(self, name: str, text: str, *labels: str) -> Tally:
        """A new counter."""
        tally = Tally(name, text, labels)
        self._all.append(tally)
        return tally

    def histogram(self, name: str, text: str, *labels: str, bounds: Sequence[float]) -> Spread:
        """A new histogram."""
        spread = Spread(name, text, labels, bounds)
        self._all.append(spread)
        return spread

    def collect(self) -> Iterable[Metric]:
        """Every counter, as it stands."""
        with self.lock:
            return [one.family() for one in self._all]
