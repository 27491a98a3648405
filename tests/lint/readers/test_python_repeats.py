"""What comes again, and what does not: histories that are cut far, edited calls, files that are looked up."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, Severity, lint_text

TRIM = """
class Chat:
    def __init__(self, client):
        self.client = client
        self.messages = []

    def say(self, text):
        self.messages.append({{"role": "user", "content": text}})
        {cut}
        return self.client.chat.completions.create(model="m", messages=self.messages)
"""
RARELY = "each time it does"
ALWAYS = "from then on every turn"


@pytest.mark.parametrize(
    ("cut", "severity", "says"),
    [
        ("self.messages = self.messages[-40:]", Severity.ERROR, ALWAYS),
        ("if len(self.messages) > 40: self.messages = self.messages[-40:]", Severity.ERROR, ALWAYS),
        ("if len(self.messages) > 40: self.messages = self.messages[-39:]", Severity.ERROR, ALWAYS),
        ("if len(self.messages) > 40: self.messages = self.messages[-10:]", Severity.INFO, RARELY),
        (
            "if len(self.messages) > self.n: self.messages = self.messages[-(self.n // 2):]",
            Severity.INFO,
            RARELY,
        ),
        ("if len(self.messages) > self.n: self.messages = self.messages[-self.n:]", Severity.WARNING, ALWAYS),
        ("if len(text) > 40: self.messages = self.messages[-10:]", Severity.ERROR, ALWAYS),
    ],
)
def test_a_history_that_is_cut_far_is_cut_rarely(cut, severity, says):
    report = lint_text(TRIM.format(cut=cut), "chat.py", Settings(severity=Severity.INFO))
    assert [(finding.code, finding.severity) for finding in report.findings] == [("PC501", severity)]
    assert says in report.findings[0].message


@pytest.mark.parametrize(
    ("use", "severity"),
    [
        ("messages = trim_messages(messages, max_tokens=900)", Severity.ERROR),
        ("messages = self.store.trim_messages(messages)", Severity.WARNING),
        ("self.store.trim_messages(12)", None),
    ],
)
def test_trim_messages_is_the_libraries_where_its_result_is_taken(use, severity):
    text = f"""
from langchain_core.messages import trim_messages
def ask(self, model, messages):
    {use}
    return {{"messages": [model.invoke(messages)]}}
"""
    found = [finding.severity for finding in lint_text(text, "chat.py", Settings()).findings]
    assert found == ([] if severity is None else [severity])


@pytest.mark.parametrize(("runs", "expected"), [(3, ["PC501"]), (49, ["PC501"]), (100, [])])
def test_a_window_that_hardly_any_conversation_fills(codes, runs, expected):
    text = f"""
from agno.agent import Agent
agent = Agent(model="m", add_history_to_context=True, num_history_runs={runs})
"""
    assert [code for code, _ in codes(text)] == expected


@pytest.mark.parametrize(("edit", "expected"), [("pass", ["PC507"]), ("args['text'] = text", [])])
def test_arguments_that_were_changed_on_purpose_are_no_other_spelling(codes, edit, expected):
    text = f"""
import json
def rewrite(messages, call, text):
    args = json.loads(call["function"]["arguments"])
    {edit}
    call["function"]["arguments"] = json.dumps(args)
    messages.append({{"role": "assistant", "tool_calls": [call]}})
"""
    assert [code for code, _ in codes(text)] == expected


@pytest.mark.parametrize(
    ("arguments", "expected"), [("json.dumps(call.arguments)", ["PC507"]), ("call.arguments", [])]
)
def test_calls_that_get_a_name_before_they_are_sent_back(codes, arguments, expected):
    text = f"""
import json
def keep(messages, answer):
    calls = [
        {{"id": call.id, "type": "function", "function": {{"name": call.name, "arguments": {arguments}}}}}
        for call in answer.calls
    ]
    messages.append({{"role": "assistant", "content": answer.content, "tool_calls": calls}})
"""
    assert [code for code, _ in codes(text)] == expected


LOOKUP = """
import os
def persona(name):
    for file in os.listdir("personas"):
        {test}
            return open(file).read()
def system_prompt(name):
    return f"You are {{persona(name)}}. Answer politely, name the pier, and never promise a seat to anybody."
"""


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("if os.path.basename(file) == name:", []),
        ("if file.endswith('.txt'):", ["PC203"]),
    ],
)
def test_a_file_that_is_looked_up_by_its_name_has_no_order(codes, test, expected):
    assert [code for code, _ in codes(LOOKUP.format(test=test))] == expected


TAIL = """
from datetime import datetime
def ask(client, history, question):
    now = {{"role": "user", "content": f"It is {{datetime.now()}}. You should pay attention to who speaks."}}
    messages = {messages}
    return client.chat.completions.create(model="m", messages=messages)
"""
SYSTEM = '{"role": "system", "content": "You are a clerk."}'
QUESTION = '{"role": "user", "content": question}'
ANSWER = '{"role": "assistant", "content": "Yes."}'


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (f"[{SYSTEM}, *history, now, {QUESTION}]", []),
        (f"[{SYSTEM}, now, *history, {QUESTION}]", ["PC101"]),
        (f"[{SYSTEM}, *history, now, {ANSWER}, {QUESTION}]", ["PC101"]),
        (f"[{SYSTEM}, now, {QUESTION}]", ["PC101"]),
    ],
)
def test_messages_between_the_history_and_the_question_are_new_in_any_case(codes, messages, expected):
    assert [code for code, _ in codes(TAIL.format(messages=messages))] == expected


@pytest.mark.parametrize(
    ("said", "severity"),
    [("{uuid.uuid4()}", Severity.INFO), ("{uuid.uuid4()} is the number of the parcel.", Severity.WARNING)],
)
def test_an_id_with_nothing_behind_it_may_be_stored_with_its_message(said, severity):
    text = f"""
import uuid
def ask(client, question):
    messages = [
        {{"role": "system", "content": "You are a clerk."}},
        {{"role": "user", "content": f"{said}"}},
        {{"role": "assistant", "content": ""}},
        {{"role": "user", "content": question}},
    ]
    return client.chat.completions.create(model="m", messages=messages)
"""
    report = lint_text(text, "chat.py", Settings(severity=Severity.INFO))
    assert [(finding.code, finding.severity) for finding in report.findings] == [("PC102", severity)]
