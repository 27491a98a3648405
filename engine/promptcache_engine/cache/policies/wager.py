"""How far a policy may depart from LRU: no further than it can afford to be wrong.

Each page evicted though LRU would have kept it is a bet that it will not be used while LRU still had it.
What all open bets may lose together is held to a small share of the pages asked for, plus what was won so
far. So a policy that is wrong about some traffic costs little there, however large the cache and however late
it shows.
"""

from collections import defaultdict

_MEMORY = 2_048  # sequences after which the past has faded to a third
_BUDGET = 0.002  # of all pages asked for, how many hits fewer than LRU's are put up with
_DOUBT = 64.0  # pages' worth of bets taken for half lost before there is experience


class Wager:
    """The open bets by the epoch the page was used last in, and how earlier ones ended."""

    def __init__(self) -> None:
        self._asked = 0.0
        self._lead = 0.0
        self._lost = _DOUBT / 2
        self._settled = _DOUBT
        self._open = 0
        self._by_epoch: defaultdict[int, int] = defaultdict(int)
        self._settled_to = 0

    @property
    def affordable(self) -> bool:
        """Whether another bet can be made."""
        risk = self._lost / self._settled
        return self._open * risk <= _BUDGET * self._asked + self._lead

    def asked(self, pages: int, lead: int) -> None:
        """A sequence asked for ``pages`` and had ``lead`` more hits than it would have had with LRU."""
        self._asked += pages
        self._lead += lead

    def bet(self, epoch: int, pages: int) -> None:
        """``pages`` last used in ``epoch`` are evicted before their time."""
        self._open += pages
        self._by_epoch[epoch] += pages

    def lose(self, epoch: int, pages: int) -> None:
        """``pages`` of such a bet were used while LRU still had them."""
        pages = min(pages, self._by_epoch.get(epoch, 0))
        if pages:
            self._by_epoch[epoch] -= pages
            self._open -= pages
            self._lost += pages
            self._settled += pages

    def settle(self, oldest: int) -> None:
        """LRU has nothing from before epoch ``oldest`` any more: bets on that are won."""
        won = 0
        for epoch in range(self._settled_to, oldest):
            won += self._by_epoch.pop(epoch, 0)
        self._open -= won
        self._settled += won
        self._settled_to = max(self._settled_to, oldest)

    def fade(self, sequences: int) -> None:
        """Let the past count less after another ``sequences``."""
        share = max(0.0, 1 - sequences / _MEMORY)
        self._asked *= share
        self._lead *= share
        self._lost *= share
        self._settled *= share
