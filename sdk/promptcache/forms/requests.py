"""Whole requests: the body of a form, with model, parameters, breakpoints, cache key and masked tools.

What grows from turn to turn stands last among what is content, so that the text of one request begins that of
the next. The template's name travels as a header to the gateway.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from promptcache.breakpoints import breakpoints_in
from promptcache.cache_keys import cache_key
from promptcache.causes import get_cause
from promptcache.errors import ConversationError, PromptCacheWarning
from promptcache.forms import anthropic, gemini, marks, openai_chat, responses
from promptcache.forms.tools import is_function
from promptcache.providers import MAX_BREAKPOINTS, find_model
from promptcache.turns.moves import all_tools
from promptcache.turns.static import tool_name

if TYPE_CHECKING:
    from promptcache.turns.state import State

_TEMPLATE_HEADER: Final = "x-promptcache-template"


def to_openai(state: State, model: str, parameters: Mapping[str, Any], *, mark: bool) -> dict[str, Any]:
    """Return the arguments of ``client.chat.completions.create``."""
    as_parts = marks.takes_static_mark(model)
    body = openai_chat.body(state.static, state.entries, system_as_parts=as_parts)
    if as_parts and mark and state.static.text:
        _mark_static_end(body, body["messages"][0]["content"][0], model, parameters, strict=state.strict)
    allowed = _allowed(state, model, "openai")
    named = [
        {"type": "function", "function": {"name": tool_name(tool)}} if is_function(tool) else tool
        for tool in allowed or ()
    ]
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": named}}
    return _request(state, model, {**_key(state, model), **parameters}, body, _choice(allowed, choice))


def to_responses(state: State, model: str, parameters: Mapping[str, Any], *, mark: bool) -> dict[str, Any]:
    """Return the arguments of ``client.responses.create``."""
    as_parts = marks.takes_static_mark(model)
    body = responses.body(state.static, state.entries, system_as_parts=as_parts)
    if as_parts and mark and state.static.text:
        _mark_static_end(body, body["input"][0]["content"][0], model, parameters, strict=state.strict)
    allowed = _allowed(state, model, "openai")
    named = [
        {"type": "function", "name": tool_name(tool)} if is_function(tool) else {"type": tool.get("type")}
        for tool in allowed or ()
    ]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": named}
    return _request(state, model, {**_key(state, model), **parameters}, body, _choice(allowed, choice))


def to_anthropic(
    state: State, model: str, parameters: Mapping[str, Any], *, mark: bool, static_ttl: str | None
) -> dict[str, Any]:
    """Return the arguments of ``client.messages.create``, marked as `forms.marks` says."""
    body = anthropic.body(state.static, state.entries)
    if mark:
        plan = marks.plan(body, model, static_ttl)
        _check_own(plan, strict=state.strict)
        marks.apply(body, plan.points)
    return _request(state, model, parameters, body, None)


def to_gemini(state: State, model: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``client.models.generate_content``; parameters go into ``config``."""
    body = gemini.body(state.static, state.entries)
    _check_clash(parameters, {**body, **body["config"]})
    config = {**parameters, **body["config"]}
    if state.template:
        config.setdefault("httpOptions", {"headers": {_TEMPLATE_HEADER: state.template}})
    allowed = _allowed(state, model, "google")
    if allowed is not None:
        names = [tool_name(tool) for tool in allowed if is_function(tool)]
        mode = {"mode": "VALIDATED", "allowedFunctionNames": names} if names else {"mode": "NONE"}
        config.setdefault("toolConfig", {"functionCallingConfig": mode})
    return {"model": model, "config": config, "contents": body["contents"]}


def _request(
    state: State, model: str, parameters: Mapping[str, Any], body: dict[str, Any], choice: Any
) -> dict[str, Any]:
    _check_clash(parameters, body)
    request = {"model": model, **parameters}
    if state.template:
        headers = request.get("extra_headers") or {}
        request["extra_headers"] = {_TEMPLATE_HEADER: state.template, **headers}
    request.update(body)
    if choice is not None:
        request.setdefault("tool_choice", choice)
    return request


def _check_clash(parameters: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    clash = sorted(parameters.keys() & body.keys())
    if clash:
        raise ConversationError(
            f"{clash[0]!r} is written by the conversation.", remedy="Leave it out of the parameters."
        )


def _key(state: State, model: str) -> dict[str, str]:
    facts = find_model(model)
    if facts is None or facts.provider != "openai" or not (state.template or state.tenant):
        return {}
    key = cache_key(
        state.template or "",
        tenant=state.tenant,
        requests_per_minute=state.requests_per_minute,
        spread=state.seed,
    )
    return {"prompt_cache_key": key}


def _choice(allowed: list[dict[str, Any]] | None, choice: dict[str, Any]) -> Any:
    return choice if allowed else None if allowed is None else "none"


def _allowed(state: State, model: str, provider: str) -> list[dict[str, Any]] | None:
    """Return the tools that may be called; None when all may, or the model takes no list."""
    facts = find_model(model)
    if not state.masked or facts is None or facts.provider != provider:
        return None
    tools = [json.loads(text) for text in all_tools(state)]
    return [tool for tool in tools if tool_name(tool) not in state.masked]


def _mark_static_end(
    body: Mapping[str, Any],
    part: dict[str, Any],
    model: str,
    parameters: Mapping[str, Any],
    *,
    strict: bool,
) -> None:
    """Set OpenAI's mark where the caller's own leave room; the automatic one, unless it is off, takes one."""
    own = [mark for mark in breakpoints_in(body) if mark.key == "prompt_cache_breakpoint"]
    options = parameters.get("prompt_cache_options")
    automatic = not (isinstance(options, Mapping) and options.get("mode") == "explicit")
    most = MAX_BREAKPOINTS - automatic
    _check_count(len(own), most, strict=strict)
    marks.mark_static_end(part, model)
    if len(own) < most or part.pop("prompt_cache_breakpoint", None) is None or len(own) > most:
        return
    message = f"the end of the system prompt gets no breakpoint: all {most} are set by hand."
    warnings.warn(PromptCacheWarning(message, code="PC602", remedy="Leave one of them to it."), stacklevel=4)


def _check_own(plan: marks.BreakpointPlan, *, strict: bool) -> None:
    _check_count(len(plan.own), MAX_BREAKPOINTS, strict=strict)


def _check_count(own: int, most: int, *, strict: bool) -> None:
    if own <= most:
        return
    message = f"{own} breakpoints were set by hand; a request may carry {most}."
    if strict:
        raise ConversationError(f"PC603: {message}", remedy=get_cause("PC603").remedy)
    warning = PromptCacheWarning(message, code="PC603", remedy=get_cause("PC603").remedy)
    warnings.warn(warning, stacklevel=5)
