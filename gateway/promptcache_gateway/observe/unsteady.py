"""Whether a setting that shapes the prompt is another one with nearly every request.

Users have an effort each, programs a schema each, and a new version has other ones: the first request under a
setting finds nothing, and nobody is to blame. A setting with a time in it, or one that hardly returns, is
written anew each time, and no request under it ever finds anything.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from promptcache.detectors import mask_volatile
from promptcache.divergence.parameters import parameter_findings
from promptcache_gateway.observe.settings import written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.observe.prompt import Prompt

SETTING = "PC504"
_RECENT = 64
_ONCE, _RETURNS = 16, 4
_LONGEST = 20_000


def is_unsteady(prompt: Prompt, best: Prompt, recent: Iterable[Prompt]) -> bool:
    """Whether a setting in which a request differs from its predecessor keeps changing.

    Args:
        prompt: the new request.
        best: its predecessor.
        recent: requests of the same family, the last one first.
    """
    if prompt.parameters == best.parameters:
        return False
    found = parameter_findings(best.parameters, prompt.parameters)
    names = [str(one.details["parameter"]) for one in found if one.code == SETTING]
    if not names:
        return False
    seen = [one.parameters for one in islice(recent, _RECENT)]
    return any(
        _is_filled_in(best.parameters.get(name), prompt.parameters.get(name))
        or _hardly_returns(written(one.get(name)) for one in seen)
        for name in names
    )


def _is_filled_in(before: Any, after: Any) -> bool:
    """Whether two values are one but for a volatile value in them."""
    old, new = written(before).decode(), written(after).decode()
    return max(len(old), len(new)) <= _LONGEST and mask_volatile(old) == mask_volatile(new)


def _hardly_returns(values: Iterable[bytes]) -> bool:
    """Whether so many values came once, and hardly any came again."""
    counts = Counter(values).values()
    once = sum(count == 1 for count in counts)
    return once >= _ONCE and (len(counts) - once) * _RETURNS <= once
