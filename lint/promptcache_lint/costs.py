"""What a fault cost in traffic, from the JSON that the gateway exports at ``GET /promptcache/v1/costs``.

The gateway knows a template's file by its configuration and the cause by its code; a finding of that code in
that very file is told what it cost, and which causes stand in front of it or behind. The gateway is neither
imported nor asked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from promptcache_lint.discovery import project_of
from promptcache_lint.errors import LintError

if TYPE_CHECKING:
    from promptcache_lint.findings import Finding
    from promptcache_lint.run import LintReport

__all__ = ["Cost", "Costs", "Held"]


@dataclass(frozen=True, slots=True)
class Held:
    """What one cause cost while another one stood in front of it: it was never reached.

    Attributes:
        code: the one in front.
        requests: how many requests showed both so.
        tokens: what the one behind cost in them.
        usd: that as money, None where no price is known.
    """

    code: str
    requests: int
    tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What one cause cost one template.

    Attributes:
        template: the template's name.
        tokens: prompt tokens that were computed again, up to where the next cause stands.
        usd: what they cost more than cached ones, None where no price is known.
        requests: how many requests showed it.
        behind: causes that stood in front of it.
        holds: what causes behind it cost, each under its own code.
    """

    template: str
    tokens: int
    usd: float | None
    requests: int
    behind: tuple[Held, ...] = ()
    holds: tuple[Held, ...] = ()


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a stretch of time.

    Attributes:
        days: how long it was.
        by_file: costs by source file and code.
    """

    days: float
    by_file: dict[tuple[Path, str], tuple[Cost, ...]]

    @classmethod
    def read(cls, file: Path) -> Costs:
        """Read an export; raises `LintError` where it is none."""
        try:
            data = json.loads(file.read_bytes())
            return cls(float(data["days"]), _by_file(data["templates"]))
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
        for place in places:
            costs = self.by_file.get((Path(place.path).resolve(), finding.code), ())
            if costs:
                return costs
        return ()

    def _told(self, costs: tuple[Cost, ...], finding: Finding) -> Finding:
        amount = _amount(sum(cost.tokens for cost in costs), [cost.usd for cost in costs])
        count = sum(cost.requests for cost in costs)
        names = ", ".join(cost.template for cost in costs)
        front = sorted({held.code for cost in costs for held in cost.behind})
        back = sorted({held.code for cost in costs for held in cost.holds})
        upto = f" up to {_either(back)}" if back else ""
        said = f"In {self.days:g} days it cost {amount}{upto} in {count:,} requests of {names}."
        if back:
            held = [held for cost in costs for held in cost.holds]
            behind = _amount(sum(one.tokens for one in held), [one.usd for one in held])
            said += f" Nothing behind it is read until it is mended: another {behind}."
        if front:
            requests = sum(max(one.requests for one in cost.behind) for cost in costs if cost.behind)
            stands = f"{_either(front)} stands in front"
            said += f" In {requests:,} of them {stands}: mended alone, this saves nothing there."
        return replace(finding, message=f"{finding.message} {said}")


def _amount(tokens: int, prices: list[float | None]) -> str:
    known = [usd for usd in prices if usd is not None]
    usd = sum(known)
    money = "under 0.01" if 0 < usd < 0.005 else f"{usd:,.2f}"
    return f"{tokens:,} tokens" + (f" ({money} USD)" if known else "")


def _either(codes: list[str]) -> str:
    return " or ".join(codes)


def _by_file(templates: list[dict[str, Any]]) -> dict[tuple[Path, str], tuple[Cost, ...]]:
    found: dict[tuple[Path, str], tuple[Cost, ...]] = {}
    for template in templates:
        source = template.get("source")
        file = _file_of(source) if isinstance(source, str) else None
        if file is None:
            continue
        held = {str(cause["code"]): _held(cause) for cause in template["causes"]}
        for cause in template["causes"]:
            code = str(cause["code"])
            cost = Cost(
                str(template["name"]),
                int(cause["lost_tokens"]),
                _usd(cause),
                int(cause["requests"]),
                held[code],
                tuple(
                    replace(one, code=back)
                    for back, all_of in held.items()
                    for one in all_of
                    if one.code == code
                ),
            )
            found[file, code] = (*found.get((file, code), ()), cost)
    return found


def _held(cause: dict[str, Any]) -> tuple[Held, ...]:
    behind = cause.get("behind") or {}  # gateways of before had none
    return tuple(
        Held(str(code), int(told["requests"]), int(told["lost_tokens"]), _usd(told))
        for code, told in behind.items()
    )


def _usd(told: dict[str, Any]) -> float | None:
    usd = told["lost_usd"]
    return None if usd is None else float(usd)


def _file_of(source: str) -> Path | None:
    """The file that the gateway's configuration names, which is written from where that lies.

    That is this folder or the root of its project; or a folder beside the file's, when it begins with "..".
    No other file is it, whatever its name: a copy in another folder never cost anything.
    """
    here = Path.cwd()
    parts = PurePath(source).parts
    below = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    for written in (PurePath(source), PurePath(*parts[below:])):
        for base in (here, project_of(here) or here):
            if (base / written).is_file():
                return (base / written).resolve()
    return None


def _rank(costs: tuple[Cost, ...]) -> tuple[float, int]:
    """What is read again once it is mended, with what stands behind it: that has to be mended first."""
    parts = [(cost.usd, cost.tokens) for cost in costs]
    parts += [(held.usd, held.tokens) for cost in costs for held in cost.holds]
    return (-sum(usd or 0.0 for usd, _ in parts), -sum(tokens for _, tokens in parts))
