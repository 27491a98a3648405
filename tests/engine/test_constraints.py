"""Answers kept to schemas, patterns, choices and grammars; faults are placed, and stay with their request."""

import json
import re
import threading

import pytest

from promptcache_engine import DeadEndError, EngineConfig, Grammar, GrammarError, SamplingParams
from promptcache_engine.constraints import KEPT_GRAMMARS, GrammarCompiler
from promptcache_engine.engine import Engine
from promptcache_engine.models.testing import tiny_model

PROMPT = list(b"Describe the lamp as JSON, please: ")
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "kind": {"enum": ["floor", "table"]},
        "watts": {"type": "integer", "minimum": 1, "maximum": 99},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2},
    },
    "required": ["name", "kind", "watts", "tags"],
    "additionalProperties": False,
}


def answer(engine: Engine, grammar: Grammar, **fields):
    params = SamplingParams(**{"max_tokens": 400, "grammar": grammar, "seed": 1, **fields})
    return engine.generate(PROMPT, params)


@pytest.mark.parametrize("temperature", [0, 1.0, 2.0])
def test_a_schema_is_kept_to(make_engine, temperature: float) -> None:
    engine = make_engine()
    for seed in range(4):
        got = answer(engine, Grammar.json_schema(SCHEMA), temperature=temperature, seed=seed)
        assert got.finish_reason == "stop"
        value = json.loads(got.text)
        assert set(value) == set(SCHEMA["required"])
        assert value["kind"] in {"floor", "table"}
        assert 1 <= value["watts"] <= 99
        assert json.dumps(value, ensure_ascii=False) == got.text or "\\" in got.text


def test_an_object_a_pattern_and_a_choice(make_engine) -> None:
    engine = make_engine()
    assert re.fullmatch(r"[0-9]{3}-[a-f]+x", answer(engine, Grammar.regex("[0-9]{3}-[a-f]{1,4}x")).text)
    choices = ['red "one"', "grün", "blue\n2"]
    got = {answer(engine, Grammar.choice(choices), seed=seed, temperature=2.0).text for seed in range(12)}
    assert got <= set(choices)
    assert len(got) > 1
    # A random model would fill a string for ever: its end is made likely.
    ended = answer(engine, Grammar.json_object(), logit_bias={ord("}"): 100.0, ord('"'): 50.0})
    assert json.loads(ended.text) == {}


def test_an_answer_that_is_cut_says_length(make_engine) -> None:
    got = answer(make_engine(), Grammar.json_schema(SCHEMA), max_tokens=5)
    assert (got.finish_reason, len(got.token_ids)) == ("length", 5)


def test_ignoring_end_tokens_does_not_go_on_after_the_grammar(make_engine) -> None:
    got = answer(make_engine(), Grammar.choice(["ok"]), ignore_eos=True)
    assert (got.text, got.finish_reason) == ("ok", "stop")


@pytest.mark.parametrize(
    ("schema", "place", "words"),
    [
        ({"type": "objekt"}, "", "objekt"),
        ({"properties": 5}, "", "properties"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "/properties/a", "text"),
        (
            {"type": "object", "properties": {"a/b": {"type": "array", "items": {"type": "strin"}}}},
            "/properties/a~1b/items",
            "strin",
        ),
        ({"anyOf": [{"type": "string"}, {"type": "string", "pattern": "("}]}, "/anyOf/1", "group"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, "/properties/a", "none"),
        (
            {"$defs": {"n": {"type": "numbr"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}},
            "/properties/a",
            "numbr",
        ),
        ({"$ref": "#"}, "", "back to itself"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "", "back to itself"),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
            },
            "",
            "back to itself",
        ),
        ({"properties": {"k": {"anyOf": [{"$ref": "#/properties/k"}]}}}, "/properties/k", "back to itself"),
        (
            {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]},
            "",
            "back to itself",
        ),
        (
            {"items": {"type": "array", "items": {"$ref": "#/items"}, "minItems": 2}},
            "/items",
            "back to itself",
        ),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"type": "array", "minItems": 1, "prefixItems": [{"$ref": "#"}]}},
            },
            "",
            "back to itself",
        ),
        ({"type": "integer", "minimum": 10**40, "maximum": 10**40 + 1}, "", "'minimum'"),
        ({"type": "integer", "minimum": 1e40, "maximum": 1e41}, "", "'minimum'"),
        ({"items": {"type": "integer", "minimum": 2**53 + 1, "maximum": 2**54}}, "/items", "'minimum'"),
        ({"type": "integer", "maximum": 2**53 + 3}, "", "'maximum'"),
        ({"type": "number", "minimum": 5, "maximum": 2**53 + 3}, "", "'maximum'"),
        # The compiler would overflow its stack on these, and the process end.
        ({"type": "integer", "minimum": -(2**63), "maximum": -(2**63)}, "", "'minimum'"),
        ({"allOf": [{"type": "integer", "minimum": -1e40}, {"maximum": -1e39}]}, "/allOf/0", "'minimum'"),
    ],
    ids=str,
)
def test_a_fault_in_a_schema_is_placed(make_engine, schema: dict, place: str, words: str) -> None:
    with pytest.raises(GrammarError, match=re.escape(words)) as caught:
        answer(make_engine(), Grammar.json_schema(schema))
    assert caught.value.place == place
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "grammar",
    [
        Grammar.regex("("),
        Grammar.lark("begin: 5"),
        Grammar.lark(""),
        Grammar.lark("start: start"),
        Grammar.lark("start: a\na: b\nb: a"),
        Grammar.lark('start: %json {"type": "integer", "minimum": -1e40, "maximum": -1e39}'),
    ],
    ids=str,
)
def test_other_faults_are_one_line(make_engine, grammar: Grammar) -> None:
    with pytest.raises(GrammarError) as caught:
        make_engine().prepare_grammar(grammar)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"$ref": "#"}, {"type": "integer", "maximum": 2**64 - 1, "minimum": 0}]},
        {"type": "object", "properties": {"next": {"$ref": "#"}}},
        {
            "type": "object",
            "properties": {"minimum": {"type": "string"}, "a": {"enum": [{"minimum": -1e40}]}},
        },
        {"type": "object", "required": ["next"], "properties": {"next": {"anyOf": [{"$ref": "#"}, {}]}}},
        {"type": "array", "items": {"$ref": "#"}, "minItems": 0},
        {"type": "array", "items": {"$ref": "#"}, "prefixItems": [{"type": "null"}], "minItems": 1},
        {"type": "integer", "maximum": 2**63 - 1},
        {"type": "number", "minimum": -(2**53), "maximum": 1.1},
    ],
    ids=str,
)
def test_schemas_that_can_be_kept_to_are_not_refused(make_engine, schema: dict) -> None:
    make_engine().prepare_grammar(Grammar.json_schema(schema))


