"""How a request differs from one named earlier one, in the words of a provider's own cache diagnostics.

Anthropic's ``diagnostics`` and OpenAI's ``prompt_cache_diagnostics`` know a few coarse reasons and name the
first. Their fields and reasons are those of the clients' types (anthropic 2.14 ``CacheMissReason``, openai
3.57 ``PromptCacheDiagnostics``). Counts are estimates from byte lengths, as the providers' own are. Finer
causes, against the best earlier request instead of a named one, are `verdict`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from promptcache.divergence.parameters import parameter_findings
from promptcache_gateway.observe.lookup import common_depth
from promptcache_gateway.observe.pieces import byte_length
from promptcache_gateway.observe.texts import common_prefix

if TYPE_CHECKING:
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry

Section = Literal["tools", "system", "messages"]

_ORDER: tuple[Section, ...] = ("tools", "system", "messages")
_INSTRUCTING = frozenset({"system", "developer"})
_BYTES_A_TOKEN = 4.0
_STEP, _SLACK = 128, 0.02  # a reported count may be rounded down to a step; an estimate may be a bit off
_TIERS = (None, "auto", "default")
_PLAIN = (None, {"type": "text"})
_ORDER_OF_REASONS = (
    "model_changed",
    "prompt_cache_key_changed",
    "tools_changed",
    "text_format_changed",
    "reasoning_effort_changed",
    "verbosity_changed",
    "context_compacted",
    "input_changed",
    "service_tier_changed",
)
"""As the client's own list has them; the first that holds is named."""
_OPENAIS_OWN = frozenset(
    {"prompt_cache_key_changed", "reasoning_effort_changed", "verbosity_changed", "service_tier_changed"}
)
_FOREIGN_KINDS = frozenset({"anthropic", "engine"})
"""Upstreams for which those settings are no part of what is cached: most of them are not even sent there."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Where a request leaves an earlier one.

    Attributes:
        section: the part of the prompt, None where the earlier prompt is continued.
        newest_turn: they differ in the request's newest turn only.
        reusable_tokens: tokens of the earlier prompt before the difference.
        missed_tokens: tokens of the earlier prompt behind it.
    """

    section: Section | None
    newest_turn: bool
    reusable_tokens: int
    missed_tokens: int


def gap_between(earlier: Entry, later: Prompt) -> Gap:
    """Where ``later`` leaves the earlier request."""
    prompt = earlier.prompt
    depth = common_depth(prompt.exact, later.exact)
    shared = prompt.offsets[depth]
    section: Section | None = None
    if depth < min(len(prompt.segments), len(later.segments)):
        one, other = prompt.segments[depth], later.segments[depth]
        shared += byte_length(one.text[: common_prefix(one.text, other.text)])
        section = min(_section(prompt, depth), _section(later, depth), key=_ORDER.index)
    elif depth < len(prompt.segments) and _section(prompt, depth) != "messages":
        section = _section(prompt, depth)
    total = _tokens_of(earlier)
    reusable = total if section is None else round(total * shared / prompt.total_bytes)
    return Gap(section, depth >= later.turn, reusable, max(0, total - reusable))


def _tokens_of(earlier: Entry) -> int:
    """Tokens of an earlier prompt: both parts of its `Gap` together."""
    return earlier.prompt_tokens or round(earlier.prompt.total_bytes / _BYTES_A_TOKEN)


def anthropic_reason(
    earlier: Entry | None, later: Prompt | None, cached: int | None = None
) -> dict[str, Any] | None:
    """Anthropic's ``cache_miss_reason``; None where the earlier request is continued, or all of it was read.

    ``cached`` tokens were read, None where that is not reported.
    """
    if later is None:
        return {"type": "unavailable"}
    if earlier is None:
        return {"type": "previous_message_not_found"}
    total, before, after = _tokens_of(earlier), earlier.prompt.parameters, later.parameters
    if any(before.get(name) != after.get(name) for name in ("model", "speed")):
        return {"type": "model_changed", "cache_missed_input_tokens": total}
    if cached and cached >= total * (1 - _SLACK):
        return None
    gap = gap_between(earlier, later)
    if gap.section in {"tools", "system"}:
        return {"type": f"{gap.section}_changed", "cache_missed_input_tokens": gap.missed_tokens}
    if any(finding.code == "PC504" for finding in parameter_findings(before, after)):
        return {"type": "unavailable"}
    if gap.section is None:
        return None
    return {"type": "messages_changed", "cache_missed_input_tokens": gap.missed_tokens}


