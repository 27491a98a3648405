"""The learned policy: evicts the page whose class is least likely to be used again soon.

Pages fall into classes by what is known when they are used; how soon pages of each class come back is learned
(``hazards``) from the traffic itself, evicted pages included as long as they are remembered. With nothing
learned, or with one class, it is LRU exactly.
"""

from collections.abc import Callable, Sequence

from promptcache_engine.cache.hints import Use
from promptcache_engine.cache.lease import NO_PAGE
from promptcache_engine.cache.node import Node
from promptcache_engine.cache.policies.hazards import LifeTable, age_bin
from promptcache_engine.cache.policies.leaves import LeafHeap, is_free_leaf
from promptcache_engine.cache.policies.shadow import LruShadow
from promptcache_engine.cache.policies.wager import Wager

_LEARN_EVERY = 64
_WEIGHT = 20  # sequences' worth of pages a class needs before its own past outweighs everybody's

_STEPS = (0, 0, 1, 2, 2)

_MARGIN = 0.5  # below this share of what the oldest leaf is worth, another goes before it


def classify(uses: int, use: Use) -> int:
    """Return the class of a page that ``uses`` sequences went through, the last of them ``use``.

    Made of: uses {1, 2, 3-4, 5+}, turn {1, 2, 3-4, 5+}, after a tool call or not, and new tokens
    {< 512, < 4,096, < 16,384, more}.
    """
    tokens, turn = use.new_tokens, use.turn
    size = 0 if tokens < 512 else 1 if tokens < 4_096 else 2 if tokens < 16_384 else 3
    often, late = _STEPS[uses] if uses < 5 else 3, _STEPS[turn] if turn < 5 else 3
    return ((often * 4 + late) * 2 + use.hints.after_tool_call) * 4 + size


def one_class(_uses: int, _use: Use) -> int:
    """Return the same class for every page, which makes the policy LRU."""
    return 0


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
        classes: Callable[[int, Use], int] = classify,
    ) -> None:
        self._clock = clock
        self._classes = classes
        self._table = LifeTable()
        self._shadow = LruShadow(num_pages)
        self._worth: dict[int, list[float]] = {}
        self._leaves: dict[int, LeafHeap] = {}
        self._releases = 0
        self._sequences = 0
        self._pages = 0
        self._wager = Wager()
        self._betting = False

    def use(self, path: Sequence[Node], use: Use) -> None:
        """Count the sequence: for its pages, evicted ones it computed again included, a life ends and one
        begins."""
        now, table, shadow, classes = self._clock(), self._table, self._shadow, self._classes
        sizes = [len(node.pages) - node.pages.count(NO_PAGE) for node in path]
        with_lru = self._hits_with_lru(path, sizes)
        for node, pages in zip(path, sizes, strict=True):
            last = None
            if node.kind >= 0:
                last = node.epoch
                table.reuse(node.kind, now - node.used_at, pages)
            node.uses += 1
            node.kind = kind = classes(node.uses, use)
            node.used_at = now
            node.epoch = shadow.use(pages, last)
            table.start(kind, now, pages)
        total = sum(sizes)
        wager = self._wager
        wager.asked(total, use.hit_pages - min(with_lru, use.most_pages))
        wager.settle(shadow.oldest)
        self._pages += total
        self._sequences += 1
        if not self._sequences % _LEARN_EVERY:
            self._worth = table.worth(now, _WEIGHT * max(1.0, self._pages / self._sequences))
            wager.fade(_LEARN_EVERY)

    def _hits_with_lru(self, path: Sequence[Node], sizes: Sequence[int]) -> int:
        """Return how many pages of ``path`` LRU would have had; close the bets on them."""
        hits, oldest = 0, self._shadow.oldest
        for node, pages in zip(path, sizes, strict=True):
            if node.kind >= 0 and node.epoch >= oldest:
                hits += pages
                if node.bets:
                    self._wager.lose(node.epoch, node.bets)
            node.bets = 0
        return hits

    def evicted(self, node: Node, pages: int) -> None:
        """Remember what went before its time."""
        if self._betting and self._shadow.has(node.epoch):
            node.bets += pages
            self._wager.bet(node.epoch, pages)

    def hold(self, node: Node) -> None:
        """Its place is void; the use counts when the sequence ends."""

    def release(self, node: Node) -> None:
        """Give ``node`` its place among its class."""
        self._releases += 1
        node.rank = self._releases
        self.bare(node)

    def bare(self, node: Node) -> None:
        """Line ``node`` up if it is a leaf."""
        if is_free_leaf(node):
            line = self._leaves.get(node.kind)
            if line is None:
                line = self._leaves[node.kind] = LeafHeap()
            line.push(node)

    def divide(self, upper: Node, lower: Node) -> None:  # noqa: ARG002 - it keeps its place
        """Both parts are of one class and age."""
        self.bare(upper)

    def lose(self, node: Node) -> None:
        """Its place is void; its life goes on until it is forgotten."""

    def victim(self) -> Node | None:
        """Return the leaf used longest ago, or the oldest of another class that is worth less than half of
        it."""
        now, worths = self._clock(), self._worth
        oldest = least = None
        first = least_first = value = least_value = 0.0
        for kind, line in self._leaves.items():
            node = line.head()
            if node is None:
                continue
            rank, here = node.rank, 0.0
            if kind in worths:
                age = now - node.used_at
                here = worths[kind][age_bin(age) if age >= 1 else 0]
            if oldest is None or rank < first:
                oldest, first, value = node, rank, here
            if least is None or here < least_value or (here == least_value and rank < least_first):
                least, least_first, least_value = node, rank, here
        self._betting = least_value < value * _MARGIN and self._wager.affordable
        return least if self._betting else oldest

    def clear(self) -> None:
        """Forget every node, but not what was learned."""
        self._leaves.clear()
