"""The leases that are open, and what may be done with them; it leaves pages alone."""

from collections.abc import Iterator

from promptcache_engine.cache.errors import LeaseError, require_whole
from promptcache_engine.cache.lease import Lease


class OpenLeases:
    """Every lease a cache granted that has not ended, and which forks wait to copy from which lease."""

    def __init__(self) -> None:
        self._open: dict[Lease, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Lease]:
        return iter(self._open)

    def add(self, lease: Lease) -> None:
        """Open ``lease``."""
        self._open[lease] = None
        if lease.parent is not None:
            lease.parent.forks.append(lease)

    def close(self, lease: Lease) -> None:
        """End ``lease``."""
        self.copied(lease)
        lease.closed = True
        del self._open[lease]

    def copied(self, lease: Lease) -> None:
        """A fork needs nothing of its parent's own page any more."""
        if lease.parent is not None:
            lease.parent.forks.remove(lease)
            lease.parent = None

    def check(self, lease: Lease, computed: int = 0) -> None:
        """Raise LeaseError unless ``lease`` is open and at least ``computed`` tokens long; CacheConfigError
        where that is no whole number."""
        if not isinstance(lease, Lease):
            raise LeaseError(f"lease={lease!r} is none.", remedy="Pass what admit or fork returned.")
        if lease not in self._open:
            state = "has ended already" if lease.closed else "was granted by another cache"
            raise LeaseError(f"this lease {state}.", remedy="Admit the sequence again.")
        if type(computed) is not int:
            require_whole(0, computed=computed)
        if computed and not 0 <= computed <= lease.length:
            raise LeaseError(
                f"computed={computed} is not within the sequence's {lease.length} tokens.",
                remedy="Append the tokens first.",
            )

    def check_unforked(self, lease: Lease, computed: int = 0) -> None:
        """Raise LeaseError also where a fork has yet to copy from ``lease``, so that it cannot go on."""
        self.check(lease, computed)
        if lease.forks:
            raise LeaseError(
                "a fork has yet to copy from this sequence's last page.",
                remedy="Make the fork's copies and call copied(fork) first.",
            )

    def refs(self, page: int) -> int:
        """Return how many open leases hold ``page``, pending copies from it included."""
        held = sum(page in lease.pages for lease in self._open)
        pending = [lease for lease in self._open if lease.source is not None or lease.parent is not None]
        return held + sum(copy.src == page for lease in pending for copy in lease.copies)
