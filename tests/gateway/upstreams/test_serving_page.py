"""The page of parameters and the code name the same ones, each where it belongs."""

import re
from pathlib import Path

import pytest

from promptcache_gateway.upstreams import parameters

PAGE = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")
BOTH_APIS = parameters._CHAT_ONLY | parameters._COMPLETIONS_ONLY


def named_under(heading: str) -> set[str]:
    """Every word in code marks of one section."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"`([a-z_]+)`", section))


def test_what_is_honoured_is_on_the_page() -> None:
    before = PAGE.partition("\n## Ignored\n")[0] + "`model` `stream_options`"
    told = set(re.findall(r"`([a-z_]+)[`.]", before))
    assert told >= parameters._SUPPORTED | BOTH_APIS


def test_what_is_ignored_is_on_the_page_and_nothing_else() -> None:
    assert named_under("Ignored") == set(parameters._IGNORED)


def test_what_is_refused_is_on_the_page_and_nothing_else() -> None:
    values = {"none", "auto", "medium", "unsupported_parameter"}
    assert named_under("Refused") - values == set(parameters._NEUTRAL) - BOTH_APIS


@pytest.mark.parametrize("name", sorted(parameters._NEUTRAL))
def test_no_parameter_is_in_two_places_of_one_api(name: str) -> None:
    assert name not in parameters._SUPPORTED
    assert name not in parameters._IGNORED
