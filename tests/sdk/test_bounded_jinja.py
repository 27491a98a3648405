"""Templates that compute without end, or something huge, are stopped; all others render as ever."""

from __future__ import annotations

import jinja2
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptcache.bounded_jinja import BoundedEnvironment, BoundExceededError, with_budget
from promptcache.errors import TemplateBoundError, TemplateError
from promptcache.templates import is_append_only, render_chat_template

LOOP = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
USER = [{"role": "user", "content": "hi"}]
NESTED = "{% set n = namespace(s=[1]) %}{% for i in range(40) %}{% set n.s = [n.s, n.s] %}{% endfor %}"
GROWING = (
    "{% set n = namespace(s='aaaaaaaaaa') %}{% for i in range(40) %}{% set n.s = n.s OP n.s %}{% endfor %}"
)
KEEPING = (
    "{% set n = namespace(l=(), s='x' * 900000) %}{% for i in range(99999) %}{% set n.l = MORE %}{% endfor %}"
)
KEPT = [
    "[n.l, n.s ~ 'x']",
    "{1: n.l, 2: n.s + 'x'}",
    "(n.l, n.s.strip('x') + 'y')",
    "namespace(a=n.l, s='x' ~ n.s)",
    "n.s + 'x'",
]
HUGE = [
    *(KEEPING.replace("MORE", more) for more in KEPT),
    "{% set t = 'a' * 1000000 %}{% for i in range(99999) %}{% set y = t.count('b') %}{% endfor %}",
    "{% set t = 'a' * 1000000 %}{% for i in range(99999) %}{% set y = 'b' in t %}{% endfor %}",
    "{% for i in range(99999) %}{% set y = ('a' * 90000).strip('b' * 90000 ~ 'a') %}{% endfor %}",
    "{% autoescape true %}{{ ('&' * 99999) | replace('a' | e, 'b' * 9999) }}{% endautoescape %}",
    "{{ ('a' * 99999) | replace('', 'b' * 9999) }}",
    "{{ ('a' * 99999) | replace(new='b' * 9999, old='a') }}",
    "{% set x = 9 ** 3000000 %}",
    "{% set x = 10 ** 2000 %}",
    "{{ 'a' * 2000000000 }}",
    "{{ 2000000000 * 'a' }}",
    "{{ [1] * 2000000000 }}",
    GROWING.replace("OP", "~"),
    GROWING.replace("OP", "+"),
    NESTED + "{{ n.s }}",
    NESTED + "{% set x = n.s | string %}",
    NESTED + "{% set x = '%s' | format(n.s) %}",
    NESTED + "{% set x = n.s ~ '' %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) if b < 0 %}{% endfor %}{% endfor %}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "{% for x in [1, 2] recursive %}{% if loop.depth < 60 %}{{ loop([1, 2]) }}{% endif %}{% endfor %}",
    "{% set x %}{% for i in range(99999) %}{{ 'a' * 100000 }}{% endfor %}{% endset %}",
    "{{ 'a' | center(2000000000) }}",
    "{{ 'a'.center(2000000000) }}",
    "{{ '\t'.expandtabs(2000000000) }}",
    "{{ '%2000000000d' % 1 }}",
    "{{ '%*d' % (2000000000, 1) }}",
    "{{ '%2000000000d' | format(1) }}",
    "{{ '{:2000000000}'.format(1) }}",
    "{{ '{:{w}}'.format(1, w=2000000000) }}",
    "{{ (1).to_bytes(2000000000) }}",
    "{{ lipsum(n=10000000) }}",
    "{{ range(99999) | join('a' * 99999) }}",
    "{{ ('a' * 99999) | replace('a', 'b' * 99999) }}",
    "{{ ('a' * 99999).replace('a', 'b' * 99999) }}",
    "{{ 'x' | indent(2000000000, true) }}",
    "{{ 1 | round(1000000000, 'ceil') }}",
    "{{ range(99999) | map('string') | join('a' * 99999) }}",
    "{{ ('a' * 99999).join(range(99999) | map('string')) }}",
    "{{ ('a' * 99999).translate({97: 'b' * 99999}) }}",
    "{{ ('{0}' * 9999).format('a' * 99999) }}",
    "{{ ('%(a)s' * 9999) % {'a': 'a' * 99999} }}",
    NESTED + "{{ n }}",
    NESTED + "{% set x = n | string %}",
    "{% autoescape 'a' | center(2000000000) %}{% endautoescape %}",
]


