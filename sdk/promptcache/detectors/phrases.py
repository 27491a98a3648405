"""Values that only their wording shows: dates and times in other languages, weekdays, numbered ids.

They are believed where both of two texts have them and they differ, never in one text alone.
"""

from __future__ import annotations

import re
from typing import Final

_MONTHS: Final = (
    r"(?:janu?ar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember"  # German
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|dezembro"
    r"|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre"
    r"|januari|februari|maart|mei|augustus|december)"
)
# As they stand beside a day, in the genitive where the language has one; Hebrew with its preposition.
_LATIN_FORMS: Final = (
    r"(?:stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|września|października|listopada|grudnia"
    r"|ocak|şubat|mart|nisan|may\u0131s|haziran|temmuz|ağustos|eylül|ekim|kas\u0131m|aral\u0131k"
    r"|ledna|února|března|dubna|května|června|července|srpna|září|října|listopadu|prosince"
    r"|januari|februari|maret|april|mei|juni|juli|agustus|september|oktober|november|desember"
    r"|mars|maj|augusti|december)"
)
_OTHER_FORMS: Final = (
    r"(?:января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря"
    r"|يناير|فبراير|مارس|[أا]بريل|مايو|يونيو|يوليو|[أا]غسطس|سبتمبر|[أا]كتوبر|نوفمبر|ديسمبر"
    r"|ב(?:ינואר|פברואר|מרץ|מרס|אפריל|מאי|יוני|יולי|אוגוסט|ספטמבר|אוקטובר|נובמבר|דצמבר)"
    r"|जनवरी|(?:\u095e|\u092b\u093c?)रवरी|मार्च|अप्रैल|मई|जून|जुलाई|अगस्त|सितंबर|सितम्बर|अक्टूबर|नवंबर|नवम्बर"
    r"|दिसंबर|दिसम्बर"
    r"|มกราคม|กุมภาพันธ์|มีนาคม|เมษายน|พฤษภาคม|มิถุนายน|กรกฎาคม|สิงหาคม|กันยายน|ตุลาคม|พฤศจิกายน|ธันวาคม)"
)
_WEEKDAYS: Final = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag)"
    r"|(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)"
    r"|(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)"
    r"|(?:maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag)"
)
_CLOCK: Final = r"[0-2]?\d[:.h][0-5]\d(?::[0-5]\d)?"
_DATE: Final = (
    r"(?:(?:" + _WEEKDAYS + r"),? )?(?:(?:der|den|dem|le|el|il|op) )?"
    r"[0-3]?\d(?:\.|º|er)? (?:de )?" + _MONTHS + r"(?: de)? 20\d\d"
)
_CJK_DAY: Final = (
    r"(?:[\uff0c,、\uff08( ]{0,2}(?:星期|周|週)?[一二三四五六日天月火水木金土](?:曜日)?[\uff09)]?)?"
)
_CJK_DATE: Final = r"20\d\d ?年 ?[01]?\d ?月 ?[0-3]?\d ?[日号號]" + _CJK_DAY
_CJK_CLOCK: Final = (
    r"[\uff0c, ]{0,2}(?:[上下]午|晚上|午前|午後)? ?[0-2]?\d ?"
    r"(?:[:\uff1a][0-5]\d(?:[:\uff1a][0-5]\d)?|[时時点點])"
)

_ALONE: Final = r"(?<![\d.,:/])(?<!\d-)"
_DAY: Final = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH: Final = r"(?:0?[1-9]|1[0-2])"
_FORM_DATE: Final = (
    rf"(?:{_ALONE}{_DAY}\.? (?:{_LATIN_FORMS} 20\d\d(?!\d)|{_OTHER_FORMS}(?!\w)(?: (?:20|25)\d\d)?)"
    rf"|20\d\d ?년 ?{_MONTH} ?월 ?{_DAY} ?일"
    rf"|\bngày {_DAY} tháng {_MONTH}\b(?: năm 20\d\d)?)"
)
_HOUR: Final = _ALONE + r"(?:[01]?\d|2[0-3])"
_WORD_CLOCK: Final = (
    rf"(?:{_HOUR} ?[時时点點] ?[0-5]?\d ?分(?![钟鐘間间])"
    rf"|{_HOUR}시 ?[0-5]?\d분(?!간)"
    rf"|{_HOUR} Uhr [0-5]\d(?![.,]?\d)"
    # A duration is written alike: only what is said to be now.
    rf"|\b(?:il est|heure(?: actuelle| locale)?(?: est| ?:))\s{_HOUR} ?h ?[0-5]\d(?!\w|[.,]\d)"
    rf"|\b(?:сейчас|время:?)\s{_HOUR} ?ч\.? ?[0-5]?\d ?мин(?!\w))"
)

_NUMBERED: Final = r"(?:ticket|case|request|order|job|run|session|trace|message|conversation|thread|call)"

_PHRASES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), code)
    for pattern, code in (
        (_WORD_CLOCK, "PC101"),
        (_CJK_DATE + _CJK_CLOCK, "PC101"),
        (_CJK_DATE, "PC109"),
        (
            r"(?:现在|現在|当前|當前|目前|此刻)[^\n。]{0,12}?[0-2]?\d[:\uff1a][0-5]\d(?:[:\uff1a][0-5]\d)?",
            "PC101",
        ),
        (_DATE + r",?(?: um| à| a las| às| alle| om)? " + _CLOCK, "PC101"),
        (_DATE, "PC109"),
        (_FORM_DATE + r",?(?: [^\W\d]{1,5}\.?){0,2} " + _CLOCK, "PC101"),
        (_FORM_DATE, "PC109"),
        (r"\b[0-2]?\d[:.][0-5]\d(?:[:.][0-5]\d)? Uhr\b", "PC101"),
        (r"\b20\d\d-W[0-5]\d(?:-[1-7])?\b", "PC109"),
        (
            r"\b(?:today|heute|hoy|aujourd['\u2019]hui|vandaag)(?: is| ist| es| c['\u2019]est)?[: ]{1,2}"
            r"(?:" + _WEEKDAYS + r")\b",
            "PC109",
        ),
        (r"\b(?:pid|process(?: id)?) \d{2,7}\b", "PC105"),
        (r"\b" + _NUMBERED + r"(?: id| number| no\.?)? ?#\d{3,12}\b", "PC102"),
    )
)


def phrase_code(left: str, right: str, at: int) -> str | None:
    """The code of the wording in which two texts first differ at ``at``; None where it is none of these.

    >>> phrase_code("Heute ist der 29. November 2026.", "Heute ist der 30. November 2026.", 14)
    'PC109'
    >>> phrase_code("ticket #4821 is open", "ticket #4977 is open", 9), phrase_code("in 4 h", "in 5 h", 3)
    ('PC102', None)
    """
    for phrase, code in _PHRASES:
        one, other = (_covering(phrase, side, at) for side in (left, right))
        if one is not None and other is not None and one != other:
            return code
    return None


def _covering(phrase: re.Pattern[str], text: str, at: int) -> str | None:
    for found in phrase.finditer(text):
        if found.start() <= at <= found.end():
            return found.group()
    return None
