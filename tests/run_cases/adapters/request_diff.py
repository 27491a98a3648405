"""Two consecutive bodies, sometimes with the second one's usage: `promptcache.divergence`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.divergence import compare_requests
from promptcache.usage import Usage

if TYPE_CHECKING:
    from tests.run_cases.case import Case

_KEYS = ("append_only", "path", "char_offset", "same_segments", "shared_chars", "lost_chars")


def run(case: Case) -> dict[str, Any]:
    bodies = sorted(name for name in case.inputs if name.startswith("turn"))
    usages = [name for name in case.inputs if name.startswith("usage")]
    usage = Usage.from_response(case.load_json(usages[-1])) if usages else None
    found = compare_requests(case.load_json(bodies[0]), case.load_json(bodies[1]), usage=usage).to_dict()
    return {
        "divergence": {key: found[key] for key in _KEYS},
        "cause": found["cause"],
        "causes": found["causes"],
        "severity": found["severity"],
        "alarm": found["alarm"],
    }
