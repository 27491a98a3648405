"""Chat templates of models: renders short made-up conversations and looks whether each turn extends the last.

The only place where something that is read is also run: in the SDK's sandbox, with made-up messages.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from promptcache.errors import TemplateError
from promptcache.templates import render_chat_template
from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.findings import Severity
from promptcache_lint.places import Source
from promptcache_lint.prompts import Hole, Practice, flatten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from promptcache_lint.places import Place
    from promptcache_lint.readers.reading import Workspace

    Message = Mapping[str, Any]

__all__ = ["clocks_in_chat_template", "is_chat_template", "judge_chat_template"]

_CHAT_TEMPLATE = re.compile(r"add_generation_prompt|\bbos_token\b|\{%[-+]?\s*for\s+\w+\s+in\s+messages\b")
_LOOP = re.compile(r"\bmessages\b")
_THINKS = re.compile(r"think|reasoning", re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|reasoning)>\s*\Z")
_LARGEST = 100_000
_DROPPED = "The model's reasoning is left out of earlier turns: what it wrote is not found in the next turn."

_QUESTION = {"role": "user", "content": "Which is the largest lake in the country?"}
_ANSWER = "It is the northern lake."
_FOLLOW_UP = {"role": "user", "content": "And how deep is it there?"}
_DEPTH = "About ninety metres."
_THANKS = {"role": "user", "content": "Thank you, that is all."}
_SYSTEM = {"role": "system", "content": "You are a patient geographer."}
_REASONING = "The lakes of the north come first."
_TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look something up.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]},
    },
}
_VARIABLES: Mapping[str, Any] = {"bos_token": "<s>", "eos_token": "</s>"}


def is_chat_template(text: str) -> bool:
    """Whether a template renders lists of messages, as tokenizers carry them."""
    return _CHAT_TEMPLATE.search(text) is not None and _LOOP.search(text) is not None


def judge_chat_template(text: str, place: Place) -> tuple[Practice, ...]:
    """What is wrong with a chat template.

    At most one finding of each kind; nothing where it cannot be run.
    """
    if len(text) > _LARGEST:
        return ()
    found: dict[str, Practice] = {}
    for code, severity, says in _faults(text):
        found.setdefault(code, Practice(code, severity, place, says))
    return tuple(found.values())


def clocks_in_chat_template(text: str, path: Path, place: Place, workspace: Workspace) -> tuple[Hole, ...]:
    """What a chat template kept inside another file takes from the clock, all of it told at ``place``.

    Nothing where it is no valid template.
    """
    from promptcache_lint.readers.jinja_parts import TemplateWalker  # noqa: PLC0415 - readers need each other

    try:
        parts = TemplateWalker(workspace, path, Source(place.path, text), loops=False).parts(text)
    except UnreadableFileError:
        return ()
    holes = (part for part in flatten(parts) if isinstance(part, Hole))
    told = (
        replace(
            hole,
            place=place,
            traits=tuple(
                replace(trait, origin=place, flow=())
                for trait in hole.traits
                if trait.mark.code in {"PC101", "PC109"}
            ),
        )
        for hole in holes
    )
    return tuple(hole for hole in told if hole.traits)


def _faults(text: str) -> Iterator[tuple[str, Severity, str]]:
    for variables in ({}, {"tools": [_TOOL]}) if "tools" in text else ({},):
        for opening in ((_SYSTEM, _QUESTION), (_QUESTION,)):
            try:
                said = _rewritten(text, list(opening), {**_VARIABLES, **variables})
            except TemplateError:
                continue
            if said:
                with_tools = " with tools" if variables else ""
                yield (
                    "PC508",
                    Severity.ERROR,
                    f"The next turn{with_tools} does not begin with this one: {said}.",
                )
            break
    if _THINKS.search(text):
        try:
            dropped = _drops_reasoning(text)
        except TemplateError:
            return
        if dropped:
            yield "PC505", Severity.WARNING, _DROPPED


def _rewritten(text: str, opening: list[Message], variables: Mapping[str, Any]) -> str:
    """Where a later turn leaves an earlier one; empty where none does."""
    first = [*opening, {"role": "assistant", "content": _ANSWER}, _FOLLOW_UP]
    second = [*first, {"role": "assistant", "content": _DEPTH}, _THANKS]
    turns = [render_chat_template(text, turn, **variables) for turn in (opening, first, second)]
    for earlier, later in pairwise(turns):
        if not later.startswith(earlier):
            return _where(earlier, later)
    asked = render_chat_template(text, opening, add_generation_prompt=True, **variables)
    if turns[1].startswith(_OPEN_THOUGHT.sub("", asked)):
        return ""
    return _where(asked, turns[1])


def _where(earlier: str, later: str) -> str:
    at = next(
        (i for i, (a, b) in enumerate(zip(earlier, later, strict=False)) if a != b),
        min(len(earlier), len(later)),
    )
    return f"it had {earlier[at : at + 24]!r} where it now has {later[at : at + 24]!r}"


def _drops_reasoning(text: str) -> bool:
    """Whether reasoning is lost in earlier turns, whatever form it is handed back in."""
    asked = render_chat_template(text, [_QUESTION], add_generation_prompt=True, **_VARIABLES)
    thinks_always = _OPEN_THOUGHT.search(asked) is not None
    kept = False
    seen = thinks_always
    for fields in _forms(text):
        content = _ANSWER if fields else f"<think>\n{_REASONING}\n</think>\n\n{_ANSWER}"
        answer = {"role": "assistant", "content": content, **fields}
        turn = render_chat_template(text, [_QUESTION, answer], **_VARIABLES)
        later = render_chat_template(text, [_QUESTION, answer, _FOLLOW_UP], **_VARIABLES)
        seen = seen or _REASONING in turn
        kept = kept or _REASONING in later
    return seen and not kept


def _forms(text: str) -> list[dict[str, str]]:
    """How the template takes reasoning: in a field that it names, or else inside the content."""
    named = [
        name for name in ("reasoning_content", "reasoning", "thinking") if re.search(rf"[.'\"]{name}\b", text)
    ]
    return [{name: _REASONING} for name in named] or [{}]
