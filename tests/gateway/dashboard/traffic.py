"""A gateway's past, made up: many requests of a few templates, with ordinary faults, prices and times."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache.causes import get_cause
from promptcache_gateway.observe import Diagnosis, RequestRecord
from promptcache_gateway.observe.pieces import Stretch

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Habit:
    """How one template's requests go.

    ``prompt`` tokens, of which the share ``reused`` could come from the cache; ``cause`` breaks the prefix in
    the share ``broken`` of the requests, from the share ``begins`` of the time on.
    """

    name: str
    prompt: int
    reused: float
    cause: str | None
    path: str
    broken: float
    before: str = ""
    after: str = ""
    model: str = "claude-sonnet-4-5"
    learned: bool = False
    begins: float = 0.0


HABITS = (
    Habit(
        "support/answer",
        6_200,
        0.94,
        "PC101",
        "system[0]",
        0.7,
        "You answer for Acme. Today is Saturday, 28 November 2026, 09:14:07. Follow the rules below.",
        "You answer for Acme. Today is Saturday, 28 November 2026, 09:15:52. Follow the rules below.",
        begins=0.55,
    ),
    Habit(
        "code-review",
        18_400,
        0.91,
        "PC301",
        "tools[2]",
        0.12,
        '{"name":"read_file","description":"Read a file"},{"name":"grep"}',
        '{"name":"grep"},{"name":"read_file","description":"Read a file"}',
    ),
    Habit("glossary", 2_300, 0.96, None, "", 0.0),
    Habit(
        "planner",
        9_100,
        0.88,
        "PC201",
        "messages[0]",
        0.2,
        'Context: {"user": "u_31", "plan": "pro", "seats": 12}',
        'Context: {"plan": "pro", "seats": 12, "user": "u_31"}',
        "gpt-5.1",
    ),
    Habit(
        "learned-dfb1",
        3_700,
        0.82,
        "PC102",
        "messages[0]",
        0.9,
        "Request 7f3c9a20-11d4-4b0e-9d5f-2a6c3be0f6aa. You classify tickets.",
        "Request c04e2b9d-8f8a-4c57-b7de-5a1f90c2d7e3. You classify tickets.",
        "gpt-5.1",
        learned=True,
    ),
)
PRICE = 3e-6  # dollars a token


def records(count: int, *, end: float, seconds: float, seed: int = 7) -> Iterator[RequestRecord]:
    """``count`` requests spread over the ``seconds`` up to ``end``, oldest first."""
    dice = random.Random(seed)
    for number in range(count):
        habit = dice.choices(HABITS, (6, 3, 4, 3, 2))[0]
        past = (number + dice.random()) / count
        when = end - seconds + seconds * (past + 0.05 * math.sin(4 * math.pi * past))  # busy and quiet hours
        yield _record(habit, f"pcr_{number:024x}", when, past, dice)


def _record(habit: Habit, name: str, when: float, past: float, dice: random.Random) -> RequestRecord:
    prompt = int(habit.prompt * dice.uniform(0.9, 1.15))
    reusable = int(prompt * habit.reused)
    broken = habit.cause is not None and past >= habit.begins and dice.random() < habit.broken
    cached = int(reusable * 0.06) if broken else reusable
    lost = reusable - cached
    written = dice.choice((0, (prompt - cached) // 2)) if habit.model.startswith("claude") else 0
    return RequestRecord(
        id=name,
        time=when,
        template=habit.name,
        learned=habit.learned,
        tenant="default",
        upstream="anthropic" if habit.model.startswith("claude") else "openai",
        model=habit.model,
        dialect="openai.chat",
        status=200,
        error=None,
        prompt_tokens=prompt,
        cached_tokens=cached,
        cache_write_tokens=written,
        uncached_tokens=prompt - cached - written,
        output_tokens=dice.randrange(40, 400),
        reported=True,
        ttft_ms=dice.uniform(700, 1_600) if broken else dice.uniform(180, 420),
        duration_ms=2_400.0,
        response_id=None,
        saved_usd=cached * PRICE * 0.9 - written * PRICE * 0.25,
        diagnosis=_broken(habit, reusable, lost) if broken else _fine(reusable),
        outline=_outline(habit, prompt),
        raw_usage={"prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": cached}},
    )


def _fine(reusable: int) -> Diagnosis:
    return Diagnosis(
        hit=True,
        expected_cached_tokens=reusable,
        reusable_tokens=reusable,
        lost_tokens=0,
        estimated=True,
        summary="Read from the cache.",
        attribution="expected",
    )


def _broken(habit: Habit, reusable: int, lost: int) -> Diagnosis:
    assert habit.cause is not None
    cause = get_cause(habit.cause)
    return Diagnosis(
        cause=cause.code,
        causes=(cause.code,),
        hit=False,
        path=habit.path,
        char_offset=62,
        token_offset=reusable - lost,
        expected_cached_tokens=reusable - lost,
        reusable_tokens=reusable,
        lost_tokens=lost,
        lost_usd=lost * PRICE * 0.9,
        losses={cause.code: lost},
        estimated=True,
        before=habit.before,
        after=habit.after,
        compared_with="pcr_000000000000000000000000",
        summary=f"{cause.title}: {lost:,} tokens were computed again.",
        remedy=cause.remedy,
        attribution="caller",
    )


def _outline(habit: Habit, prompt: int) -> tuple[Stretch, ...]:
    size = prompt * 4
    tools = tuple(Stretch(f"tools[{at}]", f"tools[{at}]", "tool", "", size // 20) for at in range(3))
    return (
        *tools,
        Stretch("system[0]", "system[0]", "system", "system", size // 2),
        Stretch("messages[0]", "messages[0]", "message", "user", size // 5),
        Stretch("messages[1]", "messages[1]", "message", "assistant", size // 10),
        Stretch(
            "messages[2]",
            "messages[2]",
            "message",
            "user",
            size - 3 * (size // 20) - size // 2 - size // 5 - size // 10,
        ),
    )
