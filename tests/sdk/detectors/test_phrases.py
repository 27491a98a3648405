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
        *(
            (f"{lead} {one}{tail}", f"{lead} {other}{tail}", "PC101")
            for lead, one, other, tail in (
                ("現在時刻は", "9時03分", "10時17分", "です。"),
                ("現在", "19時3分", "19時17分", "です。"),
                ("现在是下午", "1点03分", "2点10分", "。"),
                ("Es ist", "9 Uhr 03", "10 Uhr 10", "."),
                ("Il est", "9 h 03", "9 h 10", "."),
                ("Il est", "9h03", "9h10", "."),
                ("현재 시각은 오전", "1시 3분", "1시 10분", "입니다."),
                ("Сейчас", "9 ч 03 мин", "9 ч 10 мин", "."),
                ("Dziś jest", "2 grudnia 2026 10:04", "2 grudnia 2026 10:09", "."),
            )
        ),
        *(
            (f"{lead} {one}{tail}", f"{lead} {other}{tail}", "PC109")
            for lead, one, other, tail in (
                ("오늘은", "2026년 11월 30일", "2026년 12월 1일", "입니다."),
                ("Сегодня", "1 декабря 2026", "2 декабря 2026", " года."),
                ("Dziś jest", "30 listopada 2026", "1 grudnia 2026", " r."),
                ("Bugün", "1 Aral\u0131k 2026", "2 Aral\u0131k 2026", "."),
                ("Dnes je", "1. prosince 2026", "2. prosince 2026", "."),
                ("Idag är det den", "1 december 2026", "2 december 2026", "."),
                ("اليوم", "1 ديسمبر 2026", "2 ديسمبر 2026", "."),
                ("היום", "ה-1 בדצמבר", "ה-2 בדצמבר", "."),
                ("היום", "1 בדצמבר 2026", "2 בדצמבר 2026", "."),
                ("आज", "1 दिसंबर 2026", "2 दिसंबर 2026", " है।"),
                ("วันนี้วันที่", "1 ธันวาคม 2569", "2 ธันวาคม 2569", " "),
                ("Hôm nay là", "ngày 1 tháng 12 năm 2026", "ngày 2 tháng 12 năm 2026", "."),
                ("Hari ini", "1 Desember 2026", "2 Desember 2026", "."),
            )
        ),
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
        ("締め切りまで9時間です", "締め切りまで8時間です"),
        ("返品は9件まで割引は03割です", "返品は7件まで割引は15割です"),
        ("The shift is 25 h 10 long", "The shift is 25 h 12 long"),
        ("Sie hat 9 Uhr 300 Mal", "Sie hat 9 Uhr 400 Mal"),
        ("Within 4 h answer 12 questions", "Within 4 h answer 13 questions"),
        ("규칙은 3시간입니다", "규칙은 4시간입니다"),
        ("Отпуск 30 дней", "Отпуск 31 дней"),
        ("Masz 5 majątków", "Masz 6 majątków"),
        ("Le trajet dure 2 h 30", "Le trajet dure 2 h 45"),
        ("Ответ занимает 1 ч 30 мин", "Ответ занимает 1 ч 45 мин"),
        ("作业 2 小时 30 分", "作业 2 小时 45 分"),
        ("회의는 1시간 30분간", "회의는 2시간 45분간"),
        ("Give 3 mart tickets", "Give 4 mart tickets"),
        ("正确率是3点5分钟", "正确率是4点5分钟"),
        ("Today is fine", "Today is grand"),
    ],
)
def test_what_it_does_not(before: str, after: str) -> None:
    assert code_of(before, after) is None
