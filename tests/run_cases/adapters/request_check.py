"""A request before it is sent: `promptcache.check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.check import check_request

if TYPE_CHECKING:
    from tests.run_cases.case import Case


def run(case: Case) -> dict[str, Any]:
    report = check_request(case.load_json(case.inputs[0]))
    return {"valid": report.valid, "cause": report.cause, "causes": list(report.causes)}
