"""TypeScript across files, without its extra, when it is broken, and whatever the text: never a crash."""

# ruff: noqa: E501 - snippets of another language

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("tree_sitter_typescript")

from promptcache_lint import Settings, Severity, lint_paths, lint_text
from promptcache_lint.cli import main
from promptcache_lint.declared import vocabulary_of
from promptcache_lint.formats import FORMATS
from promptcache_lint.places import Source
from promptcache_lint.prompts import flatten
from promptcache_lint.readers.choice import choose_reader
from promptcache_lint.readers.reading import InputFile, Workspace
from promptcache_lint.readers.typescript import grammar


def test_values_come_from_other_modules(tree_codes):
    found = tree_codes(
        {
            "src/lib/clock.ts": "export const stamp = () => new Date().toISOString();\n",
            "src/lib/index.ts": 'export { stamp as now } from "./clock.js";\nexport * from "./ids";\n',
            "src/lib/ids.ts": 'import { nanoid } from "nanoid";\nexport function tag() { return nanoid(); }\n',
            "tsconfig.json": '{ "compilerOptions": { "baseUrl": ".", "paths": { "@lib": ["src/lib"], } } } // x',
            "src/agent.ts": """
                import { now, tag } from "@lib";
                import * as all from "./lib";
                export function systemPrompt() {
                  const head = `You are a clerk. It is ${now()}.`;
                  return head + ` Run ${all.tag()}. Be brief and polite.`;
                }
                """,
        }
    )
    assert found == [("src/agent.ts", "PC101", 4), ("src/agent.ts", "PC102", 5)]


def test_commonjs_and_default_exports(tree_codes):
    found = tree_codes(
        {
            "clock.js": "module.exports = { stamp() { return Date.now(); } };\n",
            "host.mjs": 'import os from "node:os";\nexport default () => os.hostname();\n',
            "agent.js": """
                const { stamp } = require("./clock");
                exports.systemPrompt = () => `You are a clerk. ${stamp()}. Be brief and polite.`;
                """,
            "other.mjs": """
                import host from "./host.mjs";
                export const systemPrompt = () => `You are a clerk. ${host()}. Be brief and polite.`;
                """,
        }
    )
    assert found == [("agent.js", "PC101", 2), ("other.mjs", "PC105", 2)]


def test_a_shared_constant_is_computed_once(tree_codes):
    files = {
        "boot.ts": "export const BOOT = new Date().toISOString();\n",
        "agent.ts": """
            import { BOOT } from "./boot";
            export const systemPrompt = () => `You are a clerk since ${BOOT}. Be brief and polite.`;
            """,
    }
    assert tree_codes(files) == []
    assert tree_codes(files, Severity.INFO) == [("agent.ts", "PC110", 2)]


def test_the_flow_names_source_and_prompt():
    text = "const stamp = () => Date.now();\nexport const systemPrompt = () => `You are a clerk. ${stamp()} Be brief.`;\n"
    (finding,) = lint_text(text, "agent.ts").findings
    assert finding.source is not None
    assert (finding.source.row, finding.source.column) == (1, 21)
    assert (finding.place.row, finding.flow[-1].row) == (2, 2)
    assert finding.segment == "system"


def test_columns_count_characters():
    text = 'export const systemPrompt = () => "Grüße 😀. You are a clerk. " + Date.now() + " Be brief.";\n'
    (finding,) = lint_text(text, "agent.ts").findings
    assert text[finding.place.column - 1 : finding.place.end_column - 1] == "Date.now()"


def test_tests_bundles_and_declarations_are_left_alone_in_a_tree(tree_codes):
    text = "export const systemPrompt = () => `You are a clerk. ${Date.now()} Be brief and polite.`;\n"
    names = ["a.test.ts", "a.d.ts", "b.min.js", "__tests__/c.ts", "node_modules/x/d.js"]
    assert tree_codes(dict.fromkeys(names, text)) == []


