"""A rendering uses no more than any prompt needs, and nothing that a real template does is refused."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptcache_engine.models import ChatTemplate
from promptcache_engine.models.errors import ChatTemplateError
from promptcache_engine.models.template_budget import Budget, BudgetExceededError

HELLO = [{"role": "user", "content": "hello"}]
DEEP = (
    "{% set one=namespace(l=['x']) %}{% set other=namespace(l=['x']) %}{% for i in range(60) %}"
    "{% set one.l=[one.l,one.l] %}{% set other.l=[other.l,other.l] %}{% endfor %}"
)
CALLS = (
    "{% macro f(n) %}{{ caller(n) }}{% endmacro %}{% macro g(n) %}{% if n %}"
    "{% call(m) f(n) %}{{ g(m-1) }}{{ g(m-1) }}{% endcall %}{% endif %}{% endmacro %}{{ g(60) }}"
)
ENDLESS = [
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "{% for i in range(99999) %}{% for j in range(99999) if j < 0 %}{% endfor %}{% endfor %}",
    "{% for i in [1] recursive %}{{ loop([1, 1]) }}{% endfor %}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    CALLS,
    "{% block b %}{{ self.b() }}{% endblock %}",
]
KEEPING = (
    "{% set n=namespace(l=(), s='\U0001f600'*900000) %}"
    "{% for i in range(99999) %}{% set n.l = MORE %}{% endfor %}"
)
"""Each copy of a long text is cheap, and all of them are kept."""
KEPT = [
    "[n.l, n.s ~ 'x']",
    "{1: n.l, 2: n.s + 'x'}",
    "(n.l, n.s.strip('x') + 'y')",
    "namespace(a=n.l, s='x' ~ n.s)",
    "n.s + 'x'",
]
HUGE = [
    "{% set n=namespace(s='x') %}{% for i in range(40) %}{% set n.s=n.s~n.s %}{% endfor %}{{ n.s|length }}",
    "{% set n=namespace(s='x') %}{% for i in range(40) %}{% set n.s=n.s+n.s %}{% endfor %}{{ n.s|length }}",
    "{% set n=namespace(l=[]) %}{% for i in range(99999) %}{% set n.l=n.l+['x'*1000] %}{% endfor %}",
    "{% set x %}{{ 'a'*1000000 }}{% endset %}{% for i in range(99999) %}{{ x }}{% endfor %}",
    "{% for i in range(99999) %}" + "y" * 10_000 + "{% endfor %}",
    "{% for i in range(99999) %}{% set y = ('a'*3000000)[1:] %}{% endfor %}",
    *(KEEPING.replace("MORE", more) for more in KEPT),
    "{% set x = 9 ** 3000000 %}",
    "{{ 2 ** 4000 * 2 ** 4000 }}",
    "{{ 'a' * 2000000000 }}",
    "{{ 2000000000 * [1] }}",
    "{{ 'x'.center(10**9) }}",
    "{{ 'x'|center(10**9) }}",
    "{% filter center(10**9) %}x{% endfilter %}",
    "{{ 'x'.zfill(10**9) }}",
    "{{ 'x'.ljust(width=10**9) if false else 'x'.rjust(10**9) }}",
    "{{ '\\t'.expandtabs(10**9) }}",
    "{{ (1).to_bytes(10**9, 'big') }}",
    "{{ ('a'*1000000).replace('a', 'b'*10000) }}",
    "{{ ('a'*1000000)|replace(new='b'*10000, old='a') }}",
    "{% autoescape true %}{{ ('&'*1000000)|replace('a'|e, 'b'*10000) }}{% endautoescape %}",
    "{{ ('a'*1000000)|replace('', 'b'*10000) }}",
    "{% for i in range(99999) %}{% set y = ('a'*100000).strip('b'*100000 ~ 'a') %}{% endfor %}",
    "{% set t = 'a'*1000000 %}{% for i in range(99999) %}{% set y = t.count('b') %}{% endfor %}",
    "{{ ('b'*10000).join('a'*100000) }}",
    "{{ ('a'*100000)|join('b'*10000) }}",
    "{{ range(100000)|map('string')|join('x'*10000) }}",
    "{{ 'aaa'.translate({97: 'x'*3000000}) }}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%*d' % (999999999, 1) }}",
    "{{ '%0999999999d'|format(1) }}",
    "{{ '{:999999999}'.format(1) }}",
    "{{ '{:{}}'.format(1, 999999999) }}",
    "{{ ('{0}'*100000).format('x'*100000) }}",
    "{{ ('a\\n'*100000)|indent('x'*10000) }}",
    "{{ 'a\\na'|indent(10**9) }}",
    "{{ [1]|batch(10**9, 'x')|list|length }}",
    "{{ [1]|slice(10**9)|list|length }}",
    "{{ 1|round(10**9, 'ceil') }}",
    "{{ messages|tojson(indent=10**9) }}",
    "{{ [1, 2]|tojson(separators=('x'*10000000, '')) }}",
    "{{ ('(a '*300000)|wordwrap(5, wrapstring='x'*1000)|length }}",
    "{{ ([[1, 2]]*100000)|sum(start=[])|length }}",
    "{{ ('a '*1000000).split()|length }}",
]
SHARED = [
    "{{ one.l }}",
    "{{ one.l|tojson }}",
    "{{ one.l ~ '' }}",
    "{{ one }}",
    "{{ {'a': one.l}.values() }}",
    "{{ '%s' % one.l }}",
    "{{ one.l == other.l }}",
    "{{ one.l in [other.l] }}",
    "{{ one.l is eq(other.l) }}",
    "{{ [one.l].index(other.l) }}",
    "{{ {'a': one.l} == {'a': other.l} }}",
    "{{ [one.l, other.l]|sort|length }}",
    "{{ [[1, one.l]]|selectattr(1, 'eq', other.l)|list|length }}",
    "{% for x in [one.l, other.l] %}{{ loop.changed(x) }}{% endfor %}",
]


def refused(source: str) -> str:
    template = ChatTemplate(source)  # and nothing is computed yet
    with pytest.raises(ChatTemplateError, match="more steps or memory than any prompt needs") as caught:
        template.render(HELLO)
    assert "--chat-template" in caught.value.remedy
    return str(caught.value)


@pytest.mark.parametrize(
    "source", [*ENDLESS, *HUGE, *(DEEP + each for each in SHARED)], ids=lambda text: text[-60:]
)
def test_what_no_prompt_needs_is_refused(source: str) -> None:
    refused(source)


def test_the_line_is_named() -> None:
    assert "the chat template (line 3) takes" in refused("a\nb\n{{ 'x'.center(10**9) }}\nc")


def test_memory_stays_small() -> None:
    """All of it in a process that could not hold what the templates ask for."""
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "from promptcache_engine.models.chat_template import ChatTemplate\n"
        "from promptcache_engine.models.errors import ChatTemplateError\n"
        "for source in sys.stdin.read().split('\\0'):\n"
        "    try: ChatTemplate(source).render([{'role': 'user', 'content': 'x'}])\n"
        "    except ChatTemplateError as error: assert 'than any prompt needs' in str(error), error\n"
        "    else: raise SystemExit(source)\n"
    )
    asked = "\0".join([*ENDLESS[:1], *HUGE])
    done = subprocess.run(
        [sys.executable, "-c", limited], input=asked, text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


SCANNING = (
    "{% for m in messages %}{% set ns = namespace(end=true) %}{% for l in messages[loop.index:] %}"
    "{% if l.role == m.role and l.content is string %}{% set ns.end = false %}{% endif %}{% endfor %}"
    "{% set c = m.content %}{% if '</think>' in c %}"
    "{{ c.split('</think>')[0].rstrip().split('<think>')[-1] }}{% endif %}"
    "{{ '<|' + m.role + '|>' ~ c.split('</think>')[-1].strip() }}{% if ns.end %}!{% endif %}{% endfor %}"
)
"""As reasoning models' templates are written: each message is held against all later ones, and cut up."""


