"""A conversation behind what is sent, as functions and classes write it out."""

# ruff: noqa: E501 - programs as people write them
from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_text

GROWS = {
    "kept by the object": """
from datetime import datetime
import anthropic
class SupportBot:
    def __init__(self):
        self.client = anthropic.Anthropic()
        self.messages = []
    def _system_prompt(self):
        return (
            "You are the support bot of Acme. Be brief and polite.\\n"
            f"The current time is {datetime.now().isoformat()}.\\n"
        )
    def ask(self, text):
        self.messages.append({"role": "user", "content": text})
        response = self.client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=1024,
            cache_control={"type": "ephemeral"},
            system=self._system_prompt(),
            messages=self.messages,
        )
        answer = response.content[0].text
        self.messages.append({"role": "assistant", "content": answer})
        return answer
""",
    "given back by a method": """
import time
from openai import OpenAI
client = OpenAI()
class Assistant:
    def __init__(self, name):
        self.name = name
        self.history = []
    def get_messages(self):
        system = f"You are {self.name}. Unix time: {int(time.time())}. Answer truthfully."
        return [{"role": "system", "content": system}] + self.history
    def send(self, text):
        self.history.append({"role": "user", "content": text})
        completion = client.chat.completions.create(model="gpt-4o", messages=self.get_messages())
        reply = completion.choices[0].message.content
        self.history.append({"role": "assistant", "content": reply})
        return reply
""",
    "looked up among others": """
import datetime
import discord
from openai import AsyncOpenAI
client = AsyncOpenAI()
bot = discord.Client(intents=discord.Intents.default())
histories: dict[int, list[dict]] = {}
@bot.event
async def on_message(message):
    if message.author == bot.user:
        return
    history = histories.setdefault(message.channel.id, [])
    history.append({"role": "user", "content": message.content})
    system_prompt = (
        f"You are Sparky, a witty Discord bot. The current time is {datetime.datetime.now().strftime('%c')}. "
        "Never use more than two sentences."
    )
    response = await client.chat.completions.create(
        model="gpt-4o-mini",
        messages=[{"role": "system", "content": system_prompt}] + history,
    )
    reply = response.choices[0].message.content
    history.append({"role": "assistant", "content": reply})
    await message.channel.send(reply)
""",
    "looked up and put back": """
from datetime import datetime
import anthropic
client = anthropic.Anthropic()
user_histories = {}
def handle(user_id, text):
    history = user_histories.get(user_id, [])
    history.append({"role": "user", "content": text})
    r = client.messages.create(model="claude-sonnet-4-5", max_tokens=9, cache_control={"type": "ephemeral"}, system=f"You are a clerk. It is {datetime.now()}.", messages=history)
    history.append({"role": "assistant", "content": r.content[0].text})
    user_histories[user_id] = history
    return r
""",
    "read from a database": """
import datetime
from flask import Flask, request, jsonify
from openai import OpenAI
from models import db, Message
app = Flask(__name__)
client = OpenAI()
@app.route("/api/chat", methods=["POST"])
def chat():
    data = request.get_json()
    conversation_id = data["conversation_id"]
    db.session.add(Message(conversation_id=conversation_id, role="user", content=data["message"]))
    rows = Message.query.filter_by(conversation_id=conversation_id).order_by(Message.id).all()
    messages = [{"role": "system", "content": f"You are Acme's assistant. It is now {datetime.datetime.now()}."}]
    for row in rows:
        messages.append({"role": row.role, "content": row.content})
    response = client.chat.completions.create(model="gpt-4o", messages=messages)
    answer = response.choices[0].message.content
    db.session.add(Message(conversation_id=conversation_id, role="assistant", content=answer))
    db.session.commit()
    return jsonify({"answer": answer})
""",
    "in a tool loop behind it": """
import json
from datetime import datetime
from openai import OpenAI
from tools import TOOLS, call_tool
client = OpenAI()
def run_turn(history, user_input):
    messages = [
        {"role": "system", "content": f"You are an agent with tools. Current time: {datetime.now():%Y-%m-%d %H:%M:%S}. Use them."},
        *history,
        {"role": "user", "content": user_input},
    ]
    while True:
        response = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS)
        message = response.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = call_tool(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
""",
    "that its rounds add to": """
from datetime import datetime
import anthropic
from tools import TOOLS, run_tool
client = anthropic.Anthropic()
def agent(task):
    messages = [{"role": "user", "content": task}]
    while True:
        system = f"You are an autonomous agent. Now: {datetime.now().isoformat()}. Work step by step until the task is done."
        response = client.messages.create(
            model="claude-sonnet-4-5", max_tokens=4096, cache_control={"type": "ephemeral"},
            system=system, tools=TOOLS, messages=messages,
        )
        messages.append({"role": "assistant", "content": response.content})
        if response.stop_reason != "tool_use":
            return response
        results = [
            {"type": "tool_result", "tool_use_id": b.id, "content": run_tool(b.name, b.input)}
            for b in response.content if b.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})
""",
    "behind a message of a library": """
from datetime import datetime
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
llm = ChatOpenAI(model="gpt-4o")
def answer(history, question):
    messages = [
        SystemMessage(content=f"You are a librarian. It is {datetime.now():%H:%M:%S}. Recommend books from the catalogue only."),
        *history,
        HumanMessage(content=question),
    ]
    result = llm.invoke(messages)
    history += [HumanMessage(content=question), AIMessage(content=result.content)]
    return result.content
""",
    "behind a placeholder": """
from datetime import datetime
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_openai import ChatOpenAI
prompt = ChatPromptTemplate.from_messages([
    ("system", "You are a clerk. The time is {now}. Answer from the handbook and nothing else."),
    MessagesPlaceholder("history"),
    ("human", "{question}"),
])
chain = prompt | ChatOpenAI(model="gpt-4o")
def ask(history, question):
    return chain.invoke({"now": datetime.now().isoformat(), "history": history, "question": question})
""",
    "put behind what is inserted": """
from datetime import datetime
from openai import OpenAI
client = OpenAI()
def complete(messages):
    messages = list(messages)
    messages.insert(0, {"role": "system", "content": f"Current time: {datetime.utcnow().isoformat()}Z. You are a helpful assistant."})
    return client.chat.completions.create(model="gpt-4o", messages=messages)
""",
}
DOES_NOT = {
    "that begins anew each time": """
from datetime import datetime
from openai import OpenAI
class Asker:
    def __init__(self):
        self.client = OpenAI()
        self.messages = []
    def _reset(self):
        self.messages = []
    def ask(self, text):
        self._reset()
        self.messages.append({"role": "user", "content": text})
        r = self.client.responses.create(model="gpt-5", instructions=f"You are a clerk. It is {datetime.now()}.", input=self.messages)
        self.messages.append({"role": "assistant", "content": r.output_text})
        return r.output_text
""",
    "that a task begins": """
from datetime import datetime
from openai import OpenAI
class Agent:
    def __init__(self):
        self.client = OpenAI()
        self.messages = []
    def run(self, task):
        self.messages = [{"role": "system", "content": f"You are an agent. Began {datetime.now()}."}, {"role": "user", "content": task}]
        while True:
            r = self.client.chat.completions.create(model="gpt-4o", messages=self.messages)
            self.messages.append(r.choices[0].message)
            if not r.choices[0].message.tool_calls:
                return r
""",
    "that a method begins": """
from datetime import datetime
from openai import OpenAI
class Agent:
    def __init__(self):
        self.client = OpenAI()
        self.messages = []
    def begin(self, topic):
        self.messages = [{"role": "system", "content": f"You are an agent for {topic}. Began {datetime.now()}."}]
        return self._send()
    def _send(self):
        r = self.client.chat.completions.create(model="gpt-4o", messages=self.messages)
        self.messages.append(r.choices[0].message)
        return r
    def say(self, text):
        self.messages.append({"role": "user", "content": text})
        return self._send()
""",
    "of questions only": """
from datetime import datetime
from openai import OpenAI
client = OpenAI()
cases = {}
def classify(case_id, text):
    rows = cases[case_id]
    rows.append({"role": "user", "content": text})
    return client.chat.completions.create(model="gpt-4o", messages=[{"role": "system", "content": f"Classify. {datetime.now()}"}] + rows)
""",
    "of documents": """
import uuid
from openai import OpenAI
client = OpenAI()
def extract(documents, previous_answer):
    messages = [{"role": "system", "content": f"Extract names. Batch {uuid.uuid4()}."}]
    for document in documents:
        messages.append({"role": "user", "content": document.text})
    return client.chat.completions.create(model="gpt-4o", messages=messages)
""",
    "of examples": """
from datetime import datetime
from openai import OpenAI
client = OpenAI()
def translate(text, example_messages):
    messages = [{"role": "system", "content": f"Translate. It is {datetime.now()}."}]
    messages.extend(example_messages)
    messages.append({"role": "user", "content": text})
    return client.chat.completions.create(model="gpt-4o", messages=messages)
""",
    "that is summed up": """
from datetime import datetime
from openai import OpenAI
client = OpenAI()
def summarize(history):
    messages = [{"role": "system", "content": f"Sum up the conversation below in one line. Now: {datetime.now()}."}]
    for m in history:
        messages.append({"role": m["role"], "content": m["content"]})
    return client.chat.completions.create(model="gpt-4o", messages=messages)
""",
    "that is judged": """
import uuid
from openai import OpenAI
client = OpenAI()
def judge(conversation):
    messages = [{"role": "system", "content": f"You judge conversations. Case {uuid.uuid4()}. Answer with a number."}]
    for turn in conversation:
        messages.append({"role": "user", "content": turn["text"]})
    return client.chat.completions.create(model="gpt-4o", messages=messages)
""",
    "in front of a note": """
from datetime import datetime
from openai import OpenAI
client = OpenAI()
SYSTEM = {"role": "system", "content": "You are a clerk."}
def turn(history, text):
    history.append({"role": "user", "content": text})
    note = {"role": "system", "content": f"It is {datetime.now()}."}
    r = client.chat.completions.create(model="gpt-4o", messages=[SYSTEM] + history + [note])
    history.append({"role": "assistant", "content": r.choices[0].message.content})
    return r
""",
    "in front of the rounds of a task": """
from datetime import datetime
import anthropic
client = anthropic.Anthropic()
def solve(task, tools):
    messages = [{"role": "user", "content": task}]
    system = f"You are an agent. Began {datetime.now()}."
    for _ in range(20):
        r = client.messages.create(model="claude-sonnet-4-5", max_tokens=9, system=system, tools=tools, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        if r.stop_reason == "end_turn":
            return r
""",
    "that is kept with its head": """
from datetime import datetime
from openai import OpenAI
client = OpenAI()
sessions = {}
def chat(session_id, text):
    history = sessions.setdefault(session_id, [{"role": "system", "content": f"You are a clerk. The talk began at {datetime.now()}."}])
    history.append({"role": "user", "content": text})
    r = client.chat.completions.create(model="gpt-4o", messages=history)
    history.append({"role": "assistant", "content": r.choices[0].message.content})
    return r
""",
    "of one talk": """
from datetime import datetime
from fastapi import FastAPI, WebSocket
from openai import AsyncOpenAI
app = FastAPI()
client = AsyncOpenAI()
@app.websocket("/ws")
async def talk(ws: WebSocket):
    await ws.accept()
    history = [{"role": "system", "content": f"You are a clerk. It is {datetime.now()}. Be polite."}]
    async for text in ws.iter_text():
        history.append({"role": "user", "content": text})
        r = await client.chat.completions.create(model="gpt-4o", messages=history)
        history.append({"role": "assistant", "content": r.choices[0].message.content})
        await ws.send_text(r.choices[0].message.content)
""",
    "with a head made once": """
from datetime import datetime
import anthropic
class Bot:
    def __init__(self, name):
        self.client = anthropic.Anthropic()
        self.system = f"You are {name}. It is {datetime.now()}."
        self.history = []
    def ask(self, text):
        self.history.append({"role": "user", "content": text})
        r = self.client.messages.create(model="claude-sonnet-4-5", max_tokens=9, system=self.system, messages=self.history)
        self.history.append({"role": "assistant", "content": r.content})
        return r
""",
}


