"""The reported cases of the engine: as written, and again with hits that end at the exact token."""

import json
from pathlib import Path
from typing import Any

import pytest

from promptcache_engine.cache import Namespace
from tests.run_cases.adapters import engine
from tests.run_cases.case import Judged, load
from tests.run_cases.judge import judged_keys
from tests.run_cases.runner import run

CASES = Path(__file__).parents[2] / "cases"
ENGINE = [
    judged
    for judged in (load(path.parent) for path in sorted(CASES.glob("*/expected.json")))
    if judged.case.check in {"engine", "engine_metrics"}
]

TO_THE_TOKEN = {
    "B044": {"cached_tokens_if_retokenised": 9, "cached_tokens_if_spliced": 16, "cause": "PC509"},
    "B103": {"r1": 0, "r2": 0},
    "B105": {"a1": 0, "b1": 0, "a2": 28, "b2_forged": 28},
    "B107": {"r1": 0, "r2": 2, "r3": 12},
    "B109": {"r1": 0, "r2": 12, "r3": 0, "r4": 12},
    "B111": {"r1": 0, "r2": 15, "r3": 14, "r4": 16},
    "B115": {"r1": 0, "r2": 32, "r3": 0},
    "B120": {"a": 0, "b": 8},
    "B124": {"a": 0, "b": 8},
    "B128": {"r1": 0, "r2": 12},
    "B130": {"r1": 6, "r2": 6},
}


def test_the_cases_are_here() -> None:
    assert len(ENGINE) == 17


@pytest.mark.parametrize("judged", ENGINE, ids=lambda judged: judged.id)
def test_a_case(judged: Judged) -> None:
    result = run(judged)
    assert result.error is None
    assert result.mismatches == []
    judges_itself = {"B113", "B117", "B120", "B124", "B126", "B130", "B135"}
    assert judged_keys(judged.case.check, judged.expected) or judged.id in judges_itself


@pytest.mark.parametrize("name", TO_THE_TOKEN)
def test_a_case_to_the_token(name: str) -> None:
    scenario = json.loads((CASES / name / "scenario.json").read_text("utf-8"))
    answers: dict[str, Any] = engine.play({**scenario, "partial_pages": True})
    assert answers.get("cached_tokens", answers) == TO_THE_TOKEN[name]


def test_b122_no_page_is_lost_to_the_token() -> None:
    scenario = json.loads((CASES / "B122" / "scenario.json").read_text("utf-8"))
    assert engine.play({**scenario, "partial_pages": True}) == {"free_after_evict_all": 64}


def test_b126_a_request_one_step_later_reuses_what_was_computed() -> None:
    scenario = json.loads((CASES / "B126" / "scenario.json").read_text("utf-8"))
    assert engine.play(scenario) == {"cached_tokens": {"r1": 0, "r2": 4}}


def test_b128_rejected_drafts_are_never_stored() -> None:
    scenario = json.loads((CASES / "B128" / "scenario.json").read_text("utf-8"))
    player = engine.Player(engine.make_cache({**scenario, "partial_pages": True}))
    player.request(scenario["steps"][0])
    assert player.cache.match([1, 2, 3, 4, 5, 6, 7, 8, 20, 21, 22], Namespace()) == 9


def test_b135_images_are_told_apart_by_content() -> None:
    scenario = json.loads((CASES / "B135" / "scenario.json").read_text("utf-8"))
    assert engine.play(scenario) == {"identity_groups": [["i1", "i3"], ["i2"]]}
