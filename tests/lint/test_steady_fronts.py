"""A cut of a conversation is an error only behind a system prompt that is the same in the next turn."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from promptcache_lint import Settings, Severity, lint_paths, lint_text

if TYPE_CHECKING:
    from pathlib import Path

RULES = (
    "You are the clerk of a ferry line. Answer politely, in the language of the question. Name the pier, "
    "the deck and the time of departure. Never promise a seat. Say so when you do not know."
)


def told(text: str, name: str = "clerk.py") -> list[tuple[str, str]]:
    found = lint_text(dedent(text), name, Settings(severity=Severity.WARNING)).findings
    return [(finding.code, str(finding.severity)) for finding in found if finding.code == "PC501"]


@pytest.mark.parametrize(
    ("made", "severity"),
    [
        ('found = state.get("results") or "Nothing was looked up."', "warning"),
        ('found = state.get("results") or "(nobody yet)"', "warning"),
        ('found = state.get("results") or "N/A"', "warning"),
        ('found = state.get("results") or "暂无资料"', "warning"),
        ('found = state.get("results") or ""', "warning"),
        ('found = state["results"] if state["results"] else "No documents."', "warning"),
        ('found = ""\n        if state["results"]:\n            found = look_up(state)', "warning"),
        ('found = look_up(state) if state["asked"] else None', "warning"),
        ('found = "Nothing was looked up."', "error"),
        ('found = state.get("city") or "Bergen"', "error"),
        ('found = NOTES or "Nothing of note."', "error"),
    ],
)
def test_what_stands_for_nothing_is_not_all_that_stands_there(made: str, severity: str) -> None:
    text = f"""
from openai import OpenAI
NOTES = "Ships leave on the hour."
class Clerk:
    def __init__(self):
        self.talk = []
    def ask(self, question, state):
        self.talk.append({{"role": "user", "content": question}})
        {made}
        system = "{RULES} Known: " + found
        messages = [{{"role": "system", "content": system}}, *self.talk[-12:]]
        made = OpenAI().chat.completions.create(model="m", messages=messages).choices[0].message
        self.talk.append({{"role": "assistant", "content": made.content}})
        return made.content
"""
    assert told(text) == [("PC501", severity)]


@pytest.mark.parametrize(("front", "severity"), [("RULES + now()", "warning"), ("RULES", "error")])
def test_what_stands_in_front_where_the_cut_is_made_counts_for_whoever_calls_it(
    tmp_path: Path, front: str, severity: str
) -> None:
    (tmp_path / "ask.py").write_text(
        "import datetime\nimport openai\n"
        f'RULES = "{RULES}"\n'
        'def now():\n    return datetime.datetime.now().strftime("%A %H:%M")\n'
        "def answer(question, history):\n"
        f'    messages = [{{"role": "system", "content": {front}}}]\n'
        "    messages.extend(history[-8:])\n"
        '    messages.append({"role": "user", "content": question})\n'
        '    return openai.OpenAI().chat.completions.create(model="m", messages=messages)\n'
    )
    (tmp_path / "desk.py").write_text(
        dedent("""
        from ask import answer
        class Desk:
            def __init__(self):
                self.history = []
            def turn(self, question):
                said = answer(question, self.history).choices[0].message.content
                self.history.append({"role": "user", "content": question})
                self.history.append({"role": "assistant", "content": said})
                return said
        """)
    )
    found = lint_paths([tmp_path], Settings(severity=Severity.WARNING)).findings
    cuts = [finding for finding in found if finding.code == "PC501"]
    assert {str(finding.severity) for finding in cuts} == {severity}


@pytest.mark.parametrize(
    ("cut", "severities"),
    [
        ("if isinstance(talk[0], AIMessage):", []),
        ('if talk and talk[0].role == "assistant":', []),
        ("if len(talk) > 20 and isinstance(talk[0], AIMessage):", ["error"]),
        ("if len(talk) > 20:", ["error"]),
    ],
)
def test_an_answer_that_a_cut_left_without_its_question_goes(cut: str, severities: list[str]) -> None:
    text = f"""
    from langchain_openai import ChatOpenAI
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
    class Clerk:
        def __init__(self):
            self.model = ChatOpenAI(model="gpt-4o")
            self.talk = []
        def ask(self, question):
            talk = self.talk
            talk.append(HumanMessage(question))
            {cut}
                talk.pop(0)
            answer = self.model.invoke([SystemMessage("{RULES}"), *talk])
            talk.append(answer)
            return answer.content
    """
    assert [severity for _, severity in told(text)] == severities


@pytest.mark.parametrize(
    ("folder", "severity"),
    [
        ("archive_desk", "warning"),
        ("_archived", "warning"),
        ("desk_backup_2024", "warning"),
        ("backups", "warning"),
        ("desk-old", "warning"),
        ("archives", "error"),
        ("golden", "error"),
        ("desk", "error"),
    ],
)
def test_what_was_put_away_is_asked_rarely(folder: str, severity: str) -> None:
    text = f"""
    from datetime import datetime
    from openai import OpenAI
    def ask(talk, question):
        system = f"It is {{datetime.now()}}. {RULES * 12}"
        messages = [{{"role": "system", "content": system}}, *talk, {{"role": "user", "content": question}}]
        return OpenAI().chat.completions.create(model="gpt-4o", messages=messages)
    """
    found = lint_text(dedent(text), f"{folder}/clerk.py", Settings(severity=Severity.WARNING)).findings
    assert [(finding.code, str(finding.severity)) for finding in found] == [("PC101", severity)]


@pytest.mark.parametrize(("most", "severity"), [(1, None), (2, "info"), (3, "error"), (12, "error")])
@pytest.mark.parametrize("name", ["clerk.py", "clerk.ts"])
def test_a_window_of_the_newest_exchange_holds_nothing_to_keep(
    name: str, most: int, severity: str | None
) -> None:
    text = {
        "clerk.py": f"""
        from openai import OpenAI
        class Clerk:
            def __init__(self):
                self.talk = []
            def ask(self, question):
                self.talk.append({{"role": "user", "content": question}})
                messages = [{{"role": "system", "content": "{RULES}"}}, *self.talk[-{most}:]]
                made = OpenAI().chat.completions.create(model="m", messages=messages).choices[0].message
                self.talk.append({{"role": "assistant", "content": made.content}})
                return made.content
        """,
        "clerk.ts": f"""
        import OpenAI from "openai";
        export class Clerk {{
          private talk: Message[] = [];
          async ask(question: string) {{
            this.talk.push({{ role: "user", content: question }});
            const messages = [{{ role: "system", content: "{RULES}" }}, ...this.talk.slice(-{most})];
            const made = await new OpenAI().chat.completions.create({{ model: "m", messages }});
            const text = made.choices[0].message.content;
            this.talk.push({{ role: "assistant", content: text }});
            return text;
          }}
        }}
        """,
    }[name]
    found = lint_text(dedent(text), name, Settings(severity=Severity.INFO)).findings
    told = [str(finding.severity) for finding in found if finding.code == "PC501"]
    assert told == ([] if severity is None else [severity])
