"""What a caller asks about the provider's cache in the provider's own words, and what of it goes upstream.

Anthropic's ``diagnostics`` and OpenAI's ``prompt_cache_options.comparison_response_id`` reach an upstream
that answers them untouched; from a request to any other one they are taken out, and the gateway answers.
Where the settings say so, the gateway asks a provider by itself. The answers are `answers`'.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.exchange import Question
from promptcache_gateway.upstreams.splice import remove_member, set_member

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptcache_gateway.exchange import Call
    from promptcache_gateway.upstreams.switchboard import Line

_CLAUDE, _RESPONSES = "anthropic.messages", "openai.responses"
_DIAGNOSTICS, _PREVIOUS = "diagnostics", "previous_message_id"
_OPTIONS, _COMPARED = "prompt_cache_options", "comparison_response_id"


def question_of(call: Call) -> Question | None:
    """What the caller asks, None where that is nothing or has not the API's shape."""
    if call.dialect == _CLAUDE:
        asked = call.payload.get(_DIAGNOSTICS)
        if not isinstance(asked, dict):
            return None
        named = asked.get(_PREVIOUS)
        return Question(_CLAUDE, named) if named is None or isinstance(named, str) else None
    if call.dialect == _RESPONSES:
        options = call.payload.get(_OPTIONS)
        named = options.get(_COMPARED) if isinstance(options, dict) else None
        return Question(_RESPONSES, named) if isinstance(named, str) else None
    return None


def own_question(call: Call, line: Line, predecessor: Callable[[], str | None]) -> Question | None:
    """What the gateway asks by itself, where the upstream's settings say so and the caller asks nothing.

    Args:
        call: the call.
        line: the upstream it goes to first.
        predecessor: finds the earlier answer to compare with; called only where it is needed.
    """
    if line.settings.diagnostics != "ask" or call.dialect not in line.upstream.dialects:
        return None
    if call.dialect == _CLAUDE and call.payload.get(_DIAGNOSTICS) is None:
        return Question(_CLAUDE, predecessor(), by_caller=False)  # null opts the first request in
    if call.dialect == _RESPONSES and _may_compare(call.payload) and (named := predecessor()) is not None:
        return Question(_RESPONSES, named, by_caller=False)
    return None


def for_line(question: Question, line: Line) -> Question:
    """The question with who answers it at this upstream."""
    asked = line.settings.diagnoses if question.by_caller else line.settings.diagnostics == "ask"
    there = asked and question.dialect in line.upstream.dialects
    return Question(question.dialect, question.response_id, question.by_caller, there)


def asking(call: Call, question: Question | None, line: Line) -> Call:
    """The call with the question as this upstream is to see it; without one, as it is."""
    if question is None or question.dialect not in line.upstream.dialects:
        return call  # a translation leaves it out
    if question.by_caller:
        return call if line.settings.diagnoses else replace(call, body=_without(call))
    if line.settings.diagnostics != "ask":
        return call  # a fallback: what the first upstream answered says nothing to it
    return replace(call, body=_with(call, question))


def _may_compare(payload: Mapping[str, Any]) -> bool:
    options = payload.get(_OPTIONS)
    return options is None or (isinstance(options, dict) and options.get(_COMPARED) is None)


def _without(call: Call) -> bytes:
    if call.dialect == _CLAUDE:
        return remove_member(call.body, (_DIAGNOSTICS,))
    alone = len(call.payload[_OPTIONS]) == 1
    return remove_member(call.body, (_OPTIONS,) if alone else (_OPTIONS, _COMPARED))


def _with(call: Call, question: Question) -> bytes:
    body, payload = call.body, call.payload
    named = orjson.dumps(question.response_id)
    if question.dialect == _CLAUDE:
        return set_member(body, (_DIAGNOSTICS,), b'{"%s":%s}' % (_PREVIOUS.encode(), named))
    if isinstance(payload.get(_OPTIONS), dict):
        return set_member(body, (_OPTIONS, _COMPARED), named)
    return set_member(body, (_OPTIONS,), b'{"%s":%s}' % (_COMPARED.encode(), named))
