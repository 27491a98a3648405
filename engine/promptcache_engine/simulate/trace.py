"""A trace as the simulation sees it: who asked for which pages, and when.

Pages are numbers: equal numbers are pages with equal tokens after equal pages. Where the numbers come from is
the readers' business.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from promptcache_engine.cache import Hints


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """One prompt.

    ``time``: seconds on the trace's own clock. ``pages``: its whole pages, in order; the rest that fills no
    page is dropped. ``tokens``: the prompt's length. ``namespace``: only equal ones share. ``hints``: what
    the trace says besides.
    """

    time: float
    pages: tuple[int, ...]
    tokens: int
    namespace: str = ""
    hints: Hints = field(default_factory=Hints)


@dataclass(frozen=True, slots=True)
class Trace:
    """Requests in the order of their times; ``page_size`` is what a page number stands for, in tokens.

    ``approximate`` says that tokens were estimated from text; ``skipped`` counts lines that held no request.
    """

    requests: tuple[TraceRequest, ...]
    page_size: int
    approximate: bool = False
    skipped: int = 0

    def __iter__(self) -> Iterator[TraceRequest]:
        return iter(self.requests)

    def __len__(self) -> int:
        return len(self.requests)

    @property
    def num_pages(self) -> int:
        """Pages of all prompts together, repeated ones counted each time."""
        return sum(len(request.pages) for request in self.requests)

    @property
    def footprint(self) -> int:
        """Different pages: the smallest cache that never evicts."""
        return len({(request.namespace, page) for request in self.requests for page in request.pages})
