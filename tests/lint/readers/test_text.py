"""Text and Markdown prompts: dialects of placeholders, front matter, role markers, fences, comments."""

from __future__ import annotations

import pytest

STATIC = "\nYou are a clerk of our company. Be brief and polite, and never promise anything.\n"


@pytest.mark.parametrize(
    ("placeholder", "code"),
    [
        ("{now}", "PC101"),
        ("{{now}}", "PC101"),
        ("{{ current_time }}", "PC101"),
        ("${timestamp}", "PC101"),
        ("%(now)s", "PC101"),
        ("<%= current_datetime %>", "PC101"),
        ("{now:%H:%M}", "PC101"),
        ("{now:%Y-%m-%d}", "PC109"),
        ("{currentDate}", "PC109"),
        ("{request_id}", "PC102"),
        ("{{sessionId}}", "PC102"),
        ("{{random::a::b}}", "PC103"),
        ("{{pick:a,b}}", "PC103"),
        ("{user.name}", "PC104"),
        ("{hostname}", "PC105"),
        ("{cwd}", "PC105"),
        ("{tokens_left}", "PC107"),
    ],
)
def test_dialects(codes, placeholder, code):
    assert codes(f"Note: {placeholder}.{STATIC}", "prompt.txt") == [(code, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "Write the timestamp and a uuid as in 2024-01-31T10:00:00Z.",
        'Answer with JSON: {"time": "…", "date": 3}',
        "Use {carriers} and {{ company }} and ${product}.",
        "Escaped: \\${now} and $${now}.",
        "<!-- {now} -->",
        "{{! {now} }}",
        "```python\nprint(f'{now}')\n```",
        "The invoice of {invoice.date} and {post.created_at} by {author}.",
        "A range like {1,2} or {a|b} or {}.",
        "Write the letter with placeholders: {{clientName}}, {{date}}, {{request_id}}, for each case.",
    ],
)
def test_silent(codes, text):
    assert codes(text + STATIC, "prompt.md") == []


def test_front_matter_is_not_prompt(codes):
    assert codes(f"---\nmodel: x\ndefault: {{now}}\n---\n{STATIC}", "a.prompty") == []


def test_role_markers_make_the_last_user_message_newest(codes):
    text = f"system:\n{STATIC}\nuser:\n{{question}} asked at {{now}}\n"
    assert codes(text, "a.prompty") == []
    assert codes("system:\nIt is {now}.\n" + STATIC + "\nuser:\n{question}\n", "a.prompty") == [("PC101", 2)]


def test_dotprompt_roles(codes):
    text = '{{role "system"}}\nIt is {{now}}. ' + STATIC + '{{role "user"}}\n{{question}} {{now}}\n'
    assert codes(text, "a.prompt") == [("PC101", 2)]


def test_user_prompt_file_may_tell_the_time(codes):
    assert codes("{question}\n(asked at {now})\n", "user_prompt.txt") == []


def test_same_name_twice_is_one_fault(codes):
    assert codes(f"It is {{now}}.{STATIC}Again: {{now}}.{STATIC}", "prompt.txt") == [("PC101", 1)]


def test_doubled_braces_beside_single_ones_are_an_escape(codes):
    assert codes("Write <step_{{step_number}}> for {company}." + STATIC, "prompt.txt") == []
    assert codes("Write <step_{{step_number}}>." + STATIC, "prompt.txt") == [("PC107", 1)]


def test_user_data_needs_static_text_behind(codes):
    assert codes(f"{STATIC}Customer: {{user_name}}.", "prompt.txt") == []


def test_conditional_section_at_the_end_is_fine(codes):
    text = f"{STATIC}{{{{#if weather}}}}It is {{{{weather}}}}.{{{{/if}}}}"
    assert codes(text, "prompt.txt") == []


@pytest.mark.parametrize("mark", ["{{! ", "{{!-- ", "<!-- ", "{# ", "    ```x\n```y\n", "<%=", "`{x} "])
def test_many_marks_that_nothing_closes_are_read_in_one_go(codes, mark):
    text = f"Note: {{now}}.{STATIC}\n" + mark * 2000 + "\n<%=" + " " * 4000
    assert codes(text, "prompt.md") == [("PC101", 1)]


def test_unclosed_sections_are_tolerated(codes):
    assert codes("{{#if a}} {{/each}} {{else}} {{/if}} {{now}}" + STATIC, "prompt.txt")[-1] == ("PC101", 1)
