"""Values known by their wording, where two texts have it and differ in it; and what is none of them."""

import pytest

from promptcache.detectors import classify_change


def code_of(before: str, after: str) -> str | None:
    offset = next(at for at, pair in enumerate(zip(before, after, strict=False)) if len(set(pair)) > 1)
    return classify_change(before, after, offset)


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        (
            "\u73b0\u5728\u662f 2026\u5e7411\u670829\u65e5 21:24\u3002",
            "\u73b0\u5728\u662f 2026\u5e7411\u670829\u65e5 21:39\u3002",
            "PC101",
        ),
        (
            "\u4eca\u65e5\u306f2026\u5e7411\u670829\u65e5",
            "\u4eca\u65e5\u306f2026\u5e7411\u670830\u65e5",
            "PC109",
        ),
        ("\u73b0\u5728\u65f6\u95f4\uff1a21:24", "\u73b0\u5728\u65f6\u95f4\uff1a21:39", "PC101"),
        ("Heute ist Sonntag, der 29. November 2026.", "Heute ist Montag, der 30. November 2026.", "PC109"),
        ("Hoy es domingo, 29 de noviembre de 2026.", "Hoy es lunes, 30 de noviembre de 2026.", "PC109"),
        ("Nous sommes le 1er d\u00e9cembre 2026", "Nous sommes le 2 d\u00e9cembre 2026", "PC109"),
        ("Am 29. Dezember 2026 um 21:24 Uhr", "Am 29. Dezember 2026 um 21:39 Uhr", "PC101"),
        ("Uhrzeit: 21:24 Uhr", "Uhrzeit: 21:39 Uhr", "PC101"),
        ("Week 2026-W48", "Week 2026-W49", "PC109"),
        ("Today is Sunday.", "Today is Monday.", "PC109"),
        ("pid 4821", "pid 5113", "PC105"),
        ("You handle ticket #482913 now", "You handle ticket #482951 now", "PC102"),
    ],
)
def test_what_the_wording_shows(before: str, after: str, code: str) -> None:
    assert code_of(before, after) == code
    assert code_of(f"You are a clerk. {before}\nBe kind.", f"You are a clerk. {after}\nBe kind.") == code


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Use plan W48 for all", "Use plan W49 for all"),
        ("Answer within 4821 words", "Answer within 5113 words"),
        ("See rule #482 of the handbook", "See rule #483 of the handbook"),
        ("The office is closed on Sunday", "The office is closed on Monday"),
        ("\u4f60\u6709 21 \u6761\u89c4\u5219", "\u4f60\u6709 22 \u6761\u89c4\u5219"),
        ("Today is fine", "Today is grand"),
    ],
)
def test_what_it_does_not(before: str, after: str) -> None:
    assert code_of(before, after) is None
