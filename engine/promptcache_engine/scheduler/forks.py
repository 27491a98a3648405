"""Forks: several answers to one prompt, which is computed once.

The whole pages of the prompt are shared through the cache. What lies in the prompt's last page, or all of it
where nothing may be shared through the cache, is copied from the parent's pages while it holds them. A parent
that has ended leaves its forks to the cache.
"""

from promptcache_engine.cache import Lease, PageCopy
from promptcache_engine.scheduler.sequence import Sequence


def fork_copies(sequence: Sequence, lease: Lease, page_size: int) -> list[PageCopy]:
    """Return the copies that bring the parent's prompt, but for its last token, into ``lease``'s own pages.

    Empty for a sequence that is no fork, whose parent holds no computed prompt, or that found everything in
    the cache. The copies take the place of the lease's own, whose target they fill further.
    """
    parent = sequence.parent
    if parent is None or parent.lease is None or parent.computed < sequence.prompt_tokens:
        return []
    known = sequence.prompt_tokens - 1
    if lease.hit >= known:
        return []
    copies: list[PageCopy] = []
    for index in range(lease.hit // page_size, -(-known // page_size)):
        tokens = min(page_size, known - index * page_size)
        copies.append(PageCopy(parent.lease.pages[index], lease.pages[index], tokens))
    return copies
