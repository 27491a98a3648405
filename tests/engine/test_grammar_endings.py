"""Rules that no text completes are found, and none that some text completes is taken for one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine import Grammar, GrammarError
from promptcache_engine.constraints import GrammarCompiler
from promptcache_engine.grammar_endings import find_endless


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ('start: "a" b\nb: b "x"', "b"),
        ('start: "a" b | "c"\nb: b "x"', "b"),
        ('start: "a" b\nb: "x" b', "b"),
        ('start: "a" (b)+\nb: "q" d\nd: d', "d"),
        ('start: "a" b\nb: c{1,3}\nc: ("x" | "y") c', "c"),
        ('start: "a" b\nb: c~2\nc: "x" c', "c"),
        ('start: "a" b // b: "x"\nb: c\nc: "y" b', "c"),
        ('start: "->" b -> name\n?b: "b: \\"" b\n  | /b|c/ b\n  | "a".."z" b', "b"),
        ('start: %json {"enum": ["b: 1 }"]} b\nb: "x" b', "b"),
        ("start: start", "start"),
    ],
)
def test_a_rule_without_an_end_is_named(tiny, source: str, rule: str) -> None:
    assert find_endless(source) == rule
    with pytest.raises(GrammarError) as caught:
        GrammarCompiler(tiny.tokenizer, tiny.config.vocab_size).prepare(Grammar.lark(source))
    assert "never complete" in str(caught.value) or "no answer can begin" in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        'start: "a" b\nb: "x" b | "y"',
        'start: "a" b\nb: "x" b?',
        'start: "a" b\nb: "x" b*',
        'start: "a" b\nb: "x" b{0,2}',
        'start: "a" b\nb: "x" b~0..2',
        'start: "a" b\nb: ("x" b | )',
        'start: "a" b\nb: ["x" b]',
        'start: "a" b\nb:\n',
        'start: "a" b\nb: | "x" b',
        'start: "a"\nunused: unused "x"',
        'start: a\na: b\nb: "x" a | C\nC: /c+/',
        'start: "b: b" /b: b\\/|/ <|b|> // : b\n%ignore / /\n%import common.INT\n',
        'start: b\nb[max_tokens=5]: "x" b',
        "start: b::0\nb::_: b::_",
        "start: %regex { 1 }",
        "start: (b\nb: b",
        "start: b )\nb: b",
        "no: grammar",
        ":",
        "",
    ],
)
def test_all_else_is_left_to_the_compiler(source: str) -> None:
    assert find_endless(source) is None


ATOMS = st.sampled_from(['"a"', '"b"?', "r0", "r1", "r2", "r1*", "r2+", "(r0 | r1)", "[r2]", 'r0{0,1} "c"'])
RULES = st.lists(st.lists(st.lists(ATOMS, max_size=3), min_size=1, max_size=3), min_size=3, max_size=3)


def shortest(rules: list[list[list[str]]]) -> set[int]:
    """Which rules have a text of some length: by growing derivations, another way than the module's."""
    ends: set[int] = set()
    for _ in range(4):
        for number, alternatives in enumerate(rules):
            for atoms in alternatives:
                needed = [
                    {int(digit) for digit in atom if digit.isdecimal()}
                    for atom in atoms
                    if "*" not in atom and "?" not in atom and "[" not in atom and "{0" not in atom
                ]
                # An atom in parentheses needs one of its rules, another the one it has.
                if all(not rules_of or rules_of & ends for rules_of in needed):
                    ends.add(number)
    return ends


@given(RULES)
@settings(max_examples=150)
def test_as_by_deriving(rules: list[list[list[str]]]) -> None:
    body = "\n".join(
        f"r{number}: " + " | ".join(" ".join(atoms) for atoms in alternatives)
        for number, alternatives in enumerate(rules)
    )
    # Every rule is met, and the start rule ends in any case.
    found = find_endless('start: "s" | r0 | r1 | r2\n' + body)
    endless = {0, 1, 2} - shortest(rules)
    assert (found is None) == (not endless)
    assert found is None or int(found[1]) in endless


@given(st.text(alphabet='ab:|"/()[]{}<>%~\n .,?*+->', max_size=60))
@settings(max_examples=300)
def test_no_text_is_too_odd(source: str) -> None:
    find_endless(source)
