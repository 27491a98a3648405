"""The pages nobody uses, in the order they will be taken; it leaves cached pages to the eviction policy."""

from collections.abc import Iterable, Iterator


class PagePool:
    """A stack of free page ids: pages given back last are taken first, untouched pages in ascending order."""

    __slots__ = ("_free",)

    def __init__(self, num_pages: int) -> None:
        self._free = list(range(num_pages - 1, -1, -1))

    def __len__(self) -> int:
        return len(self._free)

    def __iter__(self) -> Iterator[int]:
        return iter(self._free)

    def take(self, count: int) -> list[int]:
        """Take up to ``count`` pages."""
        if count <= 0 or not self._free:
            return []
        taken = self._free[-count:]
        del self._free[-count:]
        taken.reverse()
        return taken

    def give(self, pages: Iterable[int]) -> None:
        """Put pages back; the last of them is the next to be taken."""
        self._free.extend(pages)
