"""How grave a finding is: an error where place, value and cost are certain, else a warning or information."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from promptcache_lint import Settings, Severity, lint_paths, lint_text

RULES = (
    "You are the clerk of a ferry line. Answer politely, in the language of the question. Name the pier, "
    "the deck and the time of departure. Never promise a seat. Say so when you do not know."
)

ASK = """
        from openai import OpenAI
        def ask(talk, question):
            messages = [{"role": "system", "content": system_prompt()}, *talk,
                        {"role": "user", "content": question}]
            return OpenAI().chat.completions.create(model="m", messages=messages)
"""

GRAVE = {
    "the clock in a system prompt of a conversation": (
        "PC101",
        "error",
        f"""
        from datetime import datetime
        def system_prompt():
            return "{RULES} It is " + datetime.now().isoformat()
        {ASK}
        """,
    ),
    "the clock in front of much text, in one question": (
        "PC101",
        "error",
        f"""
        from datetime import datetime
        def system_prompt():
            return f"It is {{datetime.now()}}. {RULES * 24}"
        {ASK.replace("*talk,", "")}
        """,
    ),
    "the clock in front of text that its provider never caches, in one question": (
        "PC101",
        "warning",
        f"""
        from datetime import datetime
        def system_prompt():
            return f"It is {{datetime.now()}}. {RULES * 18}"
        {ASK.replace("*talk,", "")}
        """,
    ),
    "the clock in front of little text, in one question": (
        "PC101",
        "warning",
        f"""
        from datetime import datetime
        def system_prompt():
            return f"It is {{datetime.now()}}. {RULES}"
        {ASK.replace("*talk,", "")}
        """,
    ),
    "the clock in what only a name calls a system prompt": (
        "PC101",
        "warning",
        f"""
        from datetime import datetime
        def system_prompt():
            return f"It is {{datetime.now()}}. {RULES} {RULES} {RULES}"
        """,
    ),
    "the clock in the message that opens a conversation": (
        "PC101",
        "warning",
        f"""
        from datetime import datetime
        from openai import OpenAI
        class Talk:
            def open(self):
                self.messages = [
                    {{"role": "system", "content": f"It is {{datetime.now()}}. {RULES} {RULES} {RULES}"}},
                    {{"role": "assistant", "content": "Good day."}}]
            def ask(self):
                return OpenAI().chat.completions.create(model="m", messages=self.messages)
        """,
    ),
    "the clock in the first message, where there is none yet": (
        "PC101",
        "warning",
        f"""
        from datetime import datetime
        from openai import OpenAI
        def ask(talk):
            if not talk:
                text = f"It is {{datetime.now()}}. {RULES} {RULES} {RULES}"
                talk.append({{"role": "system", "content": text}})
            return OpenAI().chat.completions.create(model="m", messages=talk)
        """,
    ),
    "the clock in what an agent is made with": (
        "PC101",
        "warning",
        f"""
        from datetime import datetime
        from agents import Agent
        def support(model):
            text = f"It is {{datetime.now()}}. {RULES} {RULES} {RULES}"
            return Agent(name="a", model=model, instructions=text)
        """,
    ),
    "the clock in front of the loop in which a person is asked": (
        "PC101",
        "warning",
        f"""
        from datetime import datetime
        from openai import OpenAI
        def talk(model):
            messages = [{{"role": "system", "content": f"It is {{datetime.now()}}. {RULES} {RULES} {RULES}"}}]
            while question := input():
                messages.append({{"role": "user", "content": question}})
                OpenAI().chat.completions.create(model=model, messages=messages)
        """,
    ),
    "the clock in front of an agent's steps, and of little text": (
        "PC101",
        "warning",
        f"""
        from datetime import datetime
        from openai import OpenAI
        def work(model, talk):
            rules = f"It is {{datetime.now()}}. {RULES}"
            while not talk.done:
                messages = [{{"role": "system", "content": rules}}, *talk]
                OpenAI().chat.completions.create(model=model, messages=messages)
        """,
    ),
    "the clock in each of an agent's steps": (
        "PC101",
        "error",
        f"""
        from datetime import datetime
        from openai import OpenAI
        def work(model, talk):
            while not talk.done:
                rules = f"It is {{datetime.now()}}. {RULES}"
                messages = [{{"role": "system", "content": rules}}, *talk]
                OpenAI().chat.completions.create(model=model, messages=messages)
        """,
    ),
    "the clock in a script": (
        "PC101",
        "warning",
        f"""
        from datetime import datetime
        from openai import OpenAI
        def main():
            messages = [
                {{"role": "system", "content": f"It is {{datetime.now()}}. {RULES} {RULES} {RULES}"}},
                {{"role": "user", "content": "Which pier?"}}]
            return OpenAI().chat.completions.create(model="m", messages=messages)
        """,
    ),
    "a plain name in a system prompt": (
        "PC101",
        "warning",
        f"""
        def system_prompt(current_time):
            return f"{RULES} It is {{current_time}}."
        """,
    ),
    "the clock in the first message, in front of the rules": (
        "PC101",
        "error",
        f"""
        import time
        from openai import OpenAI
        def ask(history):
            messages = [{{"role": "user", "content": f"{{time.time()}} {RULES}"}}, *history,
                        {{"role": "user", "content": "Go on."}}]
            return OpenAI().chat.completions.create(model="m", messages=messages)
        """,
    ),
    "the clock where nothing says the role": (
        "PC101",
        "warning",
        f"""
        import time
        def build_prompt(question):
            return f"{{time.time()}} Read this. {RULES} {{question}}"
        """,
    ),
    "the clock in a later message": (
        "PC101",
        "warning",
        f"""
        import time
        from openai import OpenAI
        def ask(history, question):
            messages = [{{"role": "system", "content": "{RULES}"}},
                        {{"role": "user", "content": f"{{time.time()}} {RULES}"}}, *history,
                        {{"role": "user", "content": question}}]
            return OpenAI().chat.completions.create(model="m", messages=messages)
        """,
    ),
    "an id that is drawn": (
        "PC102",
        "error",
        f"""
        import uuid
        def system_prompt():
            return f"{RULES} Reference {{uuid.uuid4()}}."
        {ASK}
        """,
    ),
    "an id by its name only": (
        "PC102",
        "warning",
        f"""
        def system_prompt(request_id):
            return f"{RULES} Reference {{request_id}}."
        """,
    ),
    "a counter by its name, in a message that is kept": (
        "PC107",
        "info",
        f"""
        from openai import OpenAI
        def ask(thread, question):
            messages = [{{"role": "system", "content": "{RULES}"}},
                        {{"role": "user", "content": f"Thread of {{thread.step_count}} steps. {RULES}"}},
                        {{"role": "assistant", "content": "Noted."}},
                        {{"role": "user", "content": question}}]
            return OpenAI().chat.completions.create(model="m", messages=messages)
        """,
    ),
    "a number drawn by lot": (
        "PC103",
        "error",
        f"""
        import random
        def system_prompt():
            return f"{RULES} Lucky number {{random.randint(1, 90)}}."
        {ASK}
        """,
    ),
    "one of several lines": (
        "PC103",
        "warning",
        f"""
        import random
        def system_prompt(tips):
            return f"{RULES} {{random.choice(tips)}}"
        """,
    ),
    "what the prompt is about, picked by lot": (
        "PC103",
        "info",
        """
        import random
        def build_prompt(towns):
            return f"Write about {random.choice(towns)} in ten lines."
        """,
    ),
    "JSON of what the turn is about": (
        "PC201",
        "info",
        f"""
        import json
        def system_prompt(batch):
            return "{RULES} Rate these: " + json.dumps(batch)
        """,
    ),
    "JSON of settings": (
        "PC201",
        "warning",
        f"""
        import json
        def system_prompt(house):
            return "{RULES} The house: " + json.dumps(house)
        """,
    ),
}


@pytest.mark.parametrize(("code", "severity", "text"), GRAVE.values(), ids=GRAVE)
def test_severity(code, severity, text):
    report = lint_text(dedent(text), "prompt.py", Settings(severity=Severity.INFO))
    found = [
        (finding.code, str(finding.severity)) for finding in report.findings if finding.code[:3] != "PC6"
    ]
    assert found == [(code, severity)]


@pytest.mark.parametrize(("ask", "severity"), [(ASK.replace("*talk,", ""), "warning"), (ASK, "error")])
def test_in_one_request_nothing_is_lost_behind_what_is_drawn_for_it(ask, severity):
    text = f"""
        import random
        from datetime import datetime
        def system_prompt():
            return f"It is {{datetime.now()}}. Topic: {{random.choice(TOPICS)}}. {RULES} {RULES} {RULES}"
        {ask}
        """
    found = {finding.code: str(finding.severity) for finding in lint_text(dedent(text), "prompt.py").findings}
    assert found == {"PC101": severity, "PC103": "warning"}


def test_a_request_as_it_was_sent_needs_no_role():
    text = (
        '{"model": "m", "messages": [{"role": "user", "content": "It is {now}. Read the rules."}, '
        '{"role": "user", "content": "Go on."}]}'
    )
    report = lint_text(text, "request.json", Settings())
    assert [(finding.code, str(finding.severity)) for finding in report.findings] == [("PC101", "error")]


@pytest.mark.parametrize(
    ("made", "used", "severity"),
    [("uuid.uuid4()", "self.id", "warning"), ("7", "uuid.uuid4()", "error")],
)
def test_an_id_that_an_object_is_made_with_holds_as_long_as_the_object(made, used, severity):
    text = f"""
