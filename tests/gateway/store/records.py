"""Records to store, with ordinary values where none are given."""

from __future__ import annotations

import itertools
from typing import Any

from promptcache_gateway.observe import Diagnosis, RequestRecord

_NUMBERS = itertools.count()

SECRET = "the text of a prompt"


def hit(**known: Any) -> Diagnosis:
    """A diagnosis of a hit."""
    values = {"hit": True, "reusable_tokens": 900, "lost_tokens": 0, "attribution": "expected"}
    return Diagnosis(**(values | known))


def miss(code: str = "PC101", lost: int | None = 800, **known: Any) -> Diagnosis:
    """A diagnosis of a miss, with excerpts."""
    values = {
        "cause": code,
        "causes": (code,),
        "hit": False,
        "path": "messages[0]",
        "char_offset": 17,
        "token_offset": 5,
        "expected_cached_tokens": 0,
        "reusable_tokens": 800,
        "lost_tokens": lost,
        "losses": {code: lost} if lost else {},
        "before": SECRET,
        "after": SECRET,
        "compared_with": "pcr_0",
        "summary": "It broke.",
        "remedy": "Mend it.",
        "attribution": "caller",
    }
    return Diagnosis(**(values | known))


def record(diagnosis: Diagnosis | None = None, **known: Any) -> RequestRecord:
    """A record of an answered request of 1,000 prompt tokens."""
    values = {
        "id": f"pcr_{next(_NUMBERS):024x}",
        "time": 1_800_000_000.0,
        "template": "support",
        "learned": False,
        "tenant": "default",
        "upstream": "u",
        "model": "m",
        "dialect": "openai.chat",
        "status": 200,
        "error": None,
        "prompt_tokens": 1_000,
        "cached_tokens": 0,
        "cache_write_tokens": 0,
        "uncached_tokens": 1_000,
        "output_tokens": 10,
        "reported": True,
        "ttft_ms": 100.0,
        "duration_ms": 300.0,
        "response_id": None,
        "saved_usd": None,
        "diagnosis": diagnosis if diagnosis is not None else hit(),
    }
    return RequestRecord(**(values | known))