def test_a_bottomless_schema_is_refused() -> None:
    schema: dict = {}
    for _ in range(5000):
        schema = {"items": schema}
    with pytest.raises(GrammarError, match="deep"):
        Grammar.json_schema(schema)


def test_a_grammar_is_compiled_once(tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = GrammarCompiler(tiny.tokenizer, tiny.config.vocab_size)
    compiled: list[Grammar] = []
    real = compiler._compile
    monkeypatch.setattr(compiler, "_compile", lambda grammar: compiled.append(grammar) or real(grammar))
    compiler.prepare(Grammar.json_schema(SCHEMA))
    one, other = (compiler.start(Grammar.json_schema(dict(SCHEMA))) for _ in range(2))
    assert len(compiled) == 1
    one.accept(ord("{"))
    assert other.allowed(259)[ord("{")], "each answer begins anew"
    assert not one.allowed(259)[ord("{")]


def test_a_matcher_that_fails_fails_its_own_request(make_engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make_engine()
    real = GrammarCompiler.start

    def poisoned(self, grammar: Grammar):
        constraint = real(self, grammar)
        if grammar.kind == "regex":
            constraint._matcher.consume_token(0)
        return constraint

    monkeypatch.setattr(GrammarCompiler, "start", poisoned)
    good = engine.stream(PROMPT, SamplingParams(grammar=Grammar.choice(["fine"]), max_tokens=9))
    next(good)
    with pytest.raises(Exception, match="generation failed"):
        answer(engine, Grammar.regex("[a-c]{9}"))
    assert "".join(event.text for event in good if hasattr(event, "text")) == "fine"
    assert engine.healthy


def test_a_grammar_that_leads_nowhere_fails_its_own_request(make_engine) -> None:
    engine = make_engine()
    for _ in range(12):  # and it is not taken for a model that computes nothing any more
        with pytest.raises(DeadEndError, match="nothing can follow"):
            answer(engine, Grammar.lark('start: "a" B\nB: /x/ & /y/'))
    assert engine.healthy
    assert answer(engine, Grammar.choice(["fine"])).text == "fine"


def test_without_the_library_the_error_says_what_to_install(make_engine, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "llguidance", None)
    with pytest.raises(GrammarError, match=r"promptcache\[engine\]"):
        answer(make_engine(), Grammar.choice(["a"]))


def test_constrained_answers_are_equal_warm_and_cold() -> None:
    config = EngineConfig(model="tiny", kv_cache_tokens=4096, deterministic=True)
    with Engine.from_loaded(tiny_model(seed=1, deterministic=True), config) as engine:
        params = SamplingParams(grammar=Grammar.json_schema(SCHEMA), max_tokens=200, seed=5, temperature=1.3)
        cold = engine.generate(PROMPT, params, use_cache=False)
        engine.generate(PROMPT, SamplingParams(max_tokens=1))
        warm = engine.generate(PROMPT, params)
    assert (cold.cached_tokens, warm.cached_tokens) == (0, len(PROMPT) - 1)
    assert (cold.text, cold.token_ids) == (warm.text, warm.token_ids)


def test_nobody_waits_for_another_s_grammar(tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = GrammarCompiler(tiny.tokenizer, tiny.config.vocab_size)
    compiler.prepare(Grammar.choice(["known"]))
    begun, go_on = threading.Event(), threading.Event()
    real = compiler._compile

    def slow(grammar: Grammar):
        begun.set()
        assert go_on.wait(20)
        return real(grammar)

    monkeypatch.setattr(compiler, "_compile", slow)
    other = threading.Thread(target=compiler.prepare, args=(Grammar.choice(["slow"]),))
    other.start()
    assert begun.wait(20)
    assert compiler.start(Grammar.choice(["known"])).allowed(259)[ord("k")]
    go_on.set()
    other.join(20)
    assert compiler.start(Grammar.choice(["slow"])).allowed(259)[ord("s")]


def test_only_so_many_grammars_are_kept(tiny) -> None:
    compiler = GrammarCompiler(tiny.tokenizer, tiny.config.vocab_size)
    for number in range(KEPT_GRAMMARS + 5):
        compiler.prepare(Grammar.choice([str(number)]))
    assert len(compiler._compiled) == KEPT_GRAMMARS
    assert Grammar.choice(["4"]).key not in compiler._compiled
    assert Grammar.choice(["5"]).key in compiler._compiled