import uuid
class Agent:
    def __init__(self):
        self.id = str({made})

    def get_system_prompt(self):
        return f"{RULES} Your id is {{{used}}}. Use it whenever you are asked who you are."

    def ask(self, client, talk):
        messages = [{{"role": "system", "content": self.get_system_prompt()}}, *talk]
        return client.chat.completions.create(model="m", messages=messages)
"""
    found = lint_text(text, "agent.py", Settings()).findings
    assert [(finding.code, str(finding.severity)) for finding in found] == [("PC102", severity)]


NOTICE = (
    "Job {{jobId}} has completed, at {{current_time}}. Resume your work with the result, name the pier and "
    "deck, never promise a seat to anybody, say so when you do not know what is wanted of you.\n"
)


@pytest.mark.parametrize(
    ("name", "severity"),
    [("system_prompt.md", "error"), ("async-result.md", "warning"), ("job.txt", "warning")],
)
def test_a_file_whose_name_says_no_role_is_no_certain_system_prompt(name, severity):
    found = {
        (finding.code, str(finding.severity)) for finding in lint_text(NOTICE, name, Settings()).findings
    }
    assert found == {("PC101", severity), ("PC102", severity)}


def test_a_cut_after_something_has_failed_is_no_error():
    text = """
    from openai import OpenAI
    class Chat:
        def ask(self):
            try:
                self.compact()
            except ValueError:
                self.messages = self.messages[-10:]
            return OpenAI().chat.completions.create(model="m", messages=self.messages)
    """
    found = [str(finding.severity) for finding in lint_text(dedent(text), "chat.py", Settings()).findings]
    assert found == ["warning"]


@pytest.mark.parametrize(
    ("given", "written", "severity"),
    [
        ("question", 'f"You are a clerk. It is about {question}."', "error"),
        ("question", 'self.messages[0]["content"] + NOTE', "error"),
        ("question", "self.rendered(question)", "error"),
        ("question, values=None", "self.rendered(values)", "warning"),
        ("question", "self.rendered()", "warning"),
    ],
)
def test_a_system_prompt_that_is_written_anew_must_be_seen_to_change(given, written, severity):
    text = f"""
    from openai import OpenAI
    NOTE = "Be brief."
    class Chat:
        def ask(self, {given}):
            if self.messages:
                self.messages[0]["content"] = {written}
            self.messages.append({{"role": "user", "content": question}})
            return OpenAI().chat.completions.create(model="m", messages=self.messages)
    """
    found = lint_text(dedent(text), "chat.py", Settings()).findings
    assert [(finding.code, str(finding.severity)) for finding in found] == [("PC403", severity)]


BODIES = {
    "a body of Anthropic's, for Bedrock": (
        "PC102",
        """
        import json, uuid
        def ask(client, messages):
            body = json.dumps({"anthropic_version": "bedrock-2023-05-31", "system": f"{uuid.uuid4()} {RULES}",
                               "messages": messages})
            return client.invoke_model(modelId="m", body=body)
        """,
    ),
    "a body of Gemini's": (
        "PC101",
        """
        import requests, time
        def ask(contents):
            system = {"parts": [{"text": f"It is {time.time()}. {RULES}"}]}
            options = {"temperature": 0}
            body = {"system_instruction": system, "contents": contents, "generationConfig": options}
            return requests.post("https://generativelanguage.googleapis.com/m:generateContent", json=body)
        """,
    ),
    "options of one request to Gemini": (
        "PC101",
        """
        from google import genai
        import time
        def ask(client, contents):
            config = genai.types.GenerateContentConfig(system_instruction=f"It is {time.time()}. " + RULES)
            return client.models.generate_content(model="m", contents=contents, config=config)
        """,
    ),
    "an id that a field's factory makes": (
        "PC102",
        """
        import dataclasses, uuid
        from openai import OpenAI
        @dataclasses.dataclass
        class Asked:
            text: str
            key: str = dataclasses.field(default_factory=lambda: uuid.uuid4().hex)
            notes: list = dataclasses.field(default_factory=list)
        def ask(talk, text):
            asked = Asked(text)
            messages = [{"role": "system", "content": f"{asked.key} {RULES}"}, *talk]
            return OpenAI().chat.completions.create(model="m", messages=messages)
        """,
    ),
}


@pytest.mark.parametrize(("code", "text"), BODIES.values(), ids=BODIES)
def test_what_goes_with_one_request_is_proven(code, text):
    written = f"RULES = '{RULES * 24}'\n{dedent(text)}"
    found = lint_text(written, "agent.py", Settings()).findings
    assert [(finding.code, str(finding.severity)) for finding in found] == [(code, "error")]


@pytest.mark.parametrize(
    "row",
    [
        'return {"system": f"It is {time.time()}. {RULES}", "messages": messages}',
        'return {"model": "m", "system": f"It is {time.time()}. {RULES}"}',
        'return {"model": "m", "system": time.time(), "messages": messages}',
    ],
)
def test_what_lacks_a_part_of_a_body_is_none(row):
    text = f"import time\nRULES = '{RULES} {RULES} {RULES}'\ndef record(messages):\n    {row}\n"
    assert not lint_text(text, "agent.py", Settings()).findings


@pytest.mark.parametrize(
    ("made_in", "severity"), [("async def initialize", "warning"), ("def ask_again", "error")]
)
def test_a_prompt_that_is_made_when_an_object_is_set_up_holds(made_in, severity):
    text = f"""
    from datetime import datetime
    from openai import OpenAI
    class Clerk:
        {made_in}(self):
            self.rules = f"It is {{datetime.now()}}. {RULES}"
        async def ask(self, talk):
            await self.{made_in.rpartition(" ")[2]}()
            messages = [{{"role": "system", "content": self.rules + self.found()}}, *talk]
            return OpenAI().chat.completions.create(model="m", messages=messages)
    """
    found = lint_text(dedent(text), "clerk.py", Settings()).findings
    assert [(finding.code, str(finding.severity)) for finding in found] == [("PC101", severity)]


@pytest.mark.parametrize(("kept", "severity"), [(20, "info"), (38, "error")])
def test_a_cut_to_half_is_made_rarely(kept, severity):
    text = f"""
    from openai import OpenAI
    class Chat:
        def ask(self, question):
            self.history.append({{"role": "user", "content": question}})
            if len(self.history) > 40:
                keep = {kept}
                while is_result(self.history[-keep]):
                    keep += 1
                keep = min(keep, len(self.history))
                self.history = self.history[-keep:]
            return OpenAI().chat.completions.create(model="m", messages=self.history)
    """
    found = lint_text(dedent(text), "chat.py", Settings(severity=Severity.INFO)).findings
    assert [(finding.code, str(finding.severity)) for finding in found] == [("PC501", severity)]


@pytest.mark.parametrize(
    ("name", "between", "severity"),
    [
        ("prompt.py", "", "info"),
        ("prompt.py", RULES + RULES, "warning"),
        ("prompt.ts", "", "info"),
        ("prompt.ts", RULES + RULES, "warning"),
    ],
)
def test_a_clock_in_the_message_of_the_turn_is_new_with_it(name, between, severity):
    text = {
        "prompt.py": f"""
            import datetime, openai
            def build_agent_prompt(message):
                return f"<time>{{datetime.datetime.now()}}</time> {between} <of>{{message}}</of> Be kind."
            """,
        "prompt.ts": f"""
            import OpenAI from "openai";
            export function buildAgentPrompt(message: string) {{
              return `<time>${{new Date().toISOString()}}</time> {between} <of>${{message}}</of> Be kind.`;
            }}
            """,
    }[name]
    found = lint_text(dedent(text), name, Settings(severity=Severity.INFO)).findings
    assert [str(finding.severity) for finding in found if finding.code == "PC101"] == [severity]


@pytest.mark.parametrize(("most", "severity"), [(50, "info"), (20, "error")])
def test_a_window_of_a_long_conversation_is_filled_rarely(most, severity):
    text = f"""
    from openai import OpenAI
    def ask(question, talk):
        talk.append({{"role": "user", "content": question}})
        MOST = {most}
        if len(talk) > MOST:
            talk = [RULES] + talk[-(MOST - 1):]
        return OpenAI().chat.completions.create(model="m", messages=talk)
    """
    found = lint_text(dedent(text), "chat.py", Settings(severity=Severity.INFO)).findings
    assert [(finding.code, str(finding.severity)) for finding in found] == [("PC501", severity)]


@pytest.mark.parametrize(
    ("made_in", "severity"), [("async def initialize", "warning"), ("def renew", "error")]
)
def test_what_an_object_is_set_up_with_holds_where_it_is_set_up(made_in, severity):
    text = f"""
    from datetime import datetime
    from openai import OpenAI
    class Clerk:
        {made_in}(self):
            self.rules = f"It is {{datetime.now()}}. {RULES} {RULES} {RULES}"
    async def ask(talk):
        clerk = Clerk()
        await clerk.{made_in.rpartition(" ")[2]}()
        messages = [{{"role": "system", "content": clerk.rules + house_rules()}}, *talk]
        return OpenAI().chat.completions.create(model="m", messages=messages)
    """
    found = lint_text(dedent(text), "clerk.py", Settings()).findings
    assert [(finding.code, str(finding.severity)) for finding in found] == [("PC101", severity)]


def test_one_fault_of_two_callers_is_one_error_where_only_errors_are_wanted(tmp_path):
    (tmp_path / "base.py").write_text(
        f"from datetime import datetime\nRULES = '{RULES} {RULES} {RULES}'\n"
        'def build_system(role):\n    return f"It is {datetime.now()}. {RULES} {role}"\n'
    )
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(
            "from openai import OpenAI\nfrom base import build_system\n"
            f'def ask_{name}(talk):\n    system = build_system("You are {name}.")\n'
            '    messages = [{"role": "system", "content": system}, *talk]\n'
            '    return OpenAI().chat.completions.create(model="m", messages=messages)\n'
        )
    found = lint_paths([tmp_path], Settings(severity=Severity.ERROR)).findings
    assert [(Path(finding.place.path).name, finding.place.row) for finding in found] == [("base.py", 4)]


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("https://api.openai.com/v1/responses", True),
        ("https://api.openai.com/v1/realtime/sessions", False),
        ("/v1/realtime/client_secrets", False),
    ],
)
@pytest.mark.parametrize("name", ["voice.py", "voice.ts"])
def test_what_opens_a_spoken_conversation_holds_for_its_turns(name, address, error):
    text = {
        "voice.py": f"""
        import httpx
        from datetime import datetime
        def speak(talk):
            rules = f"It is {{datetime.now()}}. {RULES * 30}"
            return httpx.post("{address}", json={{"model": "m", "instructions": rules, "input": talk}})
        """,
        "voice.ts": f"""
        export async function speak(request: Request) {{
          const rules = `It is ${{new Date().toISOString()}}. {RULES * 30}`;
          return fetch("{address}", {{
            method: "POST",
            body: JSON.stringify({{ model: "m", instructions: rules }}),
          }});
        }}
        """,
    }[name]
    found = lint_text(dedent(text), name, Settings(severity=Severity.ERROR)).findings
    assert bool(found) is error


@pytest.mark.parametrize(
    ("made", "severity"),
    [("AgentNode", "warning"), ("crews.SubAgent", "warning"), ("ChatRequest", "error"), ("send", "error")],
)
def test_messages_that_an_agent_is_made_with_are_kept(made, severity):
    text = f"""
    from datetime import datetime
    from openai import OpenAI
    def delegate(task):
        rules = f"It is {{datetime.now()}}. {RULES * 30}"
        first = {{"role": "user", "content": task}}
        talk = {made}(messages=[{{"role": "system", "content": rules}}, first])
        return OpenAI().chat.completions.create(model="m", messages=talk.messages)
    """
    found = lint_text(dedent(text), "agent.py", Settings()).findings
    assert [(finding.code, str(finding.severity)) for finding in found] == [("PC101", severity)]


@pytest.mark.parametrize(("made", "severity"), [("ClerkAgent", "warning"), ("Request", "error")])
def test_messages_that_an_agent_is_made_with_are_kept_until_it_asks(made, severity):
    text = f"""
    from datetime import datetime
    from openai import OpenAI
    class {made}:
        def __init__(self, messages):
            self.messages = messages
        def send(self, talk):
            return OpenAI().chat.completions.create(model="m", messages=self.messages + talk)
    def ask(talk):
        rules = f"It is {{datetime.now()}}. {RULES * 30}"
        made = {made}([{{"role": "system", "content": rules}}])
        return made.send(talk)
    """
    found = lint_text(dedent(text), "agent.py", Settings()).findings
    assert [(finding.code, str(finding.severity)) for finding in found] == [("PC101", severity)]