@pytest.mark.parametrize("start", HUGE)
def test_a_template_that_asks_for_too_much_is_stopped(start):
    with pytest.raises(TemplateBoundError, match="more steps or memory"):
        render_chat_template(start + LOOP, USER)


@pytest.mark.parametrize("start", ["{{ " + "9" * 5000 + " }}", "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}"])
def test_a_template_that_trips_the_compiler_does_not_compile(start):
    with pytest.raises(TemplateError, match="does not compile"):
        is_append_only(start + LOOP, [USER, USER])


@pytest.mark.parametrize(
    "source",
    [
        LOOP + "{% if add_generation_prompt %}x{% endif %}",
        "{{ 'a' ~ 1 ~ none ~ [1, 'b'] }}|{{ 'a' + 'b' }}|{{ 2 ** 5 }}|{{ 7 % 4 }}|{{ 3 * 'ab' }}",
        "{{ 1.5 * 2 }}|{{ 'a,b'.split(',') }}",
        "{{ '%s-%03d' % ('a', 7) }}|{{ '%s' | format('b') }}|{{ '{:>4}'.format('c') }}",
        "{% for k, v in {'a': 1}.items() %}{{ loop.index }}{{ k }}{{ v }}{% else %}none{% endfor %}",
        "{% for m in messages if m.role == 'user' %}{{ loop.length }}{{ m.content | upper }}{% endfor %}",
        "{% macro say(x) %}{{ x }}{{ caller() if caller }}{% endmacro %}{% call say(3) %}in{% endcall %}",
        "{% set ns = namespace(i=0) %}{% for m in messages %}{% set ns.i = ns.i + 1 %}{% endfor %}{{ ns.i }}",
        "{{ messages | map(attribute='role') | list }}",
        "{{ messages | length }}{{ messages | selectattr('x') | list }}",
        "{{ 'b' is in ['a', 'b'] }}{{ x is defined }}{{ missing is none }}{{ 4 is divisibleby(2) }}",
        "{{ ['b', 'a'] | sort | join(', ') }}{{ 'x\ny' | indent(2) }}",
        "{{ ' t ' | trim }}{{ 'abc' | replace('b', 'x') }}",
        "{{ 1.25 | round(1) }}{{ 2.1 | round(0, 'ceil') }}{{ 'abc'.translate({97: 'x', 98: none}) }}",
        "{{ messages | map(attribute='role') | join(',') }}{{ ', '.join(messages | map(attribute='role')) }}",
        "{% set g = [1, 2, 3] | map('string') %}{{ g is iterable }}{{ g | first }}{{ g | join('-') }}",
        "{% set ns = namespace(a=1, b='x') %}{{ ns.a }}{{ '{0}{0}{1}'.format(ns.b, 2) }}",
        "{% filter upper %}loud{% endfilter %}{% set t %}kept{% endset %}{{ t }}{{ '<' | e }}{{ missing }}",
        "{% for x in [[1, [2]], [3]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}",
        "{% block b %}inner{{ messages[0].content }}{% endblock %}{{ self.b() }}",
        "{% autoescape true %}{{ '<b>' }}{{ '<' ~ 'i' }}{% endautoescape %}",
    ],
)
def test_any_other_template_renders_as_in_the_plain_sandbox(source):
    variables = {"messages": USER, "x": 1, "add_generation_prompt": True}
    plain = ImmutableSandboxedEnvironment().from_string(source).render(**variables)
    assert BoundedEnvironment().from_string(source).render(with_budget(variables)) == plain