def openai_verdict(
    earlier: Entry | None, later: Prompt | None, cached: int | None, kind: str = "openai"
) -> dict[str, Any]:
    """OpenAI's ``prompt_cache_diagnostics``; ``cached`` tokens were read, None where that is not reported.

    ``kind``: of the upstream; a setting that means nothing to its cache is no reason.
    """
    if later is None:
        return {"type": "unavailable"}
    if earlier is None:
        return {"type": "comparison_response_not_found"}
    total = _tokens_of(earlier)
    if cached and cached >= total * (1 - _SLACK) - _STEP:
        return {"type": "cache_hit"}
    gap = gap_between(earlier, later)
    passed_over = _OPENAIS_OWN if kind in _FOREIGN_KINDS else frozenset()
    reason, reusable = _changed_setting(earlier.prompt.parameters, later.parameters, passed_over), 0
    found = _changed_input(earlier.prompt, later, gap)
    if found is not None and (reason is None or _comes_first(found, reason)):
        reason, reusable = found, gap.reusable_tokens
    if reason is None or (reason == "input_changed" and gap.newest_turn and cached):
        return {"type": "cache_hit"} if cached else {"type": "unavailable"}
    return {
        "type": "cache_miss",
        "reason": reason,
        "cache_missed_tokens": total - reusable,
        "comparison_reusable_tokens": reusable,
    }


def _comes_first(one: str, other: str) -> bool:
    return _ORDER_OF_REASONS.index(one) < _ORDER_OF_REASONS.index(other)


def _changed_setting(
    before: Mapping[str, Any], after: Mapping[str, Any], passed_over: frozenset[str]
) -> str | None:
    """The first setting that changed, in the order of the client's own list of reasons."""
    if before == after:
        return None
    changed = {
        "model_changed": before.get("model") != after.get("model"),
        "prompt_cache_key_changed": before.get("prompt_cache_key") != after.get("prompt_cache_key"),
        "text_format_changed": _format(before) != _format(after),
        "reasoning_effort_changed": _inside(before, "reasoning", "effort")
        != _inside(after, "reasoning", "effort"),
        "verbosity_changed": _inside(before, "text", "verbosity") != _inside(after, "text", "verbosity"),
        "service_tier_changed": _tier(before) != _tier(after),
    }
    reasons = (reason for reason in _ORDER_OF_REASONS if reason not in passed_over)
    return next((reason for reason in reasons if changed.get(reason)), None)


def _changed_input(earlier: Prompt, later: Prompt, gap: Gap) -> str | None:
    if gap.section is None:
        return None
    if gap.section == "tools":
        return "tools_changed"
    return "context_compacted" if _compactions(later) > _compactions(earlier) else "input_changed"


def _compactions(prompt: Prompt) -> int:
    """Items that stand for a part of the conversation which was summed up."""
    return sum(
        segment.kind == "message"
        and segment.text.startswith('{"', segment.head)
        and '"type":"compaction"' in segment.body
        for segment in prompt.segments
    )


def _section(prompt: Prompt, index: int) -> Section:
    segment = prompt.segments[index]
    if segment.kind == "tool":
        return "tools"
    instructs = segment.kind == "system" or (segment.role in _INSTRUCTING and index < prompt.head)
    return "system" if instructs else "messages"


def _inside(body: Mapping[str, Any], outer: str, inner: str) -> Any:
    held = body.get(outer)
    return held.get(inner) if isinstance(held, Mapping) else None


def _format(body: Mapping[str, Any]) -> Any:
    said = _inside(body, "text", "format")
    return None if said in _PLAIN else said


def _tier(body: Mapping[str, Any]) -> Any:
    said = body.get("service_tier")
    return None if said in _TIERS else said
