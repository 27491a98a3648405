"""Requests of TypeScript as they are written: rows without order, ages, numbers, bodies by hand, breakpoints."""

# ruff: noqa: E501 - snippets of another language

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_typescript")

from promptcache_lint import Settings, Severity, lint_text

_HEAD = """import Anthropic from "@anthropic-ai/sdk";
import { formatDistanceToNow } from "date-fns";
import { nanoid } from "nanoid";
const client = new Anthropic();
const RULES = "You review the changes of a platform for payments. Read all of it before you comment. Be brief.";
"""


def _found(text: str, head: str = _HEAD) -> list[tuple[str, str, int]]:
    """(code, severity, row below the head)."""
    report = lint_text(head + text, "src/agent.ts", Settings(severity=Severity.WARNING))
    return [(found.code, found.severity.name, found.place.row - 5) for found in report.findings]


def _codes(text: str) -> list[str]:
    return [code for code, _, _ in _found(text)]


def _asks(before: str, told: str) -> str:
    return f"""
export async function ask(messages: any[], db: any, prisma: any, supabase: any, sql: any, row: any) {{
  {before}
  return client.messages.create({{ model: "m", max_tokens: 9, system: `You are a clerk.\\n${{{told}}}\\n${{RULES}}`, messages }});
}}
"""


_LISTED = 'rows.map((row) => `- ${row.title}`).join("\\n")'
ROWS = {
    "an ORM": "const rows = await prisma.policy.findMany({ where: { active: true } });",
    "an ORM without options": "const rows = await prisma.policy.findMany();",
    "a query object": "const rows = await db.query.policies.findMany({ columns: { title: true } });",
    "a text": 'const { rows } = await db.query("select title from policies where active");',
    "a prepared text": 'const rows = db.prepare("SELECT title FROM policies").all();',
    "a tag": "const rows = await sql`select title from policies`;",
    "a builder": 'const { data: rows } = await supabase.from("policies").select("title").eq("active", true);',
}


@pytest.mark.parametrize("before", ROWS.values(), ids=ROWS)
def test_rows_without_order(before):
    assert _codes(_asks(before, _LISTED)) == ["PC203"]


ORDERED = {
    "an ORM": 'const rows = await prisma.policy.findMany({ orderBy: { title: "asc" } });',
    "an ORM with options from elsewhere": "const rows = await prisma.policy.findMany(options);",
    "one row": "const rows = [await prisma.policy.findFirst()];",
    "a text": 'const { rows } = await db.query("select title from policies order by title");',
    "a tag": "const rows = await sql`select title from policies order by id`;",
    "a builder": 'const { data: rows } = await supabase.from("policies").select("title").order("title");',
    "a function's": "const rows = await sql`select * from nearest_policies(${row.place}::vector, 5)`;",
    "sorted afterwards": "const rows = (await prisma.policy.findMany()).sort((a, b) => a.id - b.id);",
}


@pytest.mark.parametrize("before", ORDERED.values(), ids=ORDERED)
def test_rows_in_an_order(before):
    assert _codes(_asks(before, _LISTED)) == []


ONE_ROW = {
    "the first": "const row = (await sql`select name from owners where mail = ${mail}`)[0];",
    "the first of a list that is named": "const rows = (await sql`select name from owners where mail = ${mail}`) as Row[];\n  const row = rows[0];",
    "the first of what is destructured": 'const { rows } = await db.query("select name from owners where mail = $1", [mail]);\n  const row = rows[0];',
    "asked for": 'const row = db.prepare("select name from owners where mail = ?").get(mail);',
    "asked for later": 'const asked = db.query("select name from owners where mail = ?");\n  const row = asked.get(mail);',
    "unpacked": "const [row] = await sql`select name from owners where mail = ${mail}`;",
    "looked up": 'const { data } = await supabase.from("owners").select("id, name");\n  const row = data.find((each) => each.id === messages[0].owner);',
}


@pytest.mark.parametrize("before", ONE_ROW.values(), ids=ONE_ROW)
def test_one_row_has_no_order(before):
    asked = _asks(before, "row.name").replace("sql: any, row: any", "sql: any, mail: string")
    assert _codes(asked) == []


def test_what_rows_are_looked_up_by_is_not_in_them():
    asked = 'const { data: rows } = await supabase.from("plans").select("title").gte("date", format(new Date(), "yyyy-MM-dd"))'
    assert _codes(_asks(f"{asked};", _LISTED)) == ["PC203"]
    assert _codes(_asks(f'{asked}.order("title");', _LISTED)) == []


def test_rows_in_the_order_of_names_that_are_given():
    found = 'const { data } = await supabase.from("experts").select("id, name");\n  const rows = ids.map((id) => data.find((each) => each.id === id));'
    assert _codes(_asks(found, 'rows.map((row) => `- ${row.name}`).join("\\n")')) == []