def test_broken_files_are_said_to_be(codes):
    assert [code for code, _ in codes("const prompt = `You are {{{ ((( function (\n", "a.ts")] == ["PC900"]
    fresh = (
        "const system = (await import('x', { with: { a: 'b' } }));\nfunction f() { return `You are ${x}`; }\n"
    )
    assert codes(fresh, "a.ts") == []


@pytest.mark.parametrize("who", ["", ", who: string"])
def test_types_imported_in_place_are_read(codes, who):
    text = f"""
        function systemPrompt(
          context: import("@/machines").HostContext<
            Key,
            State
          >{who}
        ) {{
          return `You are a clerk. Be brief and polite, and never promise a thing. It is ${{Date.now()}}.`;
        }}
        """
    assert codes(text, "a.ts") == [("PC101", 7)]
    assert codes(text.replace("${Date.now()}", "time"), "a.ts") == []


@pytest.fixture
def without_extra(tmp_path, monkeypatch):
    """A folder with three files of TypeScript, in an environment that cannot read them."""
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    grammar._parser.cache_clear()
    text = "export const systemPrompt = () => `You are a clerk. ${Date.now()} Be brief and polite.`;\n"
    for name in ("a.ts", "b.js", "c.tsx"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    grammar._parser.cache_clear()


def test_without_the_extra_one_note_says_what_to_install(without_extra):
    report = lint_paths([without_extra], Settings(severity=Severity.INFO))
    assert report.findings == ()
    assert len(report.notes) == 1
    assert "pip install 'promptcache[ts]'" in report.notes[0]
    assert lint_text((without_extra / "a.ts").read_text(), "a.ts").notes == report.notes


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_note_is_no_part_of_the_report(without_extra, capsys, name):
    assert main([".", "--severity", "info", "--no-cache", "--output-format", name]) == 0
    out, err = capsys.readouterr()
    assert "promptcache[ts]" not in out
    assert err.count("pip install 'promptcache[ts]'") == 1
    assert main([".", "--diff", "--no-cache"]) == 0
    out, err = capsys.readouterr()
    assert (out, err.count("promptcache[ts]")) == ("", 1)


@pytest.mark.parametrize(
    "text",
    [
        "const systemPrompt = " + "(" * 3000 + "1" + ")" * 3000 + ";",
        "const systemPrompt = " + " + ".join(["`You are ${x}`"] * 3000) + ";",
        "const prompt = " + "[" * 2000 + "]" * 2000 + ";",
        "function prompt() { return " + "a(" * 1500 + ")" * 1500 + "; }",
        "const prompt = () => prompt() + systemPrompt(); const systemPrompt = () => prompt();",
        "class A extends A { get systemPrompt() { return this.systemPrompt; } }",
        "class A extends B {} class B extends A { systemPrompt() { return super.x(this.y); } }",
        "export * from './a'; import { prompt } from './a'; export { prompt as default } from './a';",
        "const { a: { b: [c, ...d] = [], ...e } = {}, prompt = a } = prompt;",
        "prompt: for (const prompt of prompt) { switch (prompt) { case prompt: default: } }",
        "a.b.c['prompt'] ??= this.prompt.x[0] = { ...prompt, get prompt() { return this } };",
        "\ufeff#!/usr/bin/env node\nconst prompt = `\\u{110000}\\x0${'prompt'}`;",
        "let prompt = prompt`a${b}`?.c`${d}`; delete prompt?.[x]; void prompt; new prompt; new prompt.x()();",
    ],
)
def test_odd_programs_never_crash(text, tmp_path):
    for name in ("a.ts", "a.jsx"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    lint_paths([tmp_path], Settings(severity=Severity.INFO))


NAME = st.sampled_from(["a", "b", "systemPrompt", "prompt", "messages", "now", "this", "x.y", "this.z"])
ATOM = st.one_of(
    NAME,
    st.sampled_from(
        [
            *("'You are a clerk'", "`${a} ${b}`", "Date.now()", "new Date()", "new Set([a, b])", "[a, ...b]"),
            *("{ role: 'system', content: a }", "{ ...a, [b]: 1, prompt }", "process.env.X", "1", "null"),
            *("fs.readdirSync('x')", "(a, b = now, { c, ...d }) => `${a} ${c}`", "/{{x}}/g", "undefined"),
        ]
    ),
)
EXPRESSION = st.recursive(
    ATOM,
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("({} ?? {})".format, inner, inner),
        st.builds("({} && {})".format, inner, inner),
        st.builds("{}.replace('a', {})".format, NAME, inner),
        st.builds("[{}, {}].join('-')".format, inner, inner),
        st.builds("{}.map((i) => {})".format, NAME, inner),
        st.builds("{}.reduce((s, i) => s + {}, '')".format, NAME, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("{}({})".format, NAME, inner),
        st.builds("{}.push({})".format, NAME, inner),
        st.builds("Object.entries({})[0]".format, inner),
        st.builds("JSON.stringify({})".format, inner),
        st.builds("await Promise.all({})".format, inner),
        st.builds("client.messages.create({{ system: {}, messages: {} }})".format, inner, inner),
    ),
    max_leaves=8,
)
STATEMENT = st.one_of(
    st.builds("let {} = {};".format, st.sampled_from(["a", "b", "prompt", "{ c }", "[d, ...e]"]), EXPRESSION),
    st.builds("{} = {};".format, NAME, EXPRESSION),
    st.builds("{} += {};".format, NAME, EXPRESSION),
    st.builds("if ({}) {{ {} = {}; }} else return {};".format, EXPRESSION, NAME, EXPRESSION, EXPRESSION),
    st.builds("for (const a of {}) {{ {} = {}; }}".format, EXPRESSION, NAME, EXPRESSION),
    st.builds("try {{ return {}; }} catch {{ {}; }}".format, EXPRESSION, EXPRESSION),
    st.builds("return {};".format, EXPRESSION),
)


@settings(max_examples=120)
@given(bodies=st.lists(st.lists(STATEMENT, min_size=1, max_size=5), min_size=1, max_size=4))
def test_programs_never_crash_and_places_lie_in_them(bodies):
    names = ["systemPrompt", "a", "prompt", "b"]
    text = "".join(
        f"async function {name}(a, ...b) {{\n" + "\n".join(body) + "\n}\n"
        for name, body in zip(names, bodies, strict=False)
    )
    report = lint_text(text, "program.ts", Settings(severity=Severity.INFO))
    rows = text.count("\n") + 1
    for finding in report.findings:
        assert 1 <= finding.place.row <= rows
        assert (finding.place.end_row, finding.place.end_column) >= (finding.place.row, finding.place.column)


FRAGMENTS = [
    *(
        "You are a clerk",
        "`",
        "${",
        "}",
        "{",
        "(",
        ")",
        "=>",
        "const prompt = ",
        "class A { ",
        "\n",
        ";",
        "'",
        "<a>",
    ),
    *(
        "function systemPrompt(",
        "return ",
        "import x from 'y'",
        "export ",
        "role: 'system'",
        "...",
        "?.",
        "=",
        "é😀",
    ),
    *(
        "// promptcache: ignore[PC101]",
        "/*",
        "*/",
        "[",
        "]",
        ",",
        "await ",
        "new Date()",
        "\\",
        "@x",
        "<T,>",
        "enum ",
    ),
]


@settings(max_examples=120)
@given(
    text=st.one_of(st.text(max_size=100), st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)),
    name=st.sampled_from(["a.ts", "a.tsx", "a.js"]),
)
def test_any_text_never_crashes(text, name):
    lint_text("prompt " + text, name, Settings(severity=Severity.INFO))


@settings(max_examples=100)
@given(
    text=st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(
                ['{"cells": [', "]", "}", '"cell_type": "code"', ",", '"source": ["prompt = 1\\n"]', "{"]
            ),
            max_size=12,
        ).map("".join),
    )
)
def test_any_notebook_never_crashes(text):
    lint_text(text, "a.ipynb", Settings(severity=Severity.INFO))