def _severities(program: str) -> set[str]:
    found = lint_text(program, "clerk.py", Settings()).findings
    return {str(finding.severity) for finding in found if finding.code in {"PC101", "PC102"}}


@pytest.mark.parametrize("program", GROWS.values(), ids=GROWS)
def test_a_conversation_that_is_seen_to_grow_makes_an_error(program):
    assert "error" in _severities(program)


@pytest.mark.parametrize("program", DOES_NOT.values(), ids=DOES_NOT)
def test_one_that_may_not_makes_none(program):
    assert "error" not in _severities(program)


BETWEEN = """
from datetime import datetime
from openai import OpenAI
client = OpenAI()
NOTE = "Never promise a seat."
def ask(history, question, memories):
    LIST
    return client.chat.completions.create(model="m", messages=messages)
"""
SYSTEM = '{"role": "system", "content": f"You are a clerk. It is {datetime.now()}."}'
KNOWN = '{"role": "assistant", "content": f"What I know of this: {memories}"}'
NOTED = '{"role": "system", "content": NOTE}'


@pytest.mark.parametrize(
    ("made", "severity"),
    [
        (f"messages = [{SYSTEM}, *history, {KNOWN}]", "error"),
        (f"messages = [{SYSTEM}, {NOTED}, *history]", "error"),
        (f"messages = [{SYSTEM}, {KNOWN}, *history]", "warning"),
        (f"messages = [{SYSTEM}, *([{KNOWN}] if memories else []), *history]", "warning"),
        (f"messages = [{SYSTEM}, {KNOWN}] + history", "warning"),
        (f"messages = [{SYSTEM}, {NOTED}] + history", "error"),
        (f"messages = [{SYSTEM}]\n    messages.append({NOTED})\n    messages.extend(history)", "error"),
        (f"messages = [{SYSTEM}]\n    messages.append({KNOWN})\n    messages.extend(history)", "warning"),
        (f"messages = [{SYSTEM}]\n    messages += [{KNOWN}]\n    messages += history", "warning"),
    ],
)
def test_what_stands_between_a_clock_and_the_conversation(made, severity):
    found = lint_text(BETWEEN.replace("LIST", made), "clerk.py", Settings()).findings
    assert {str(each.severity) for each in found if each.code == "PC101"} == {severity}
