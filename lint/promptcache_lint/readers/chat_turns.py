"""Made-up turns through a chat template: does each extend the last, and is the reasoning kept?

Run as a program of its own, by `chat_templates`, with the template on standard input: what it takes is
limited by the system there, whatever the template does. Answers in JSON.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from promptcache.errors import TemplateBoundError, TemplateError
from promptcache.templates import render_chat_template

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Message = Mapping[str, Any]

__all__ = ["SECONDS", "faults", "main"]

SECONDS: Final = 10
"""Seconds of processor time that all the turns of one template may take."""
_BYTES: Final = 1 << 30
_THINKS = re.compile(r"think|reasoning", re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|reasoning)>\s*\Z")
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


def main() -> None:
    """Judge the template on standard input: a list of codes and messages; null where it was stopped.

    The one argument is how many seconds of processor time it may take.
    """
    _limit(int(sys.argv[1]))
    text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
    try:
        found = list(faults(text))
    except (TemplateBoundError, MemoryError):
        found = None
    sys.stdout.write(json.dumps(found))  # escaped: whatever the terminal's encoding


def _limit(seconds: int) -> None:
    """Bound this process's memory and time, where the system can."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_AS, _BYTES), (resource.RLIMIT_CPU, seconds)):
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):
            continue  # the limit that is set already is lower, or the system knows none of this kind


def faults(text: str) -> Iterator[tuple[str, str]]:
    """The codes of what is wrong with a template, PC508 and PC505, each with what is to be said.

    Nothing where it cannot be rendered. Raises `TemplateBoundError` for one that computes without end.
    """
    for variables in ({}, {"tools": [_TOOL]}) if "tools" in text else ({},):
        for opening in ((_SYSTEM, _QUESTION), (_QUESTION,)):
            try:
                said = _rewritten(text, list(opening), {**_VARIABLES, **variables})
            except TemplateBoundError:
                raise
            except TemplateError:
                continue
            if said:
                with_tools = " with tools" if variables else ""
                yield "PC508", f"The next turn{with_tools} does not begin with this one: {said}."
            break
    if _THINKS.search(text):
        try:
            dropped = _drops_reasoning(text)
        except TemplateBoundError:
            raise
        except TemplateError:
            return
        if dropped:
            yield "PC505", _DROPPED


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


if __name__ == "__main__":
    main()
