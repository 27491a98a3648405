"""Chat templates: which only append, and why others do not."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache.chat_templates import check_chat_template
from promptcache.errors import TemplateError

USER, AGAIN = {"role": "user", "content": "2+2?"}, {"role": "user", "content": "and 3+3?"}
FOUR = {"role": "assistant", "content": "4"}
THOUGHT = {**FOUR, "reasoning": "an easy sum"}
CHATML = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
THINKING = (
    "{% for m in messages %}<|{{ m.role }}|>\n"
    "{% if m.reasoning and (keep or loop.last) %}<think>{{ m.reasoning }}</think>{% endif %}"
    "{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


def check(source: str, *later: dict[str, Any], **fields: Any) -> Any:
    return check_chat_template(source, [USER], [USER, *later], **fields)


def test_a_plain_template_only_appends() -> None:
    report = check(CHATML, FOUR, AGAIN, generated="4<|end|>\n")
    assert (report.append_only, report.cause, report.offset) == (True, None, None)


def test_an_answer_that_comes_back_otherwise_is_found() -> None:
    report = check(CHATML, {**FOUR, "content": "four"}, AGAIN, generated="4<|end|>\n")
    assert (report.append_only, report.cause) == (False, "PC508")
    assert report.before is not None
    assert report.before.endswith("4<|end|>\n")


def test_dropped_reasoning_is_told_from_other_rewriting() -> None:
    generated = "<think>an easy sum</think>4<|end|>\n"
    assert check(THINKING, THOUGHT, AGAIN, generated=generated).cause == "PC505"
    kept = check(THINKING, THOUGHT, AGAIN, generated=generated, parameters={"keep": True})
    assert kept.append_only


def test_a_switched_parameter_is_named() -> None:
    source = "{{ language }} {{ effort }}\n" + CHATML
    report = check(
        source,
        FOUR,
        AGAIN,
        generated="4<|end|>\n",
        parameters={"effort": "low", "language": "en", "unused": 1},
        later_parameters={"effort": "high", "language": "en", "unused": 2},
    )
    assert (report.cause, report.details["parameter"]) == ("PC504", "effort")


def test_a_switch_that_changes_nothing_is_not_blamed() -> None:
    report = check(
        CHATML, FOUR, AGAIN, generated="4<|end|>\n", parameters={"x": 1}, later_parameters={"x": 2}
    )
    assert report.append_only


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{% for %}", "does not compile"),
        ("{{ messages[9].role.upper() }}", "cannot be rendered"),
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "cannot be rendered"),
    ],
)
def test_a_template_that_fails_is_one_clear_error(source: str, words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        check(source, FOUR, AGAIN)
