"""Writes to standard output what its encoding may not hold: a request's text can be anything."""

from __future__ import annotations

import json
import sys


def show(text: str) -> None:
    """Print text; a character that standard output cannot encode is shown as its escape."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def show_json(value: object) -> None:
    """Print JSON, with escapes for everything beyond ASCII where standard output cannot encode it."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    print(text)