@pytest.mark.parametrize("name", ["prompt.ts", "prompt.py"])
def test_a_prompt_with_many_conditional_changes_stays_small(name, tmp_path):
    """Each change of a text that a function makes puts the whole text into both options of a branch."""
    if name == "prompt.ts":
        steps = "".join(f"  if (v === {i}) prompt = more{i}(prompt);\n" for i in range(16))
        made = "".join(
            f"function more{i}(prompt) {{ return prompt + `Rule ${{x}} {i} of ours.`; }}\n" for i in range(16)
        )
        text = f"{made}export function systemPrompt(v, who) {{\n  let prompt = `You are a clerk of ${{who}}. Be brief.`;\n{steps}  return `${{new Date()}}` + prompt;\n}}\n"
    else:
        steps = "".join(f"    if v == {i}:\n        prompt = more{i}(prompt)\n" for i in range(16))
        made = "".join(
            f"def more{i}(prompt):\n    return prompt + f'Rule {{x}} {i} of ours.'\n" for i in range(16)
        )
        text = f"import time\n{made}def system_prompt(v, who):\n    prompt = f'You are a clerk of {{who}}. Be brief.'\n{steps}    return f'{{time.time()}}' + prompt\n"
    reader = choose_reader(tmp_path / name, name, text, asked=True)
    workspace = Workspace(vocabulary_of(Settings()), (tmp_path,), tmp_path)
    prompts = list(reader.read(InputFile(tmp_path / name, Source(name, text)), workspace))
    assert any(len(list(flatten(prompt.segments[0].parts))) > 10 for prompt in prompts)
    assert max(len(list(flatten(prompt.segments[0].parts))) for prompt in prompts) < 500
    assert "PC101" in [finding.code for finding in lint_text(text, name).findings]