def test_the_first_two_of_rows_have_none_either():
    found = "const rows = (await sql`select title from policies`).slice(0, 2);"
    assert _codes(_asks(found, _LISTED)) == ["PC203"]


COUNTED = {
    "a length": ("const rows = await prisma.policy.findMany();", "rows.length"),
    "a number beside them": (
        'const { count } = await supabase.from("a").select("b", { count: "exact" });',
        "count",
    ),
    "no rows": (
        'const rows = await supabase.from("a").select("b", { count: "exact", head: true });',
        "rows.count",
    ),
    "a number of a result": ('const found = await db.query("select a from b");', "found.rowCount"),
}


@pytest.mark.parametrize(("before", "told"), COUNTED.values(), ids=COUNTED)
def test_rows_that_are_counted_have_no_order(before, told):
    assert _codes(_asks(before, told)) == []


def test_an_age_is_the_clock_and_no_proof():
    assert _found(_asks("", "formatDistanceToNow(row.changed)"))[0][:2] == ("PC101", "WARNING")


def test_a_number_as_the_machine_writes_it():
    text = _asks("", "row.price.toLocaleString()")
    assert _codes(text) == []
    report = lint_text(text, "prompt.ts", Settings(select=("PC205",), severity=Severity.INFO))
    assert [finding.severity for finding in report.findings] == [Severity.INFO]  # a server keeps its locale
    assert _codes(_asks("", 'row.price.toLocaleString("en-US")')) == []


def test_keys_that_runs_put_in_as_they_finish():
    made = "const files = await loadAll(messages.map((m) => m.path));"
    load = """
async function loadAll(paths: string[]) {
  const files: Record<string, string> = {};
  await Promise.all(paths.map(async (path) => { files[path] = await read(path); }));
  return files;
}
"""
    assert _codes(load + _asks(made, "JSON.stringify(files)")) == ["PC201"]


_BY_HAND = """
export async function ask(messages: any[]) {
  const id = nanoid();
  const system = "[" + id + "] " + RULES;
  return fetch(URL_OF_MODEL, { method: "POST", HERE: JSON.stringify({ model: "m", system, messages }) });
}
"""


def test_a_body_written_by_hand_is_a_request():
    assert _codes(_BY_HAND.replace("HERE", "body")) == ["PC102"]


def test_a_body_in_an_object_of_functions_is_one_too():
    text = """
export default {
  async fetch(request: any) {
    const { messages } = await request.json();
    const id = nanoid();
    const system = "[" + id + "] " + RULES;
    return fetch("https://api.anthropic.com/v1/messages", { body: JSON.stringify({ model: "m", system, messages }) });
  },
};
"""
    assert _codes(text) == ["PC102"]


_MARK = 'cache_control: { type: "ephemeral" }'


def _request(
    system: str, model: str = "claude-sonnet-4-5", user: str = '{ role: "user", content: q }'
) -> str:
    return f"""
export const request = (q: string, tools: any[]) => ({{
  model: "{model}",
  max_tokens: 9,
  system: [
{system}
  ],
  messages: [{user}],
}});
"""


def _block(text: str, mark: str = _MARK) -> str:
    return f'    {{ type: "text", text: {text}, {mark} }},'


def test_more_breakpoints_than_there_may_be():
    five = "\n".join(_block(name) for name in ("A", "B", "C", "D", "E"))
    assert _found(_request(five)) == [("PC603", "WARNING", 10)]
    assert _found(_request(five.rpartition("\n")[0])) == []


def test_a_longer_lifetime_behind_a_shorter_one():
    hour = 'cache_control: { type: "ephemeral", ttl: "1h" }'
    assert _found(_request(_block("A") + "\n" + _block("B", hour))) == [("PC603", "WARNING", 7)]
    assert _found(_request(_block("A", hour) + "\n" + _block("B"))) == []


def test_a_breakpoint_behind_too_little_text():
    assert _found(_request(_block('"Translate to Danish."'))) == [("PC604", "WARNING", 6)]


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ('"Translate to Danish. ".repeat(400)', "claude-sonnet-4-5"),
        ('"Translate to Danish. ".repeat(count)', "claude-sonnet-4-5"),
        ("BOOK", "claude-sonnet-4-5"),
        ('"Translate. " + book', "claude-sonnet-4-5"),
        ('"Translate."', "m"),
    ],
)
def test_a_prefix_of_unknown_length_is_no_fault(text, model):
    assert _found(_request(_block(text), model)) == []


def test_a_mark_that_is_set_elsewhere_has_no_lifetime_to_compare():
    assert _found(_request(_block("A") + "\n" + _block("B", "cache_control: lasting"))) == []
