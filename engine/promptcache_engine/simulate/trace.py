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
    """Requests in the order of their times, with pages of ``page_size`` tokens.

    ``pages_each``: how many such pages a page number stands for, where the trace tells none finer.
    ``approximate`` says that tokens were estimated from text; ``skipped`` counts lines that held no request.
    """

    requests: tuple[TraceRequest, ...]
    page_size: int
    pages_each: int = 1
    approximate: bool = False
    skipped: int = 0

    def __iter__(self) -> Iterator[TraceRequest]:
        return iter(self.requests)

    def __len__(self) -> int:
        return len(self.requests)

    @property
    def num_pages(self) -> int:
        """Pages of all prompts together, repeated ones counted each time."""
        return self.pages_each * sum(len(request.pages) for request in self.requests)

    @property
    def footprint(self) -> int:
        """Different pages: the smallest cache that never evicts."""
        different = {(request.namespace, page) for request in self.requests for page in request.pages}
        return self.pages_each * len(different)
