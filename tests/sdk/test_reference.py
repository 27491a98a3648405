"""The API reference says what the docstrings say, and holds every public name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import promptcache

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "make_api_reference.py"
PAGES = ROOT / "docs" / "reference"


def test_it_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert done.stdout == "up to date\n", "run: python scripts/make_api_reference.py"
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there_with_words() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES.glob("*.md"))
    for name in promptcache.__all__:
        assert name == "__version__" or f"## `promptcache.{name}`" in text
    assert not re.search(r"^### `[\w.]+`\n+(?:```python\n[^`]*```\n+)?(?=#)", text, re.MULTILINE)
    assert all(code in text for code in promptcache.CAUSES)