@pytest.mark.parametrize(
    "step",
    [
        "{% set ns.out = ns.out + '<|' + m.role + '|>' + m.content + '\n' %}",
        "{% set ns.out = ns.out ~ '<|' ~ m.role ~ '|>' ~ m.content ~ '\n' %}",
        (
            "{% if not ns.out.endswith('\n') %}{% set ns.out = ns.out.rstrip() + '\n' %}{% endif %}"
            "{% set ns.out = ns.out + (m.content if ns.out | length > 0 else m.content | trim) %}"
        ),
    ],
)
@pytest.mark.parametrize(("messages", "characters"), [(88, 300), (1600, 20), (400, 1000), (40, 12_000)])
def test_a_prompt_may_be_built_in_a_variable(step, messages, characters):
    source = "{% set ns = namespace(out='') %}{% for m in messages %}" + step + "{% endfor %}{{ ns.out }}"
    variables = {"messages": [{"role": "user", "content": "x" * characters}] * messages}
    plain = ImmutableSandboxedEnvironment().from_string(source).render(**variables)
    assert BoundedEnvironment().from_string(source).render(with_budget(variables)) == plain


@pytest.mark.parametrize(
    "expression",
    [
        "m.replace('{tools}', 't' * 10000)",
        "m | replace('{tools}', 't' * 10000)",
        "m | replace(new='t' * 10000, old='{tools}')",
        "m | replace('a', 't' * 10000, 3)",
        "m.replace('a', 't' * 10000, 3)",
        "m | replace('a', 't' * 10000, count=3)",
        "m.replace('@', 't' * 100000)",
        "m | replace(1, 2)",
        "m.replace('<image>', '<|image_pad|>' * 256)",
        "('x' * 5400 ~ '{tools}').replace('{tools}', 't' * 10000)",
        "(['x' * 300] * 900) | join('---------------------')",
        "'---------------------'.join(['x' * 300] * 900)",
        "(['x' * 900] * 3) | join(d='-' * 900)",
    ],
)
def test_what_is_put_into_a_text_costs_as_often_as_it_is(expression):
    content = "a1" * 2700 + "@{tools}<image>" + "z" * 9 + "<image>"
    source = "{% set m = messages[0].content %}{{ " + expression + " }}"
    variables = {"messages": [{"role": "system", "content": content}]}
    plain = ImmutableSandboxedEnvironment().from_string(source).render(**variables)
    assert BoundedEnvironment().from_string(source).render(with_budget(variables)) == plain


def test_a_loop_in_a_loop_takes_time_whatever_the_messages_are_long():
    source = "{% for m in messages %}{% for l in messages %}{{ '' if l.role else m }}{% endfor %}{% endfor %}"
    template = BoundedEnvironment().from_string(source)
    said = [{"role": "user", "content": "word " * 400}]
    assert template.render(with_budget({"messages": said * 300})) == ""
    with pytest.raises(BoundExceededError):
        template.render(with_budget({"messages": said * 700}))


def test_a_long_conversation_has_a_budget_of_its_length():
    messages = [{"role": "user", "content": "word " * 2000}] * 1000
    text = render_chat_template("{% for m in messages %}{{ m.content | trim ~ '' }}{% endfor %}", messages)
    assert len(text) == 1000 * (5 * 2000 - 1)


def test_a_rendering_without_a_budget_is_refused():
    template = BoundedEnvironment().from_string("{{ x }}")
    with pytest.raises(BoundExceededError):
        template.render(x=1)


def test_what_is_undefined_stays_an_error_of_jinja2():
    template = BoundedEnvironment(undefined=jinja2.StrictUndefined).from_string("{{ x.y }}")
    with pytest.raises(jinja2.UndefinedError):
        template.render(with_budget({}))
