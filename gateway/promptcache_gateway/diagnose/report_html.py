"""The report as one HTML file that needs nothing else: no script, no font, no address it would load.

Everything from a log is escaped. The numbers are those of the JSON report.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause
from promptcache_gateway.diagnose.report_text import dollars, less_read, line_of, moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache_gateway.diagnose.summary import Summary

_MAX_TEMPLATES = 200


def render(summary: Summary) -> str:
    """The page."""
    report = summary.to_dict()
    style = files("promptcache_gateway.diagnose").joinpath("report.css").read_text("utf-8")
    title = f"Prompt cache report: {escape(summary.name)}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{style}</style></head><body><main>",
        f"<h1>{title}</h1>",
        _facts(summary, report["total"]),
        _copies(report),
        _mended(report),
        _bad(report),
        *[_template(template, report["patterns"]) for template in report["templates"][:_MAX_TEMPLATES]],
        _left_out(report),
        "</main></body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _facts(summary: Summary, total: Mapping[str, Any]) -> str:
    span = ""
    if summary.first_time is not None and summary.last_time is not None:
        span = f"<p>{moment(summary.first_time)} to {moment(summary.last_time)}</p>"
    tiles = [
        ("Requests", f"{total['requests']:,}"),
        ("Read from the cache", _percent(total["hit_rate"])),
        ("Could have been read", _percent(total["achievable_hit_rate"])),
        ("Lost tokens", _about(total, f"{total['lost_tokens']:,}")),
        ("Lost money", _usd(total["lost_usd"])),
        ("Saved by the cache", _usd(total["saved_usd"])),
    ]
    cells = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in tiles)
    return f'{span}<dl class="tiles">{cells}</dl>'


def _copies(report: Mapping[str, Any]) -> str:
    number = report["copies"]
    again = f"{number:,} request{' stands' if number == 1 else 's stand'} in the log again"
    return f"<p>{again}, and counted once.</p>" if number else ""


def _mended(report: Mapping[str, Any]) -> str:
    lines = report["mended_lines"]
    if not lines:
        return ""
    return f"<p>{lines:,} line{'' if lines == 1 else 's'} with bytes that are no UTF-8, read as \ufffd.</p>"


def _bad(report: Mapping[str, Any]) -> str:
    if not report["bad_lines"]:
        return ""
    rows = "".join(f"<li>{escape(line_of(one))}: {escape(one['problem'])}</li>" for one in report["bad"])
    return (
        f"<details><summary>{report['bad_lines']:,} lines were passed over</summary><ul>{rows}</ul></details>"
    )


def _template(template: Mapping[str, Any], patterns: Sequence[Mapping[str, Any]]) -> str:
    shown = "".join(_pattern(one) for one in patterns if one["template"] == template["name"])
    causes, seen = "", set[tuple[str, str]]()
    for cause in template["causes"]:
        example = cause["example"] or {}
        pair = (example.get("before") or "", example.get("after") or "")
        causes += _cause(cause, template, repeated=pair in seen)
        seen |= {pair} if any(pair) else set()
    bar = _bar(template["hit_rate"], template["achievable_hit_rate"])
    facts = (
        f"{template['requests']:,} requests, {template['prompt_tokens']:,} prompt tokens; "
        f"{_percent(template['hit_rate'])} read, "
        f"{_percent(template['achievable_hit_rate'])} could have been; "
        f"lost {_about(template, format(template['lost_tokens'], ','))} tokens"
        + (f" ({_usd(template['lost_usd'])})" if template["lost_usd"] else "")
    )
    good = '<p class="good">Nothing breaks its prefix.</p>'
    unknown = template["achievable_hit_rate"] is None
    causes += _unexplained(template["unexplained"])
    body = causes + shown or ("<p>Its counters prove no cause.</p>" if unknown else good)
    mixed = "<p>Several templates stand here together.</p>" if template["mixed"] else ""
    return f"<section><h2>{escape(template['name'])}</h2>{mixed}{bar}<p>{facts}.</p>{body}</section>"


def _unexplained(found: Mapping[str, Any]) -> str:
    example = found["example"]
    if example is None:
        return ""
    return (
        f'<article class="unknown"><h3>The cause is unknown</h3><p>{found["requests"]:,} requests'
        f"{less_read(found['tokens'])}</p><p>First seen at {escape(line_of(example))}.</p>"
        f"<p>{escape(example['summary'])}</p></article>"
    )


def _pattern(pattern: Mapping[str, Any]) -> str:
    possible = ", ".join(
        f"<code>{escape(code)}</code> {escape(get_cause(code).title)}" for code in pattern["possible"]
    )
    size = f"{pattern['requests']:,} requests, {pattern['tokens']:,} tokens"
    return (
        f'<article class="unknown"><h3>No cause is proved</h3><p>{size}</p>'
        f"<p>{escape(pattern['summary'])}</p><p>Possible: {possible}.</p></article>"
    )


def _bar(read: float | None, reusable: float | None) -> str:
    have, could = (100 * (rate or 0.0) for rate in (read, reusable))
    label = f"{_percent(read)} read of {_percent(reusable)} that could have been"
    return (
        f'<div class="bar" role="img" aria-label="{label}">'
        f'<span class="could" style="width:{could:.1f}%"></span>'
        f'<span class="read" style="width:{have:.1f}%"></span></div>'
    )


def _cause(cause: Mapping[str, Any], template: Mapping[str, Any], *, repeated: bool) -> str:
    lost = f"{_about(template, format(cause['lost_tokens'], ','))} tokens" if cause["lost_tokens"] else ""
    money = _usd(cause["lost_usd"]) if cause["lost_usd"] else ""
    facts = ", ".join(part for part in (f"{cause['requests']:,} requests", lost, money) if part)
    example = _example(cause["example"], repeated=repeated) if cause["example"] else ""
    return (
        f'<article class="{escape(cause["attribution"])}"><h3><code>{escape(cause["code"])}</code> '
        f"{escape(cause['title'])}</h3><p>{facts}</p>{example}<p>{escape(cause['remedy'])}</p></article>"
    )


def _example(example: Mapping[str, Any], *, repeated: bool) -> str:
    place = f" in <code>{escape(example['path'])}</code>" if example["path"] else ""
    offset = f", character {example['char_offset']:,}" if example["char_offset"] is not None else ""
    before, after = example["before"], example["after"]
    sides = ""
    if (before or after) and not repeated:
        sides = f"<pre><del>{escape(before or '')}</del>\n<ins>{escape(after or '')}</ins></pre>"
    return f"<p>First seen at {escape(line_of(example))}{place}{offset}.</p>{sides}"


def _left_out(report: Mapping[str, Any]) -> str:
    left = len(report["templates"]) - _MAX_TEMPLATES
    return f"<p>{left:,} more templates are in the JSON report.</p>" if left > 0 else ""


def _percent(rate: float | None) -> str:
    return "unknown" if rate is None else f"{rate:.1%}"


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else dollars(amount)


def _about(total: Mapping[str, Any], text: str) -> str:
    return f"~{text}" if total["estimated"] else text
