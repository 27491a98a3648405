"""How far a value is followed in Python: each snippet with the code and row at which it must be found."""

from __future__ import annotations

import pytest

FOUND = {
    "f-string format spec": (
        """
        from datetime import datetime
        def system_prompt():
            return f"You are a clerk. It is {datetime.now():%H:%M}. Be brief and polite."
        """,
        [("PC101", 3)],
    ),
    "date only is a warning of its own": (
        """
        from datetime import datetime
        def system_prompt():
            today = datetime.now().strftime("%Y-%m-%d")
            return f"You are a clerk. Today is {today}. Be brief and polite."
        """,
        [("PC109", 4)],
    ),
    "percent": (
        """
        import time
        SYSTEM = "You are a clerk of our company. Time: %s. Be brief."
        def build_system_prompt():
            return SYSTEM % time.time()
        """,
        [("PC101", 2)],
    ),
    "format with a name": (
        """
        import uuid
        TEMPLATE = '''You are a clerk.
        Session {tag}.
        Be brief and polite.'''
        def system_prompt():
            return TEMPLATE.format(tag=uuid.uuid4().hex)
        """,
        [("PC102", 3)],
    ),
    "string.Template": (
        """
        import uuid
        from string import Template
        TEMPLATE = Template("You are a clerk, request $rid. Be brief and polite.")
        def system_prompt():
            return TEMPLATE.substitute(rid=str(uuid.uuid4()))
        """,
        [("PC102", 3)],
    ),
    "replace by hand": (
        """
        import datetime
        def system_prompt(template):
            text = "You are a clerk. It is [[T]]. Be brief and polite."
            return text.replace("[[T]]", datetime.datetime.now().isoformat())
        """,
        [("PC101", 3)],
    ),
    "join of a list that grew": (
        """
        import time
        def system_prompt(rules):
            lines = ["You are a clerk of our company."]
            lines.append(f"Now: {time.ctime()}")
            for rule in rules:
                lines.append("- " + rule)
            return "\\n".join(lines)
        """,
        [("PC101", 4)],
    ),
    "augmented text": (
        """
        import socket
        def system_prompt():
            text = "You are a clerk of our company. "
            text += "Host: " + socket.gethostname()
            text += " Be brief."
            return text
        """,
        [("PC105", 4)],
    ),
    "helper three calls away": (
        """
        from datetime import datetime
        def stamp():
            return datetime.now().isoformat()
        def line():
            return "Time: " + stamp()
        def header():
            return line() + "\\n"
        def system_prompt():
            return header() + "You are a clerk of our company."
        """,
        [("PC101", 9)],
    ),
    "class attribute and property": (
        """
        import uuid
        class Agent:
            def __init__(self):
                self.run = uuid.uuid4()
            @property
            def tag(self):
                return f"[{self.run}]"
            def system_prompt(self):
                return f"{self.tag} You are a clerk of our company."
        """,
        [("PC102", 9)],
    ),
    "message dict in a call": (
        """
        import time
        def ask(client, question):
            return client.chat.completions.create(
                model="m",
                messages=[
                    {"role": "system", "content": f"Clerk. Now {time.time()}."},
                    {"role": "user", "content": question},
                ],
            )
        """,
        [("PC101", 6)],
    ),
    "earlier user message": (
        """
        import time
        def ask(client, question):
            return client.messages.create(
                model="m",
                system="You are a clerk.",
                messages=[
                    {"role": "user", "content": f"The shop opened at {time.time()}."},
                    {"role": "assistant", "content": "Understood."},
                    {"role": "user", "content": question},
                ],
            )
        """,
        [("PC101", 7)],
    ),
    "responses instructions": (
        """
        import datetime
        def ask(client, question):
            now = datetime.datetime.utcnow()
            return client.responses.create(model="m", instructions=f"Clerk at {now}.", input=question)
        """,
        [("PC101", 4)],
    ),
    "wrapper that sends": (
        """
        import time
        def complete(client, system, question):
            return client.messages.create(
                model="m", system=system, messages=[{"role": "user", "content": question}]
            )
        def answer(client, question):
            return complete(client, f"You are a clerk at {time.time()}.", question)
        """,
        [("PC101", 7)],
    ),
    "system blocks": (
        """
        import time
        def ask(client, question):
            return client.messages.create(
                model="m",
                system=[{"type": "text", "text": f"You are a clerk. {time.time()}"}],
                messages=[{"role": "user", "content": question}],
            )
        """,
        [("PC101", 5)],
    ),
    "LangChain": (
        """
        from datetime import datetime
        from langchain_core.messages import SystemMessage
        from langchain_core.prompts import ChatPromptTemplate
        def build():
            first = SystemMessage(content=f"Clerk, {datetime.now()}")
            return ChatPromptTemplate.from_messages(
                [("system", "You are a clerk. It is {current_time}."), ("human", "{question}")]
            )
        """,
        [("PC101", 5), ("PC101", 7)],
    ),
    "keyword of an agent": (
        """
        import os
        from agents import Agent
        def build():
            return Agent(name="clerk", instructions=f"You are a clerk in {os.getcwd()}. Be brief.")
        """,
        [("PC105", 4)],
    ),
    "partial": (
        """
        import functools
        import time
        def render(now, name):
            return f"You are {name}, a clerk of our company. Time {now}."
        def ask(client):
            build = functools.partial(render, time.time())
            return client.messages.create(system=build("Ada"), messages=[])
        """,
        [("PC101", 7)],
    ),
    "shuffled examples": (
        """
        import random
        EXAMPLES = ["a is b", "c is d", "e is f"]
        def prompt(question):
            shots = list(EXAMPLES)
            random.shuffle(shots)
            return "Answer like this.\\n" + "\\n".join(shots) + "\\nQ: " + question
        """,
        [("PC103", 6)],
    ),
    "set comprehension": (
        """
        def system_prompt(tools):
            names = {tool.name for tool in tools}
            return "You are a clerk. Tools: " + ", ".join(names) + ". Be brief."
        """,
        [("PC202", 3)],
    ),
    "loop over a listing": (
        """
        from pathlib import Path
        def system_prompt():
            text = "You are a clerk. Files:\\n"
            for path in Path("docs").iterdir():
                text += f"- {path.name}\\n"
            return text
        """,
        [("PC203", 5)],
    ),
    "json of a parameter": (
        """
        import json
        def system_prompt(catalogue):
            return f"You are a clerk. Goods: {json.dumps(catalogue)}. Be brief."
        """,
        [("PC201", 3)],
    ),
    "default repr": (
        """
        class Shop:
            pass
        def system_prompt():
            return f"You are a clerk of {Shop()}. Be brief and polite."
        """,
        [("PC106", 4)],
    ),
    "async": (
        """
        import time
        async def clock():
            return time.time()
        async def system_prompt():
            return f"You are a clerk. {await clock()} Be brief."
        """,
        [("PC101", 5)],
    ),
    "one branch only": (
        """
        import time
        def system_prompt(debug):
            text = "You are a clerk of our company."
            if debug:
                text = f"[{time.time()}] " + text
            return text
        """,
        [("PC101", 5)],
    ),
    "tool description": (
        """
        import time
        def ask(client, question):
            tools = [{"name": "t", "description": f"Goods as of {time.time()}", "input_schema": {}}]
            return client.messages.create(tools=tools, messages=[{"role": "user", "content": question}])
        """,
        [("PC101", 3)],
    ),
    "environment": (
        """
        import os
        def system_prompt():
            return f"You are a clerk on {os.environ['HOSTNAME']}. Be brief and polite."
        """,
        [("PC105", 3)],
    ),
    "non-ascii columns": (
        """
        import time
        def system_prompt():
            return f"Grüß Gott, du bist höflich. {time.time()} Sei kurz."
        """,
        [("PC101", 3)],
    ),
    "nested function": (
        """
        import time
        def make():
            def system_prompt():
                return f"You are a clerk. {time.time()} Be brief."
            return system_prompt
        """,
        [("PC101", 4)],
    ),
    "walrus and conditional expression": (
        """
        import uuid
        def system_prompt(flag):
            return "You are a clerk. " + (str(i) if (i := uuid.uuid4()) and flag else "none") + " Be brief."
        """,
        [("PC102", 3)],
    ),
}


