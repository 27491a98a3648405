"""How much of a stored prefix a model with sliding windows can use.

A token at position h that attends to itself and the ``window - 1`` positions before it needs exactly those in
pages; what lies left of them may be gone. A model with several kinds of layers can use what all of them can.
"""

from collections.abc import Sequence


def usable_prefix(present: Sequence[bool], tokens: int, page_size: int, window: int | None) -> int:
    """Return the longest prefix, at most ``tokens``, after which a layer with this window can go on
    computing.

    ``present[i]`` says whether page i is there. ``window`` None is full attention: every page is needed.
    """
    usable = min(tokens, len(present) * page_size)
    page = -(-usable // page_size) - 1
    while page >= 0:
        needed_from = 0 if window is None else usable - (window - 1)
        if (page + 1) * page_size <= needed_from:
            break
        if not present[page]:
            usable = page * page_size
        page -= 1
    return max(usable, 0)


def joint_prefix(groups: Sequence[tuple[Sequence[bool], int | None]], tokens: int, page_size: int) -> int:
    """Return the longest prefix every group of layers, (present, window), can use.

    A group that shortens the prefix moves the windows of the others, so this asks again until nobody
    shortens it.
    """
    usable = tokens
    while True:
        shortest = min(
            (usable_prefix(present, usable, page_size, window) for present, window in groups), default=usable
        )
        if shortest == usable:
            return usable
        usable = shortest
