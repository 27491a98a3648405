"""The learned policy: evicts the page whose class is least likely to be used again soon.

Pages fall into classes by what is known when they are used; how soon pages of each class come back is learned
(``hazards``) from the traffic itself, evicted pages included as long as they are remembered. With nothing
learned, or with one class, it is LRU exactly.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

from promptcache_engine.cache.hints import Use
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.policies.hazards import LATER_EDGES, NOTHING, LifeTable
from promptcache_engine.cache.policies.leaves import NO_RANK, LeafHeap, is_free_leaf, void_if_empty
from promptcache_engine.cache.policies.shadow import NEVER, LruShadow
from promptcache_engine.cache.policies.wager import Wager

_LEARN_EVERY = 128
_WEIGHT = 20  # sequences' worth of pages a class needs before its own past outweighs everybody's

_STEPS = (0, 0, 1, 2, 2)

_MARGIN = 0.5  # below this share of what the oldest leaf is worth, another goes before it


Kinds = tuple[int, int, int, int]
"""The class of a page that one sequence went through, of one that two did, three or four, five or more."""


def classify(use: Use) -> Kinds:
    """Return the classes of the pages used as ``use`` tells.

    Made of: uses {1, 2, 3-4, 5+}, turn {1, 2, 3-4, 5+}, after a tool call or not, and new tokens
    {< 512, < 4,096, < 16,384, more}.
    """
    tokens, turn = use.new_tokens, use.turn
    size = 0 if tokens < 512 else 1 if tokens < 4_096 else 2 if tokens < 16_384 else 3
    late = _STEPS[turn] if turn < 5 else 3
    once = (late * 2 + use.hints.after_tool_call) * 4 + size
    return once, once + 32, once + 64, once + 96


def one_class(_use: Use) -> Kinds:
    """Return the same class for every page, which makes the policy LRU."""
    return 0, 0, 0, 0


class _Line(LeafHeap):
    """The leaves of one class, and what a page of it is worth by age."""

    __slots__ = ("worth",)

    def __init__(self, worth: Sequence[float]) -> None:
        super().__init__()
        self.worth = worth


class LearnedPolicy:
    """One line of leaves a class, oldest first.

    The victim is the head that is worth least, but only where it is worth clearly less than what LRU would
    take: small differences between classes are noise, and LRU is hard to beat by noise.
    """

    ranks_uses = True

    def __init__(
        self,
        clock: Callable[[], float],
        num_pages: int,
        *,
        classes: Callable[[Use], Kinds] = classify,
    ) -> None:
        self._clock = clock
        self._classes = classes
        self._table = LifeTable()
        self._shadow = LruShadow(num_pages)
        self._worth: dict[int, list[float]] = {}
        self._lines: dict[int, _Line] = {}
        self._releases = 0
        self._sequences = 0
        self._pages = 0
        self._wager = Wager()
        self._betting = False

    def use(self, path: Sequence[Node], pages: Sequence[int], use: Use) -> None:
        """Count the sequence: for its pages, evicted ones it computed again included, a life ends and one
        begins."""
        now, table, shadow, kinds = self._clock(), self._table, self._shadow, self._classes(use)
        oldest, with_lru, total = shadow.oldest, 0, 0
        for node, count in zip(path, pages, strict=True):
            total += count
            last = NEVER
            if node.kind >= 0:
                last = node.epoch
                table.reuse(node.kind, now - node.used_at, count)
                if last >= oldest:
                    with_lru += count
                    if node.bets:
                        self._wager.lose(last, node.bets)
                node.bets = 0
            node.uses = uses = node.uses + 1
            node.kind = kind = kinds[_STEPS[uses] if uses < 5 else 3]
            node.used_at = now
            node.epoch = shadow.use(count, last)
            table.start(kind, now, count)
        shadow.trim()
        self._wager.asked(total, use.hit_pages - min(with_lru, use.most_pages))
        self._wager.settle(shadow.oldest)
        self._pages += total
        self._sequences += 1
        if not self._sequences % _LEARN_EVERY:
            self._learn(now)
            self._wager.fade(_LEARN_EVERY)

    def _learn(self, now: float) -> None:
        self._worth = self._table.worth(now, _WEIGHT * max(1.0, self._pages / self._sequences))
        for kind, line in self._lines.items():
            line.worth = self._worth.get(kind, NOTHING)

    def evicted(self, node: Node, pages: int) -> None:
        """Remember what went before its time."""
        if self._betting and node.epoch >= self._shadow.oldest:
            node.bets += pages
            self._wager.bet(node.epoch, pages)

    def hold(self, node: Node) -> None:
        """Its place is void; the use counts when the sequence ends."""
        node.rank = NO_RANK

    def release(self, node: Node) -> None:
        """Give ``node`` its place among its class, if it is a leaf."""
        self._releases = node.rank = self._releases + 1
        if not node.order:
            self._line_up(node)

    def bare(self, node: Node) -> None:
        """Line ``node`` up if it is a leaf."""
        if is_free_leaf(node):
            self._line_up(node)

    def _line_up(self, node: Node) -> None:
        line = self._lines.get(node.kind)
        if line is None:
            line = self._lines[node.kind] = _Line(self._worth.get(node.kind, NOTHING))
        line.push(node)

    def divide(self, upper: Node, lower: Node) -> None:
        """Both parts are of one class and age, and ``lower`` keeps its place if it has pages."""
        void_if_empty(lower)
        self.bare(upper)

    def lose(self, node: Node) -> None:
        """Its place is void; its life goes on until it is forgotten."""
        node.rank = NO_RANK

    def victim(self) -> Node | None:
        """Return the leaf used longest ago, or the oldest of another class that is worth less than half of
        it."""
        now = self._clock()
        oldest = least = None
        first = least_first = value = least_value = math.inf
        for line in self._lines.values():
            node = line.head()
            if node is None:
                continue
            rank, here = node.rank, line.worth[bisect_right(LATER_EDGES, now - node.used_at)]
            if rank < first:
                oldest, first, value = node, rank, here
            if here < least_value or (here == least_value and rank < least_first):
                least, least_first, least_value = node, rank, here
        self._betting = least is not oldest and least_value < value * _MARGIN and self._wager.affordable
        return least if self._betting else oldest

    def clear(self) -> None:
        """Forget every node, but not what was learned."""
        self._lines.clear()
