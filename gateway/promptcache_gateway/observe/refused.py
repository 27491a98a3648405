"""What is said of a request that no upstream worked on: nothing, but where its breakpoints are why.

A provider that caches what is marked refuses a request with more breakpoints than it takes, or with
lifetimes in the wrong order. What it refuses is the SDK's knowledge (`promptcache.check`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.causes import get_cause
from promptcache.check import check_request
from promptcache.errors import PromptCacheError
from promptcache_gateway.observe.diagnosis import Diagnosis
from promptcache_gateway.observe.places import Place

if TYPE_CHECKING:
    from promptcache_gateway.observe.observation import Observation

_REFUSED = frozenset({400, 422})
_BREAKPOINTS = "PC603"


def refused(observation: Observation, status: int) -> Diagnosis:
    """The diagnosis of a request that was not answered; ``status`` is what its caller got."""
    problem = _amiss(observation) if status in _REFUSED else None
    if problem is None:
        return Diagnosis(summary="The request was not answered.")
    path, message = problem
    return Diagnosis(
        cause=_BREAKPOINTS,
        causes=(_BREAKPOINTS,),
        path=path,
        places=(Place(_BREAKPOINTS, path),),
        summary=f"Refused with {status}, and no provider would take its breakpoints: {message}",
        remedy=get_cause(_BREAKPOINTS).remedy,
        attribution="caller",
    )


def _amiss(observation: Observation) -> tuple[str, str] | None:
    """Where a breakpoint stands that is refused, and why; None where all are fine or none is looked at."""
    rules = observation.sight.rules
    if not rules.marked_only and not rules.modes:
        return None
    try:
        findings = check_request(observation.call.payload).findings
    except PromptCacheError:
        return None
    return next(((found.path, found.message) for found in findings if found.code == _BREAKPOINTS), None)