OWN = """\
import OpenAI from "openai";
export class Llm {
  private client = new OpenAI();
  chat(system: string, question: string) {
    const messages = [{ role: "system", content: system }, { role: "user", content: question }];
    return this.client.chat.completions.create({ model: "m", messages });
  }
}
export class Slow extends Llm {}
export class Store { chat(system: string, question: string) { this.rows.push([system, question]); } }
"""
LONG = "Answer in the language of the customer, briefly, and never promise a refund. " * 60
CLERK = """\
import {{ Llm, Slow, Store }} from "./own";
export class Clerk {{
  {0}
  answer(question: string) {{
    const systemPrompt = `It is ${{new Date()}}. {1}`;
    return this.llm.chat(systemPrompt, question);
  }}
}}
"""


@pytest.mark.parametrize(
    ("holds", "proven"),
    [
        ("constructor(private readonly llm: Llm) {}", True),
        ("private llm; constructor(llm: Slow) { this.llm = llm; }", True),
        ("private llm; constructor(llm?: Llm) { this.llm = llm ?? new Llm(); }", True),
        ("private llm: Llm | undefined; constructor(options: any) { this.llm = options.llm; }", True),
        ("constructor(private readonly llm: Store) {}", False),
        ("constructor(private readonly llm: Llm | Store) {}", False),
        ("constructor(private readonly llm: any) {}", False),
    ],
)
def test_a_prompt_for_a_client_of_the_program(tree_codes, holds, proven):
    files = {"own.ts": OWN, "clerk.ts": CLERK.format(holds, LONG)}
    errors = tree_codes(files, Severity.ERROR)
    assert [code for _, code, _ in errors] == (["PC101"] if proven else [])
    assert [code for _, code, _ in tree_codes(files)] == ["PC101"]
