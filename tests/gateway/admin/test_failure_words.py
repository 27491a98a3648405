"""Every way to fail that the gateway records by itself has words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import promptcache_gateway
from promptcache_gateway.admin.failure_words import _KNOWN, failure_words

SOURCE = Path(promptcache_gateway.__file__).parent
_CODE = re.compile(
    r'"((?:upstream|caller|engine)_[a-z_]+|fleet_busy|deadline_exceeded|out_of_files|shutting_down)"'
)
NO_CODES = {"upstream_error", "engine_settings"}
"""The type of an error, and a name of something else."""


def codes() -> set[str]:
    places = ("upstreams", "plane", "translate", "fleet")
    files = [*SOURCE.glob("errors.py"), *(file for place in places for file in SOURCE.glob(f"{place}/*.py"))]
    return {code for file in files for code in _CODE.findall(file.read_text(encoding="utf-8"))} - NO_CODES


def test_each_code_has_words() -> None:
    assert codes() >= {"upstream_torn", "caller_stalled", "engine_error"}
    assert codes() <= set(_KNOWN)


@pytest.mark.parametrize("code", sorted(_KNOWN))
def test_words_say_what_whose_and_what_to_do(code: str) -> None:
    said = failure_words(502, code)
    assert said is not None
    assert said["what"].endswith(".")
    assert said["remedy"].endswith(".")
    assert said["whose"] in {"caller", "upstream", "gateway", "unknown"}


@pytest.mark.parametrize(
    ("status", "whose"),
    [
        (400, "caller"),
        (401, "unknown"),
        (403, "unknown"),
        (404, "caller"),
        (429, "unknown"),
        (500, "upstream"),
    ],
)
def test_a_code_of_the_upstream_s_own_is_named_with_what_its_status_says(status: int, whose: str) -> None:
    said = failure_words(status, "their_code")
    assert said is not None
    assert said["whose"] == whose
    assert "their_code" in said["what"]


def test_what_did_not_fail_needs_no_words() -> None:
    assert failure_words(200, None) is None
