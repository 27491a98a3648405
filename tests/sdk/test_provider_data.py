"""The dated facts can be brought up to date by a file of the user's, and only by one that makes sense."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from promptcache.errors import ProviderDataError
from promptcache.providers import load_data

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
