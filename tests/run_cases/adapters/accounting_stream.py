"""The same record from a stream's events: `promptcache.usage.Usage.from_stream`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.usage import Usage

if TYPE_CHECKING:
    from tests.run_cases.case import Case


def run(case: Case) -> dict[str, Any]:
    usage = Usage.from_stream(case.load_jsonl(case.inputs[0]))
    return {
        "total_input": usage.total_input,
        "uncached": usage.uncached,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "output": usage.output,
    }