@pytest.mark.parametrize(
    ("messages", "characters"),
    [(2, 10), (40, 20_000), (200, 20), (400, 2)],
    ids=["short", "long", "many", "terse"],
)
def test_real_work_is_done(messages: int, characters: int) -> None:
    said = [
        {
            "role": "assistant" if at % 2 else "user",
            "content": "<think>hm</think>" * (at % 2) + "ab" * characters,
        }
        for at in range(messages)
    ]
    names = {"messages": said, "tools": None, "documents": None}
    expected = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(SCANNING)
    assert ChatTemplate(SCANNING).render(said) == expected.render(names)


GROWING = [
    "{% set ns.out = ns.out + '<|' + m.role + '|>' + m.content + '\n' %}",
    "{% set ns.out = ns.out ~ '<|' ~ m.role ~ '|>' ~ m.content ~ '\n' %}",
    "{% set line = '<|' ~ m.role ~ '|>' ~ m.content %}{% set ns.out = ns.out.rstrip() + '\n' + line %}",
    (
        "{% if ns.out and not ns.out.endswith('\n') %}{% set ns.out = ns.out + '\n' %}{% endif %}"
        "{% set ns.out = ns.out + (m.content if ns.out | length > 0 else m.content | trim) %}"
    ),
]


@pytest.mark.parametrize("step", GROWING)
@pytest.mark.parametrize(("messages", "characters"), [(88, 300), (1600, 20), (800, 1000), (40, 12_000)])
def test_a_prompt_may_be_built_in_a_variable(step: str, messages: int, characters: int) -> None:
    source = "{% set ns = namespace(out='') %}{% for m in messages %}" + step + "{% endfor %}{{ ns.out }}"
    said = [{"role": "user", "content": "x" * characters}] * messages
    plain = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(source)
    assert ChatTemplate(source).render(said) == plain.render(messages=said)


