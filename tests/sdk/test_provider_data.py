"""The dated facts can be brought up to date by a file of the user's, and only by one that makes sense."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

from promptcache.errors import ProviderDataError
from promptcache.providers import find_model, load_data
from promptcache.providers_form import problem_of

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import json
from promptcache.providers import DATED, find_model
facts = find_model("claude-opus-7")
print(json.dumps([DATED, facts and facts.min_tokens, find_model("gpt-4o").read_factor]))
"""


def told(path: Path | None) -> Any:
    environment = {**os.environ, "PROMPTCACHE_PROVIDERS": str(path) if path else ""}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_a_file_of_the_users_is_laid_over_the_shipped_one(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(
        json.dumps(
            {
                "dated": "2027-03",
                "models": {
                    "claude-opus-7": {"provider": "anthropic", "min_tokens": 256},
                    "gpt-4o": {"read": 0.4},
                },
            }
        )
    )
    assert told(own) == ["2027-03", 256, 0.4]
    dated, minimum, factor = told(None)
    assert (dated, factor) == (load_data(None)["dated"], 0.5)
    assert minimum != 256


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("[]", "holds no object"),
        ('{"models": []}', "'models' is not of the form"),
        ('{"models": {"x-1": {"provider": "nobody"}}}', "'x-1' is of no provider"),
        ('{"models": {"x-1": {}}}', "'x-1' is of no provider"),
        ('{"models": {"mine": 5}}', "'models.mine' is 5, not an object"),
        ('{"models": {"claude": 5}}', "'models.claude' is not of the form"),
        (
            '{"models": {"gpt-5": {"min_tokens": "4096"}}}',
            "'models.gpt-5.min_tokens' is \"4096\", not a whole",
        ),
        ('{"models": {"gpt-5": {"min_tokens": true}}}', "'models.gpt-5.min_tokens' is true"),
        ('{"models": {"gpt-5": {"ttl_s": 300}}}', "'models.gpt-5.ttl_s' is 300, not a list"),
        ('{"models": {"gpt-5": {"ttl_s": ["300"]}}}', "'models.gpt-5.ttl_s' is .*, not a list"),
        ('{"models": {"gpt-5": {"provider": ["openai"]}}}', "'models.gpt-5.provider' is .*, not text"),
        ('{"models": {"gpt-5": {"control": []}}}', "'models.gpt-5.control' is "),
        ('{"models": {"gpt-5": {"read": NaN}}}', "'models.gpt-5.read' is NaN, not a number"),
        ('{"models": {"gpt-5": {"write": {"5m": "x"}}}}', "'models.gpt-5.write.5m' is "),
        ('{"models": {"gpt-5": {"write": {"2d": 1}}}}', "'models.gpt-5.write.2d' is a lifetime"),
        ('{"models": {"gpt-5": {"min_token": 5}}}', "'models.gpt-5.min_token' is no key"),
        (
            '{"models": {"gpt-5.9": {"provider": "openai"}}}',
            "'gpt-5.9' would not be found; write it 'gpt-5-9'",
        ),
        ('{"providers": {"openai": {"step": 0}}}', "'providers.openai.step' is 0"),
        ('{"marks": {"max": "four"}}', "'marks.max' is \"four\", not a whole number"),
        ('{"marks": {"max": -1}}', "'marks.max' is -1"),
        ('{"marks": {"ttl_s": {"5m": "300"}}}', "'marks.ttl_s.5m' is "),
        ('{"marks": {"ttl_s": 300}}', "'marks.ttl_s' is not of the form"),
        ('{"cache_key": {"requests_per_minute": 0}}', "'cache_key.requests_per_minute' is 0"),
        ('{"cache_key": {"requests_per_minute": "15"}}', "'cache_key.requests_per_minute' is "),
        ('{"parameters": {"any": {"x": "nowhere"}}}', "'parameters.any.x' is "),
        ('{"dated": 5}', "'dated' is 5, not text"),
    ],
)
def test_a_file_that_makes_no_sense_is_a_clear_error(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(content)
    with pytest.raises(ProviderDataError, match=words) as caught:
        load_data(str(path))
    assert caught.value.path == str(path)
    with pytest.raises(ProviderDataError, match="No such file"):
        load_data(str(tmp_path / "nowhere.json"))


def test_a_file_that_makes_no_sense_does_not_hinder_the_import(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text('{"models": {"mine": 5}}')
    program = (
        "import promptcache\nfrom promptcache.errors import ProviderDataError\n"
        "try:\n    from promptcache import Conversation\nexcept ProviderDataError as error:\n    print(error)"
    )
    environment = {**os.environ, "PROMPTCACHE_PROVIDERS": str(own)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert str(own) in done.stdout
    assert "'models.mine'" in done.stdout
    assert "unset PROMPTCACHE_PROVIDERS" in done.stdout


def test_the_shipped_facts_have_the_form() -> None:
    assert problem_of(load_data(None)) is None


def test_the_factors_are_those_of_the_prices_that_are_shipped():
    shipped = resources.files("promptcache").joinpath("data/prices.json").read_text("utf-8")
    compared = 0
    for name, prices in json.loads(shipped)["models"].items():
        facts = find_model(name)
        if facts is None or facts.provider not in {"openai", "anthropic"} or not prices.get("input"):
            continue
        if "cache_read" in prices and facts.read_factor is not None:
            assert prices["cache_read"] / prices["input"] == pytest.approx(facts.read_factor, rel=0.01), name
        for ttl, factor in facts.write_factors.items():
            if f"cache_write_{ttl}" in prices:
                assert prices[f"cache_write_{ttl}"] / prices["input"] == pytest.approx(factor), (name, ttl)
                compared += 1
    assert compared > 20
