"""Two turns through a model's chat template: `promptcache.chat_templates`.

A case with several second turns (``turn2_with``, ``turn2_without``) answers for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.chat_templates import TemplateReport, check_chat_template

if TYPE_CHECKING:
    from tests.run_cases.case import Case


def run(case: Case) -> dict[str, Any]:
    source = case.load_text("template.jinja")
    turns = case.load_json("turns.json")
    answer: dict[str, Any] = {}
    causes: list[str] = []
    for name in sorted(turns):
        if name.startswith("turn2"):
            report = _check(source, turns, name)
            answer[name.replace("turn2", "append_only")] = report.append_only
            causes += [report.cause] if report.cause and report.cause not in causes else []
    return {**answer, "cause": causes[0] if causes else None, "causes": causes}


def _check(source: str, turns: dict[str, Any], name: str) -> TemplateReport:
    return check_chat_template(
        source,
        turns["turn1"],
        turns[name],
        generated=turns.get("generated", ""),
        parameters=turns.get("kwargs1", turns.get("kwargs")),
        later_parameters=turns.get("kwargs2"),
    )
