"""Requests as hypothesis makes them from one another: each the one before with something done to it.

Most go on from what was sent, some change what stands in it. For tests that two ways of seeing a request see
the same, the short one and the long one.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tests.gateway.observe.scenes import rules_text

if TYPE_CHECKING:
    from collections.abc import Callable

Body = dict[str, Any]
Edit = tuple[str, int, str]

_WORDS = st.sampled_from(
    ["", "yes", "Where is it?", "größer 東京 🙂", "2026-11-30T12:00:00Z", "x " * 70, "y" * 300]
)
_KINDS = st.sampled_from(
    [
        *("ask", "ask", "go_on", "go_on", "call", "again", "edit", "longer"),
        *("cut", "head", "mark", "part", "extra", "tool", "model", "parameter"),
    ]
)
EDITS = st.lists(st.tuples(_KINDS, st.integers(0, 9), _WORDS), min_size=1, max_size=7)
"""What is done to each request to make the next: the kind, where, and with which words."""


def first(model: str, lines: int = 60) -> Body:
    """What the edits begin with."""
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
    talk = [
        {"role": "system", "content": rules_text(lines)},
        {"role": "user", "content": "Where is my parcel?"},
    ]
    return {"model": model, "tools": [tool], "messages": talk}


def edited(body: Body, edit: Edit) -> Body:
    """The next request."""
    made = copy.deepcopy(body)
    kind, at, words = edit
    _EDITS[kind](made, at % len(made["messages"]), words)
    return made


def _ask(body: Body, _: int, words: str) -> None:
    body["messages"][-1] = {"role": "user", "content": f"A question: {words}"}


def _go_on(body: Body, at: int, words: str) -> None:
    body["messages"] += [
        {"role": "assistant", "content": f"Answer {at}. {words}"},
        {"role": "user", "content": f"And then? {words}"},
    ]


def _call(body: Body, at: int, words: str) -> None:
    call = {"id": f"call_{at}", "type": "function", "function": {"name": "look_up", "arguments": words}}
    body["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{at}", "content": words},
    ]


def _edit(body: Body, at: int, words: str) -> None:
    body["messages"][at]["content"] = words


def _longer(body: Body, at: int, words: str) -> None:
    known = body["messages"][at].get("content")
    body["messages"][at]["content"] = f"{known}{words}" if isinstance(known, str) else words


def _cut(body: Body, at: int, _: str) -> None:
    if len(body["messages"]) > 1:
        del body["messages"][at]


def _head(body: Body, _: int, words: str) -> None:
    body["messages"][0] = {"role": "system", "content": f"{words}\n{rules_text(60)}"}


def _mark(body: Body, at: int, _: str) -> None:
    body["messages"][at]["cache_control"] = {"type": "ephemeral"}


def _part(body: Body, at: int, words: str) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    body["messages"][at]["content"] = [{"type": "text", "text": words}, picture]


def _extra(body: Body, at: int, words: str) -> None:
    body["messages"][at]["name"] = words or None


def _tool(body: Body, at: int, words: str) -> None:
    body["tools"][0]["function"]["description"] = f"{words}{at}"


def _model(body: Body, at: int, _: str) -> None:
    body["model"] = body["model"] if at % 2 else "another-model"


def _parameter(body: Body, at: int, _: str) -> None:
    body["tool_choice"] = "auto" if at % 2 else "none"


_EDITS: dict[str, Callable[[Body, int, str], None]] = {
    "ask": _ask,
    "go_on": _go_on,
    "call": _call,
    "again": lambda body, at, words: None,  # the same once more
    "edit": _edit,
    "longer": _longer,
    "cut": _cut,
    "head": _head,
    "mark": _mark,
    "part": _part,
    "extra": _extra,
    "tool": _tool,
    "model": _model,
    "parameter": _parameter,
}
