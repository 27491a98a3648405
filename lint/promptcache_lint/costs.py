"""What a fault cost in traffic, from the JSON that the gateway exports at ``GET /promptcache/v1/costs``.

The gateway knows a template's file by its configuration and the cause by its code; a finding of that code in
that file is told what it cost. The gateway is neither imported nor asked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from promptcache_lint.errors import LintError

if TYPE_CHECKING:
    from promptcache_lint.findings import Finding
    from promptcache_lint.run import LintReport

__all__ = ["Cost", "Costs"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one cause cost one template.

    Attributes:
        template: the template's name.
        tokens: prompt tokens that were computed again.
        usd: what they cost more than cached ones, None where no price is known.
        requests: how many requests showed it.
    """

    template: str
    tokens: int
    usd: float | None
    requests: int


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a stretch of time.

    Attributes:
        days: how long it was.
        by_source: costs by source file, as the gateway's configuration has it, and code.
    """

    days: float
    by_source: dict[tuple[str, str], tuple[Cost, ...]]

    @classmethod
    def read(cls, file: Path) -> Costs:
        """Read an export; raises `LintError` where it is none."""
        try:
            data = json.loads(file.read_bytes())
            return cls(float(data["days"]), _by_source(data["templates"]))
        except OSError as error:
            problem = f"{file}: cannot be read: {error.strerror}."
            raise LintError(problem, remedy="Check the path given to --costs.") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            problem = f"{file}: is no export of costs."
            raise LintError(
                problem, remedy="Save what the gateway answers at /promptcache/v1/costs."
            ) from error

    def told(self, report: LintReport) -> LintReport:
        """The report, each finding whose fault was seen in traffic with what it cost, dearest first."""
        found = [(self.of(finding), finding) for finding in report.findings]
        dear = sorted((pair for pair in found if pair[0]), key=lambda pair: _rank(pair[0]))
        free = [finding for costs, finding in found if not costs]
        return replace(report, findings=(*(self._told(*pair) for pair in dear), *free))

    def of(self, finding: Finding) -> tuple[Cost, ...]:
        """What a finding's fault cost: of its code, in the file it is in or its value comes from."""
        places = (finding.place, finding.source) if finding.source else (finding.place,)
        for source, code in self.by_source:
            if code == finding.code and any(_same_file(place.path, source) for place in places):
                return self.by_source[source, code]
        return ()

    def _told(self, costs: tuple[Cost, ...], finding: Finding) -> Finding:
        tokens, prices = sum(cost.tokens for cost in costs), [cost.usd for cost in costs]
        known = [usd for usd in prices if usd is not None]
        money = f" ({sum(known):,.2f} USD)" if known else ""
        count = sum(cost.requests for cost in costs)
        names = ", ".join(cost.template for cost in costs)
        said = f"In {self.days:g} days it cost {tokens:,} tokens{money} in {count:,} requests of {names}."
        return replace(finding, message=f"{finding.message} {said}")


def _by_source(templates: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[Cost, ...]]:
    found: dict[tuple[str, str], tuple[Cost, ...]] = {}
    for template in templates:
        source = template.get("source")
        if not isinstance(source, str):
            continue
        for cause in template["causes"]:
            usd = cause["lost_usd"]
            cost = Cost(
                str(template["name"]),
                int(cause["lost_tokens"]),
                None if usd is None else float(usd),
                int(cause["requests"]),
            )
            key = (source, str(cause["code"]))
            found[key] = (*found.get(key, ()), cost)
    return found


def _same_file(path: str, source: str) -> bool:
    """Whether a path of this run is a configured source, which may be written from another folder."""
    there = tuple(part for part in PurePath(source).parts if part not in {".", ".."})
    return bool(there) and Path(path).resolve().parts[-len(there) :] == there


def _rank(costs: tuple[Cost, ...]) -> tuple[float, int]:
    return (-sum(cost.usd or 0.0 for cost in costs), -sum(cost.tokens for cost in costs))
