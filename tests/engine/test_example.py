"""The engine's example runs as it stands, offline, and shows a hit."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "02_engine.py"


def test_the_example_runs_and_its_second_question_hits() -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True, timeout=120
    )
    hits = [tuple(map(int, found)) for found in re.findall(r"(\d+) of (\d+) prompt tokens", ran.stdout)]
    assert [cached > prompt * 0.9 for cached, prompt in hits] == [False, True]
    assert " 0 held" in ran.stdout
