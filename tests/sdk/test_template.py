"""A template has one prefix for one set of static variables, and depends on its variables alone."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache.errors import PromptCacheWarning, TemplateError, VolatileContentError
from promptcache.template import Template

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """You serve {{ shop }}.
{% for name, hours in opening|dictsort %}
- {{ name }}: {{ hours }}
{% endfor %}
Rules: {{ rules|tojson }}
It is {{ now }}. {{ shop }} thanks you.
"""
STATIC = {"shop": "Lark Bikes", "opening": {"sun": 0, "mon": 8}, "rules": {"b": {2, 1}, "a": 1.0}}


def shop(source: str = SOURCE, **options: Any) -> Template:
    return Template("shop", source, **{"static": STATIC, "volatile": ["now"], **options})


def test_renders_canonically() -> None:
    assert shop().render(**STATIC, now="18:04") == (
        "You serve Lark Bikes.\n\n- mon: 8\n\n- sun: 0\n\n"
        'Rules: {"a":1,"b":[1,2]}\nIt is 18:04. Lark Bikes thanks you.\n'
    )


def test_the_prefix_ends_before_the_first_volatile_variable() -> None:
    prefix = shop().prefix(**STATIC)
    assert prefix.endswith("\nIt is ")
    assert shop().render(**STATIC, now="x").startswith(prefix)
    assert shop().prefix(**STATIC, now="ignored") == prefix
    assert len(shop().prefix_hash(**STATIC)) == 32


@given(st.text(max_size=8), st.text(max_size=8))
def test_every_rendering_begins_with_the_prefix(name: str, now: str) -> None:
    variables = {**STATIC, "shop": name}
    template = shop()
    assert template.render(**variables, now=now).startswith(template.prefix(**variables))


@pytest.mark.parametrize(
    ("source", "prefix"),
    [
        ("a {% set t = now %}b {{ t }} c", "a b "),
        ("a {% if now %}b{% endif %} c", "a "),
        ("a {% macro m() %}{{ now }}{% endmacro %}b {{ m() }} c", "a b "),
        ("a {% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(shop) }} {{ m(now) }}", "a <Lark Bikes> "),
        ("a {% for i in [1, 2] %}{{ i }}{% endfor %} {{ now }}", "a 12 "),
        ("a {% include 'clock' %} c", "a "),
        ("a {% include 'rules' %} {{ now }}", "a Be kind. "),
        ("a {% include shop ignore missing %} {{ now }}", "a "),
        ("a {% filter upper %}{{ now }}{% endfilter %}", "a "),
        ("a {% set ns = namespace(t=now) %}b{{ ns.t }}", "a b"),
        ("a {% set ns = namespace(t=1) %}b {% set ns.t = now %}c {{ ns.t }}", "a b "),
        ("a {% set ns = namespace(t=1) %}{% set o = ns %}{% set ns.t = now %}c {{ o.t }}", "a "),
        ("a {% set xs = [] %}{% set _ = xs.append(now) %}b{{ xs }}", "a "),
        ("a {% if now %}{% set m = 1 %}{% endif %}{% set k = m + 1 %}b{{ k }}", "a "),
        ("a {% macro m() %}{{ t }}{% endmacro %}{% set t = now %}b {{ m() }}", "a b "),
        ("a {% import 'told' as c with context %}b {{ c.text }}", "a "),
        ("a {% from 'told' import text with context %}b {{ text }}", "a "),
        ("a {% import 'calm' as c %}b {{ c.text }} {{ now }}", "a b fine "),
        ("a {{ self.b() }} {% block b %}{{ now }}{% endblock %}", "a "),
        ("no volatile {{ shop }}", "no volatile Lark Bikes"),
        ("{# note #}a {{- now }}", "a"),
    ],
)
def test_where_the_prefix_ends(source: str, prefix: str) -> None:
    includes = {
        "clock": "It is {{ now }}",
        "rules": "Be kind.",
        "told": "{% set text = now %}",
        "calm": "{% set text = 'fine' %}",
    }
    template = Template("t", source, static=["shop"], volatile=["now"], includes=includes)
    assert template.prefix(shop="Lark Bikes") == prefix
    assert template.render(shop="Lark Bikes", now="5").startswith(prefix)


def test_the_identity_changes_with_the_source_and_only_then() -> None:
    assert shop().identity == shop().identity
    assert shop().identity.startswith("shop@")
    others = [
        shop(SOURCE + " "),
        shop(includes={"x": "y"}),
        shop(includes={"x": "z"}),
        shop(volatile=["now", "then"]),
    ]
    assert len({shop().hash, *(other.hash for other in others)}) == 5


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({**STATIC}, "'now' is missing"),
        ({**STATIC, "now": 1, "nwo": 2}, "'nwo' is not declared"),
    ],
)
def test_missing_and_unknown_variables_are_errors(variables: dict[str, Any], words: str) -> None:
    with pytest.raises(TemplateError, match=words) as caught:
        shop().render(**variables)
    assert "volatile: now" in caught.value.remedy


@dataclass
class Named:
    name: str


class Plain:
    pass


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ shop }}{% endif %}", "line 1: "),
        ("{{ shop.x.y }}", "has no attribute|undefined"),
        ("{{ other }}", "'other' not declared"),
        ("{% include 'part' %}", "'hidden' not declared"),
        ("{% include 'nowhere' %}", "nowhere"),
        ("{% extends 'part' %}", "not declared|extends"),
        ("{{ [1, 2]|random }}", "No filter named 'random'"),
        ("{{ lipsum() }}", "'lipsum' not declared"),
    ],
)
def test_bad_templates_are_clear_errors(source: str, words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        Template("t", source, static=["shop"], includes={"part": "{{ hidden }}"}).render(shop="x")


@pytest.mark.parametrize("value", [Plain(), len, Plain], ids=["object", "function", "class"])
def test_objects_without_a_stable_text_are_refused(value: Any) -> None:
    with pytest.raises(TemplateError, match=r"has no stable text \(PC106\)"):
        Template("t", "{{ x }}", static=["x"]).render(x=value)


class Shop:
    tags = frozenset({"b", "a", "c"})
    parts = (1, {"y", "x"})

    def open_days(self) -> set[str]:
        return {"tue", "mon"}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ x.tags|join(',') }}", "a,b,c"),
        ("{{ ','.join(x.tags) }}", "a,b,c"),
        ("{% for t in x.tags %}{{ t }}{% endfor %}", "abc"),
        ("{% for t in x.open_days() %}{{ t }} {% endfor %}", "mon tue "),
        ("{{ x.open_days()|list }}", "['mon', 'tue']"),
        ("{{ [x]|map(attribute='tags')|first }}", "['a', 'b', 'c']"),
        ("{{ x.parts[1]|first }}{{ x.tags ~ '' }}", "x['a', 'b', 'c']"),
    ],
)
def test_sets_have_an_order_wherever_they_come_from(source: str, text: str) -> None:
    assert Template("t", source, static=["x"]).render(x=Shop()) == text


@pytest.mark.parametrize(
    "source",
    [
        "{{ [x] }}",
        "{{ {'a': (x,)} }}",
        "{{ 'a' ~ x }}",
        "{{ 'a' ~ [x] }}",
        "{{ '%s' % x }}",
        "{{ '{}'.format(x) }}",
        "{{ x|string }}",
        "{{ [x]|join }}",
        "{{ [x]|map('string')|join }}",
        "{{ 'a'|replace('a', x) }}",
        "{{ ['a']|map('upper') }}",
        "{{ x.open_days }}",
        "{{ [x.open_days()] }}",
        "{{ 'a' ~ x.open_days() }}",
    ],
)
def test_nothing_without_a_stable_text_is_written(source: str) -> None:
    with pytest.raises(TemplateError, match=r"has no stable (text \(PC106\)|order \(PC202\))"):
        Template("t", source, static=["x"]).render(x=Shop())


def test_a_list_that_a_template_fills_is_filled() -> None:
    source = "{% set ns = namespace(xs=[]) %}{% set _ = ns.xs.append(x) %}{{ ns.xs }}"
    assert Template("t", source, static=["x"]).render(x=1) == "[1]"


def test_tojson_refuses_what_has_no_faithful_form() -> None:
    with pytest.raises(TemplateError, match="nan"):
        Template("t", "{{ x|tojson }}", static=["x"]).render(x=float("nan"))
    assert Template("t", "{{ x|tojson }}", static=["x"]).render(x=Named("é")) == '{"name":"é"}'


def test_volatile_literals_warn_or_raise() -> None:
    with pytest.warns(PromptCacheWarning, match="PC101.*the template 't'"):
        Template("t", "Now: 2031-03-04T18:04:11Z. Be kind.")
    with pytest.raises(VolatileContentError, match="PC101"):
        Template("t", "Now: 2031-03-04T18:04:11Z.", strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Template("t", "Now: 2031-03-04T18:04:11Z.", known_static=["2031-03-04T18:04:11Z"])


def test_static_text_behind_the_volatile_part_warns_or_raises() -> None:
    source = "It is {{ now }}.\n" + "Answer in two sentences. " * 20
    with pytest.warns(PromptCacheWarning, match="PC401.*stand behind the first volatile variable"):
        Template("t", source, volatile=["now"])
    with pytest.raises(TemplateError, match="PC401"):
        Template("t", source, volatile=["now"], strict=True)


@pytest.mark.parametrize("where", ["static", "volatile", "known_static"])
def test_one_text_is_no_list_of_names(where: str) -> None:
    with pytest.raises(TemplateError, match=f"{where} is a str") as caught:
        Template("t", "a", **{where: "abc"})
    assert caught.value.remedy
    with pytest.raises(TemplateError, match="its source is a int"):
        Template("t", 5)  # type: ignore[arg-type]


def test_both_static_and_volatile_is_an_error() -> None:
    with pytest.raises(TemplateError, match="'x' is declared both"):
        Template("t", "{{ x }}", static=["x"], volatile=["x"])


def test_load_reads_includes_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "support.md.j2").write_text(
        "Hi {{ shop }}. {% include 'rules.txt' %}{{ now }}", encoding="utf-8"
    )
    (tmp_path / "rules.txt").write_text("Be kind.\n", encoding="utf-8")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    template = Template.load(tmp_path / "support.md.j2", static=["shop"], volatile=["now"])
    assert template.name == "support"
    assert template.render(shop="x", now=1) == "Hi x. Be kind.\n1"
    before = template.hash
    (tmp_path / "rules.txt").write_text("Be brief.\n", encoding="utf-8")
    assert Template.load(tmp_path / "support.md.j2", static=["shop"], volatile=["now"]).hash != before
    with pytest.raises(TemplateError, match="cannot be read"):
        Template.load(tmp_path / "nowhere.j2")


PROGRAM = """
from promptcache.template import Template
source = "{% for x in tags %}{{ x }},{% endfor %}{{ d|tojson }}{{ now }}"
t = Template("t", source, static=["tags", "d"], volatile=["now"])
print(t.identity, t.prefix_hash(tags={"b", "a", "c"}, d={"y": {"q", "p"}}))
print(t.render(tags={"b", "a"}, d={}, now=1))
"""


def test_the_same_in_every_process() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert len(set(runs)) == 1
    assert runs[0].endswith("\na,b,{}1\n")