@pytest.mark.parametrize(("text", "expected"), FOUND.values(), ids=FOUND)
def test_found(codes, text, expected):
    assert codes(text) == expected


SILENT = {
    "newest user message": """
        import time
        def turn(question):
            return {"role": "user", "content": f"{question} ({time.time()})"}
        """,
    "newest user message in a call": """
        import time
        def ask(client, question):
            return client.chat.completions.create(
                model="m",
                messages=[
                    {"role": "system", "content": "You are a clerk."},
                    {"role": "user", "content": f"{question} ({time.time()})"},
                ],
            )
        """,
    "logging and timers": """
        import logging, time
        def system_prompt(rules):
            start = time.perf_counter()
            text = "You are a clerk of our company. " + rules
            logging.info("built the prompt at %s in %.3f s", time.time(), time.perf_counter() - start)
            return text
        """,
    "file names": """
        from datetime import datetime
        def save_prompt(prompt):
            path = f"prompt-{datetime.now():%Y%m%d-%H%M%S}-of-the-day.txt"
            open(path, "w").write(prompt)
        """,
    "written dates and ids": """
        SYSTEM_PROMPT = '''You are a clerk. Prices as of 2024-05-01T00:00:00Z.
        A timestamp looks like 2023-01-01, a uuid like 3f2b8a10-5c1d-4e77-9a55-0d6c1b2f9e31. Version 1.2.3.'''
        """,
    "fixed clock": """
        from datetime import datetime
        LAUNCH = datetime(2024, 1, 1)
        def system_prompt():
            return f"You are a clerk. We opened in {LAUNCH:%Y-%m-%d}. Be brief."
        """,
    "sorted set": """
        def system_prompt(tools):
            return "You are a clerk. Tools: " + ", ".join(sorted({t.name for t in tools})) + ". Be brief."
        """,
    "sorted in place": """
        import os
        def system_prompt():
            names = os.listdir("docs")
            names.sort()
            return "You are a clerk. Files: " + ", ".join(names) + ". Be brief."
        """,
    "length of a set": """
        def system_prompt():
            return f"You are a clerk with {len({'a', 'b'})} tools. Be brief."
        """,
    "membership in a set": """
        def system_prompt(name):
            mood = "kind" if name in {"a", "b"} else "stern"
            return f"You are a {mood} clerk of our company."
        """,
    "json with sorted keys": """
        import json
        def system_prompt(goods):
            return "You are a clerk. " + json.dumps(goods, sort_keys=True) + " Be brief."
        """,
    "json of a literal": """
        import json
        SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
        def system_prompt():
            return "You are a clerk. " + json.dumps(SCHEMA) + " Be brief."
        """,
    "json of a model's schema": """
        import json
        def system_prompt(model):
            return "You are a clerk. " + json.dumps(model.model_json_schema()) + " Be brief."
        """,
    "seeded draw": """
        import random
        def prompt(question):
            shots = random.Random(3).sample(["a", "b", "c"], 2)
            return "Answer like this.\\n" + "\\n".join(shots) + "\\nQ: " + question
        """,
    "seeded module": """
        import random
        def prompt(question):
            random.seed(0)
            shots = random.sample(["a", "b", "c"], 2)
            return "Answer like this.\\n" + "\\n".join(shots) + "\\nQ: " + question
        """,
    "name-based uuid": """
        import uuid
        def system_prompt():
            return f"You are the clerk {uuid.uuid5(uuid.NAMESPACE_DNS, 'shop')}. Be brief."
        """,
    "id in metadata": """
        import uuid
        def ask(client, question):
            rid = str(uuid.uuid4())
            return client.messages.create(
                model="m",
                system="You are a clerk.",
                metadata={"user_id": rid},
                extra_headers={"x-request-id": rid},
                messages=[{"role": "user", "content": question}],
            )
        """,
    "comparison only": """
        from datetime import datetime
        def system_prompt():
            greeting = "Good morning" if datetime.now().hour < 12 else "Good day"
            return "You are a clerk of our company. Be brief and polite."
        """,
    "year of the copyright": """
        from datetime import datetime
        def system_prompt():
            return f"You are a clerk of our company, (c) {datetime.now():%Y}. Be brief."
        """,
    "report with a heading": """
        from datetime import datetime
        def write_report(rows):
            return f"# Report\\nGenerated {datetime.now()}\\n" + "\\n".join(rows)
        """,
    "http body that is no prompt": """
        import time, requests
        def send(value):
            return requests.post("http://x", json={"role": "admin", "time": time.time(), "content": value})
        """,
    "clock at the tail of a prompt of unknown role": """
        import time
        def prompt(question):
            return f"Answer with a number. Q: {question} Time: {time.time()}"
        """,
    "shell prompt": """
        from datetime import datetime
        def loop():
            prompt = f"{datetime.now():%H:%M} > "
            return input(prompt)
        """,
    "file read from an absolute path": """
        import os
        HERE = os.path.dirname(os.path.abspath(__file__))
        def system_prompt():
            with open(os.path.join(HERE, "prompt.md")) as file:
                return "You are a clerk of our company. " + file.read()
        """,
    "path read with pathlib": """
        from pathlib import Path
        def system_prompt():
            rules = (Path.cwd() / "rules.md").read_text()
            return "You are a clerk of our company. " + rules
        """,
    "deployment's configuration": """
        import os
        def system_prompt():
            return f"You are a clerk of {os.environ['COMPANY']}. Be brief and polite."
        """,
    "user data last": """
        def system_prompt(user_name):
            return f"You are a clerk of our company. Be brief and polite. The customer is {user_name}."
        """,
    "history appended": """
        import time
        def run(client, history, question):
            history.append({"role": "user", "content": f"{question} at {time.time()}"})
            return client.messages.create(system="You are a clerk.", messages=history)
        """,
    "numbers only": """
        def system_prompt():
            return "You are a clerk. Choose from " + str(set([1, 2, 3])) + ". Be brief."
        """,
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_silent(codes, text):
    assert codes(text) == []