@pytest.mark.parametrize(
    "expression",
    [
        "m.replace('{tools}', 't'*10000)",
        "m | replace('{tools}', 't'*10000)",
        "m | replace(new='t'*10000, old='{tools}')",
        "m | replace('a', 't'*10000, 3)",
        "m.replace('a', 't'*10000, 3)",
        "m | replace('a', 't'*10000, count=3)",
        "m.replace('@', 't'*100000)",
        "m | replace(1, 2)",
        "m.replace('<image>', '<|image_pad|>'*256)",
        "(['x'*300]*900) | join('---------------------')",
        "'---------------------'.join(['x'*300]*900)",
    ],
)
def test_what_is_put_into_a_text_costs_as_often_as_it_is(expression: str) -> None:
    names = {"role": "system", "content": "a1" * 2700 + "@{tools}<image>" + "z" * 9 + "<image>"}
    source = "{% set m = messages[0].content %}{{ " + expression + " }}"
    plain = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(source)
    assert ChatTemplate(source).render([names]) == plain.render(messages=[names])


@pytest.mark.parametrize(
    "expression",
    [
        "'%d of %s' % (1700000000, 'x')",
        "'{} {a}'.format(1700000000, a=2)",
        "'Today: 2024-11-30 %%' % ()",
        "'a,b'.split(',') | join(' and ')",
        "messages | map(attribute='role') | unique | join(', ')",
        "messages | selectattr('role', 'equalto', 'user') | list | length",
        "messages | rejectattr('tools') | first",
        "[3, 1, 2] | sort | reverse | list",
        "{'b': 1, 'a': 2} | dictsort",
        "({'b': 1} | items | list) ~ 'x'",
        "[1, 2, 3] | batch(2, 'x') | list",
        "[1, 2, 3] | sum(start=1)",
        "'a\nb' | indent(4, first=True) | replace('a', 'cc') | upper",
        "1.75 | round(1) | string",
        "'x' in messages[0] or 'role' in messages[0]",
        "messages == messages and messages[0] != {} and 1 < 2 < 3",
        "none is none and 'a' is string and 3 is divisibleby(3) and 2 is in([1, 2])",
        "undefined_name | default('d')",
        "'abc'[1:] ~ 'abc'[::-1] ~ messages[:1] | length",
        "messages[0].items() | list",
        "namespace(a=1).a + 2 ** 10 * 2 % 7",
        "range(3) | map('string') | join",
    ],
)
def test_expressions_mean_what_they_do_without_a_budget(expression: str) -> None:
    source = "{{ " + expression + " }}"
    plain = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(source)
    assert ChatTemplate(source).render(HELLO) == plain.render(messages=HELLO)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)


@given(VALUES)
@settings(max_examples=100)
def test_a_value_weighs_no_less_than_its_text_has_characters_of_its_own(value: Any) -> None:
    spent = Budget(10**9)
    weight = spent.weigh(value)
    assert spent._left == 10**9 - weight
    # Quotes, commas and escapes are a few signs for each character and item.
    assert 12 * weight >= len(str(value))


def test_a_budget_that_is_used_up() -> None:
    budget = Budget(3)
    budget.take(3)
    with pytest.raises(BudgetExceededError):
        budget.take(1)
