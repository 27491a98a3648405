"""The plain questions about chat templates."""

from __future__ import annotations

import pytest

from promptcache.errors import TemplateError
from promptcache.templates import is_append_only, render_chat_template

PLAIN = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
NEWEST = "{% for m in messages %}{{ '*' if loop.last }}<{{ m.role }}>{{ m.content }}<end>{% endfor %}"
TURNS = [
    [{"role": "user", "content": "a"}],
    [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ],
]


def test_plain_template_only_appends():
    assert is_append_only(PLAIN, TURNS)
    assert is_append_only(PLAIN, TURNS, generated=["b<end>"])
    assert not is_append_only(PLAIN, TURNS, generated=["other<end>"])


def test_a_mark_on_the_newest_message_rewrites_history():
    assert not is_append_only(NEWEST, TURNS)


def test_one_turn_or_none_is_append_only():
    assert is_append_only(NEWEST, TURNS[:1])
    assert is_append_only(NEWEST, [])


def test_variables_reach_the_template():
    template = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
    assert render_chat_template(template, TURNS[0], bos_token="<s>") == "<s>a"
    assert render_chat_template(PLAIN, TURNS[0], add_generation_prompt=True) == "<user>a<end><assistant>"


def test_a_template_that_does_not_compile_is_an_error():
    with pytest.raises(TemplateError):
        render_chat_template("{% for %}", TURNS[0])
