"""The catalogue holds every code, each with texts worth reading."""

from __future__ import annotations

import re

import pytest

from promptcache.causes import CAUSES, FAMILIES, Cause, get_cause
from promptcache.errors import PromptCacheError, UnknownCauseError

CODES = {
    1: [*range(101, 111)],
    2: [*range(201, 208)],
    3: [*range(301, 306)],
    4: [*range(401, 405)],
    5: [*range(501, 510)],
    6: [*range(601, 611)],
    7: [701, 702],
    8: [801, 802, 803, 804, 807, 808, 809, 810, 811],
    9: [900, 901, 902],
}


def test_the_catalogue_holds_exactly_the_agreed_codes_in_order() -> None:
    assert list(CAUSES) == [f"PC{number}" for family in CODES.values() for number in family]
    assert all(code == cause.code for code, cause in CAUSES.items())


def test_names_are_unique_kebab_case() -> None:
    names = [cause.name for cause in CAUSES.values()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)


@pytest.mark.parametrize("cause", CAUSES.values(), ids=lambda cause: cause.code)
def test_texts_are_sentences(cause: Cause) -> None:
    assert not cause.title.endswith(".")
    assert len(cause.title) <= 80
    assert cause.explanation.endswith(".")
    assert cause.remedy.endswith(".")
    assert 60 <= len(cause.explanation) <= 400
    assert 20 <= len(cause.remedy) <= 250
    assert "  " not in cause.explanation + cause.remedy
    assert cause.family in FAMILIES


def test_a_code_is_found_in_any_case() -> None:
    assert get_cause("pc101") is CAUSES["PC101"]


def test_an_unknown_code_is_a_clear_error() -> None:
    with pytest.raises(UnknownCauseError) as caught:
        get_cause("PC999")
    assert isinstance(caught.value, PromptCacheError)
    assert caught.value.code == "PC999"
    assert (
        str(caught.value) == "There is no cause 'PC999'. List the causes that exist with `promptcache rule`."
    )


def test_causes_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        CAUSES["PC101"].title = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        CAUSES["PC101"] = CAUSES["PC102"]  # type: ignore[index]
