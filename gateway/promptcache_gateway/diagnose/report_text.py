"""The report for a terminal: what was read, what could have been, and the causes that cost most first."""

from __future__ import annotations

import textwrap
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache.cli.style import Style
    from promptcache_gateway.diagnose.patterns import Pattern
    from promptcache_gateway.diagnose.summary import CauseTotal, Summary, TemplateTotal
    from promptcache_gateway.diagnose.unexplained import Unexplained

_WIDTH = 100
_MAX_CAUSES = 5


def describe(summary: Summary, style: Style, *, templates: int = 10) -> str:
    """Write a summary in words.

    Args:
        summary: what was added up.
        style: colours, or none.
        templates: how many templates are shown, the costliest first.
    """
    total = summary.total
    several = f" in {summary.logs:,} files" if summary.logs > 1 else ""
    lines = [style.bold(f"{summary.name}: {_count(total.requests, 'request')}{several}{_span(summary)}")]
    if summary.bad_lines:
        lines.append(style.red(f"  {_count(summary.bad_lines, 'line')} passed over{_where(summary.bad)}"))
    if summary.mended_lines:
        lines.append(f"  {_count(summary.mended_lines, 'line')} with bytes that are no UTF-8, read as \ufffd")
    if summary.copies:
        lines.append(f"  {_count(summary.copies, 'request')} stood in the log again, and counted once")
    if not total.requests:
        return "\n".join([*lines, "  No requests were found."])
    lines += ["  " + text for text in _rates(total)]
    for cause in total.ranked()[:_MAX_CAUSES] if len(summary.templates) > 1 else ():
        lines.append("  " + _headline(cause, total, style))
    shown = summary.templates[:templates]
    for template in shown:
        lines += ["", *_template(template, summary.patterns, style)]
    left = len(summary.templates) - len(shown)
    if left > 0:
        lines += ["", style.dim(f"{_count(left, 'more template')} (--templates N, or --output-format json)")]
    if total.estimated or total.unexplained.tokens:
        lines += ["", style.dim("~ is an estimate: positions are read off the request's bytes.")]
    return "\n".join(lines)


def _template(template: TemplateTotal, patterns: Sequence[Pattern], style: Style) -> list[str]:
    lines = [style.bold(template.name) + f"  {_count(template.requests, 'request')}"]
    lines += ["  " + text for text in _rates(template)]
    causes = template.ranked()
    for cause, repeated in zip(causes[:_MAX_CAUSES], repeats(causes), strict=False):
        lines += _cause(cause, template, style, repeated=repeated)
    lines += _unexplained(template.unexplained, style)
    shown = [pattern for pattern in patterns if pattern.template == template.name]
    for pattern in shown:
        lines += _pattern(pattern, style)
    if not causes and not shown and not template.unexplained.requests:
        known = template.judged_prompt_tokens or not template.requests
        lines.append(
            "  " + (style.green("Nothing breaks its prefix.") if known else "Its counters prove no cause.")
        )
    return lines


def _unexplained(found: Unexplained, style: Style) -> list[str]:
    if found.example is None:
        return []
    wrap = textwrap.TextWrapper(_WIDTH, initial_indent="      ", subsequent_indent="      ").fill
    size = f"{_count(found.requests, 'request')}{less_read(found.tokens)}"
    return [
        f"  {style.bold('The cause is unknown')}: {size}",
        style.dim(f"      {line_of(found.example)}"),
        wrap(found.example["summary"]),
    ]


def less_read(tokens: int) -> str:
    """How much less was read of requests whose cause is not known; "" where that is not known either.

    >>> less_read(1200), less_read(0)
    (', ~1,200 tokens less than expected', '')
    """
    return f", ~{tokens:,} tokens less than expected" if tokens else ""


def _pattern(pattern: Pattern, style: Style) -> list[str]:
    size = f"{_count(pattern.requests, 'request')}, {pattern.tokens:,} tokens"
    head = f"  {style.bold('No cause is proved')}: {size}"
    wrap = textwrap.TextWrapper(_WIDTH, initial_indent="      ", subsequent_indent="      ").fill
    causes = (
        f"{code} {get_cause(code).title[:1].lower()}{get_cause(code).title[1:]}" for code in pattern.possible
    )
    return [head, wrap(pattern.summary), wrap(f"Possible: {'; '.join(causes)}.")]


