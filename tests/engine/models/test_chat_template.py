"""Chat templates render as Hugging Face's do, and fail with one kind of error."""

from typing import Any

import pytest

from promptcache_engine.models import ChatTemplate
from promptcache_engine.models.errors import ChatTemplateError
from promptcache_engine.models.testing import CHATML_TEMPLATE

HELLO = [{"role": "user", "content": "hello"}]


def render(source: str, messages: Any = HELLO, **names: Any) -> str:
    return ChatTemplate(source).render(messages, **names)


def test_chatml() -> None:
    begun = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    assert render(CHATML_TEMPLATE) == begun
    assert render(CHATML_TEMPLATE, add_generation_prompt=False) == begun.removesuffix(
        "<|im_start|>assistant\n"
    )


def test_blocks_leave_no_whitespace() -> None:
    source = "{% for m in messages %}\n    {% if m.role %}\n{{ m.content }}\n    {% endif %}\n{% endfor %}\n"
    assert render(source) == "hello\n"


def test_special_tokens_tools_and_extra_names_are_there() -> None:
    template = ChatTemplate(
        "{{ bos_token }}{{ tools[0].name }}{{ style }}{{ documents is none }}", tokens={"bos_token": "<s>"}
    )
    assert template.render(HELLO, [{"name": "f"}], style="!") == "<s>f!True"


def test_tojson_keeps_unicode_html_and_the_order_of_keys() -> None:
    message = [{"role": "user", "content": {"z": "é<&'", "a": 1}}]
    assert render("{{ messages[0].content | tojson }}", message) == '{"z": "é<&\'", "a": 1}'
    assert render("{{ {'b': [1]} | tojson(indent=2) }}") == '{\n  "b": [\n    1\n  ]\n}'


def test_loop_controls_and_the_generation_tag() -> None:
    source = (
        "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% break %}{% endfor %}"
    )
    assert render(source, HELLO * 2) == "hello"


def test_text_is_not_escaped() -> None:
    assert render("{{ messages[0].content }}", [{"content": "<b>&"}]) == "<b>&"


def test_what_the_template_refuses_is_said() -> None:
    with pytest.raises(ChatTemplateError, match="roles must alternate") as caught:
        render("{{ raise_exception('roles must alternate') }}")
    assert caught.value.remedy


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages[0]['content'] + 1 }}",
        "{{ messages[0].missing.deeper }}",
        "{{ messages[9].content }}",
        "{{ 1 // 0 }}",
        "{{ messages | tojson(indent='x', sort_keys=1, nonsense=2) }}",
        "{{ undefined_function() }}",
        "{% include 'other' %}",
        "{{ range(10 ** 9) | list }}",
    ],
)
def test_faults_while_rendering_are_one_error(source: str) -> None:
    with pytest.raises(ChatTemplateError, match="refuses these messages"):
        render(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update(role='x') }}",
        "{{ raise_exception.__globals__['sys'] }}",
        "{{ cycler.__init__.__globals__ }}",
    ],
)
def test_the_sandbox_holds(source: str) -> None:
    messages = [{"role": "user", "content": "hello"}]
    with pytest.raises(ChatTemplateError):
        render(source, messages)
    assert messages == HELLO


@pytest.mark.parametrize(
    ("source", "line"),
    [("{% if %}", 1), ("a\n{{ 'x }}", 2), ("\n\n{% unknown %}", 3), ("{{ x | nofilter }}", 1)],
)
def test_a_template_that_does_not_compile_names_the_line(source: str, line: int) -> None:
    with pytest.raises(ChatTemplateError, match=rf"does not compile \(line {line}\)") as caught:
        ChatTemplate(source)
    assert "--chat-template" in caught.value.remedy


def test_no_clock_unless_given() -> None:
    source = "{% if strftime_now is defined %}{{ strftime_now('%Y') }}{% else %}fixed{% endif %}"
    assert render(source) == "fixed"
    with pytest.raises(ChatTemplateError, match="strftime_now"):
        render("{{ strftime_now('%Y') }}")
    assert ChatTemplate(source, strftime_now=lambda layout: f"<{layout}>").render(HELLO) == "<%Y>"


def test_products_of_common_size() -> None:
    assert render("{{ '-' * 3 }}{{ 2 * 'ab' }}{{ 2 ** 10 }}{{ 1.5 * 2 }}{{ 2 ** -1 }}") == "---abab10243.00.5"


@pytest.mark.parametrize("inner", ["9" * 5000, "(" * 5000 + "1" + ")" * 5000])
def test_what_trips_the_compiler_does_not_compile(inner: str) -> None:
    with pytest.raises(ChatTemplateError, match="does not compile"):
        ChatTemplate("{{ " + inner + " }}")
