"""The pages of all running sequences in tables that stay on the device; only what changes is sent there.

A sequence has a seat, one row of every table, from its first step to its end, or until another needs the seat
while it waits. What the pages hold is the cache's business, and how a step reads the tables ``paged_step``'s.
"""

import numpy as np
import torch
from torch import Tensor

from promptcache_engine.device.transfers import to_device
from promptcache_engine.scheduler import Sequence


class DeviceTables:
    """Tables int32 [groups, seats, pages]; entry i of a seat is the page of its tokens i * page_size on.

    Args:
        groups: kinds of layers with pages of their own.
        seats: sequences that may have pages at a time.
        max_length: tokens the longest has.
        page_size: tokens a page holds.
        device: where they lie.
    """

    def __init__(
        self, *, groups: int, seats: int, max_length: int, page_size: int, device: torch.device
    ) -> None:
        width = -(-max_length // page_size) + 1  # a lease may be a page ahead
        width += -width % 4  # rows begin on 16 bytes
        self.tables: Tensor = torch.zeros(groups, seats, width, dtype=torch.int32, device=device)
        self._seated: dict[str, tuple[int, Sequence]] = {}
        self._free = list(range(seats))[::-1]
        self._known: dict[tuple[int, int], tuple[int, list[int]]] = {}
        self._places: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
        self._pages: list[int] = []

    def seat(self, sequence: Sequence) -> int:
        """The sequence's seat, a new one if it has none."""
        found = self._seated.get(sequence.id)
        if found is not None:
            return found[0]
        if not self._free:
            for waiting in [each for _, each in self._seated.values() if each.lease is None]:
                self.forget(waiting.id)
        seat = self._free.pop()
        self._seated[sequence.id] = seat, sequence
        return seat

    def forget(self, sequence_id: str) -> None:
        """Free the seat of a sequence that ended; its row stays until another's is written there."""
        found = self._seated.pop(sequence_id, None)
        if found is not None:
            self._free.append(found[0])

    def forget_all(self) -> None:
        """As if no sequence had ever been there: for a cache that begins anew."""
        for sequence_id in tuple(self._seated):
            self.forget(sequence_id)
        self._known.clear()
        self._places.clear()
        self._pages.clear()

    def note(self, group: int, seat: int, first: int, pages: list[int]) -> None:
        """The entries of a seat from ``first`` on are ``pages``; what lies before is not read any more."""
        known_first, known = self._known.get((group, seat), (first, []))
        if known_first == first and known == pages:
            return
        begin = len(known) if known_first == first and pages[: len(known)] == known else 0
        self._known[group, seat] = first, list(pages)
        new = pages[begin:]
        _, seats, width = self.tables.shape
        place = (group * seats + seat) * width + first + begin
        self._places.append(np.arange(place, place + len(new)))
        self._pages += new

    def flush(self) -> None:
        """Send what was noted and differs from what is there, in one copy; of an entry what was noted last.

        Each entry is sent once: a device writes those of one copy in no order.
        """
        if not self._pages:
            return
        noted = np.stack((np.concatenate(self._places), np.array(self._pages, dtype=np.int64)))[:, ::-1]
        changes = noted[:, np.unique(noted[0], return_index=True)[1]]
        try:
            places, pages = to_device(changes, self.tables.device)
            self.tables.view(-1).index_copy_(0, places, pages.to(torch.int32))
        except BaseException:
            self._known.clear()  # all is sent again
            raise
        finally:
            self._places.clear()
            self._pages.clear()