def _rates(total: TemplateTotal) -> list[str]:
    about = "~" if total.estimated else ""
    lines = [f"{total.prompt_tokens:,} prompt tokens"]
    if total.reported:
        read = total.cached_tokens / max(1, total.reported_prompt_tokens)
        lines[0] += f", {read:.1%} read from the cache"
    else:
        lines[0] = f"{about}{lines[0]}; the log does not say what was read from the cache"
    if total.judged_prompt_tokens:
        could = min(1.0, total.reusable_tokens / total.judged_prompt_tokens)
        lines[0] += f", {about}{could:.1%} could have been"
    money = f" ({dollars(total.lost_usd)})" if total.lost_usd else ""
    if total.lost_tokens:
        lines.append(f"lost: {about}{total.lost_tokens:,} tokens{money}")
    if total.saved_usd:
        did = "saved by the cache" if total.saved_usd > 0 else "the cache cost more than it saved"
        lines.append(f"{did}: {dollars(abs(total.saved_usd))}")
    return lines


def repeats(causes: Sequence[CauseTotal]) -> list[bool]:
    """Of each cause whether its example shows what an earlier one's does."""
    shown = [(one.example["before"], one.example["after"]) if one.example else (None, None) for one in causes]
    return [any(pair) and pair in shown[:at] for at, pair in enumerate(shown)]


def _cause(cause: CauseTotal, template: TemplateTotal, style: Style, *, repeated: bool) -> list[str]:
    lines = ["  " + _headline(cause, template, style)]
    if cause.example is not None and cause.attribution == "caller":
        example = _example(cause.example, style)
        lines += example[:1] if repeated else example
        wrap = textwrap.TextWrapper(_WIDTH, initial_indent="      ", subsequent_indent="      ").fill
        lines.append(wrap(get_cause(cause.code).remedy))
    return lines


def _headline(cause: CauseTotal, template: TemplateTotal, style: Style) -> str:
    about = "~" if template.estimated else ""
    money = f", {dollars(cause.lost_usd)}" if cause.lost_usd else ""
    lost = f", {about}{cause.lost_tokens:,} tokens{money}" if cause.lost_tokens else ""
    whose = {"upstream": " (the upstream's doing)", "expected": " (to be expected)"}.get(
        cause.attribution, ""
    )
    number = _count(cause.requests, "request") if cause.requests else "beside others"
    return f"{style.cyan(cause.code)} {style.bold(get_cause(cause.code).title)}{whose}: {number}{lost}"


def _example(example: dict[str, Any], style: Style) -> list[str]:
    place = f" in {example['path']}" if example["path"] else ""
    offset = f", character {example['char_offset']}" if example["char_offset"] is not None else ""
    lines = [style.dim(f"      {line_of(example)}{place}{offset}")]
    if not (example["path"] or example["before"] or example["after"]):
        lines.append(f"      {example['summary']}")
    for sign, key, paint in (("-", "before", style.red), ("+", "after", style.green)):
        if example[key]:
            lines.append("      " + paint(f"{sign} {_one_line(example[key])}"))
    return lines


def _one_line(text: str) -> str:
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t").replace("\x1b", "\\e")


def _span(summary: Summary) -> str:
    if summary.first_time is None or summary.last_time is None:
        return ", without times"
    first, last = (moment(time) for time in (summary.first_time, summary.last_time))
    return f", {first} to {last}"


def dollars(amount: float) -> str:
    """An amount of money, to the cent, and a small one to its first digits.

    >>> dollars(1234.5), dollars(0.00312)
    ('$1,234.50', '$0.0031')
    """
    return f"${amount:,.2f}" if abs(amount) >= 0.1 or not amount else f"${amount:.2g}"


def moment(time: float) -> str:
    """A time, to the minute, in UTC."""
    try:
        return datetime.fromtimestamp(time, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return "?"


def line_of(place: Mapping[str, Any]) -> str:
    """Where something stands: its line, and its log where there are several.

    >>> line_of({"line": 7}), line_of({"log": "a.jsonl", "line": 7})
    ('line 7', 'a.jsonl, line 7')
    """
    return (f"{place['log']}, " if "log" in place else "") + f"line {place['line']:,}"


def _where(bad: list[dict[str, Any]]) -> str:
    named = [f"{line_of(one)}: {one['problem']}" for one in bad[:3]]
    return ": " + "; ".join(named) + ("; …" if len(bad) > len(named) else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
