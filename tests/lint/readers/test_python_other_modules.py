"""Conversations that pass through functions and classes of other modules."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_paths

CHAT = """
from openai import OpenAI
{imports}
client = OpenAI()
class Agent:
    def __init__(self):
        self.messages = []
        {made}
    def ask(self, text):
        {before}
        reply = client.chat.completions.create(model="m", messages={sent})
        return reply
"""
ADDS = 'self.messages.append({"role": "user", "content": text})'


def agent(imports: str, sent: str = "self.messages", before: str = ADDS, made: str = "pass") -> str:
    return CHAT.format(imports=imports, sent=sent, before=before, made=made)


ADDED = ADDS.replace("messages.append", "memory.add")
SHORTENED = f"{ADDS}\n        self.messages = shortened(self.messages)"
CUT = "def shortened(items):\n    return items[-20:]\n"
MEMORY = """
class Memory:
    def __init__(self):
        self.kept = []
    def add(self, item):
        self.kept.append(item)
        {cut}
    def window(self):
        return {given}
    @property
    def latest(self):
        return list({given})
"""
SLIDES = "self.kept = self.kept[-20:]"
GROWS = MEMORY.format(cut="pass", given="self.kept")


@pytest.mark.parametrize(
    ("chat", "memory"),
    [
        pytest.param(agent("from memory import shortened", before=SHORTENED), CUT, id="a function"),
        pytest.param(
            agent("from memory import shortened as s", sent="s(self.messages)"), CUT, id="by another name"
        ),
        pytest.param(
            agent("import memory", sent="memory.shortened(self.messages)"), CUT, id="through its module"
        ),
        pytest.param(agent("from memory import *", before=SHORTENED), CUT, id="through a star"),
        pytest.param(
            agent("", before=f"from memory import shortened\n        {SHORTENED}"), CUT, id="imported inside"
        ),
        pytest.param(
            agent("from memory import shortened", before=SHORTENED),
            "def shortened(items):\n    return _last(items)\n"
            "def _last(items, most=20):\n    return items[-most:]\n",
            id="through a helper of its own",
        ),
        pytest.param(
            agent("from memory import shortened", before=f"{ADDS}\n        shortened(self.messages)"),
            "def shortened(items):\n    while len(items) > 20:\n        items.pop(0)\n",
            id="in place",
        ),
        pytest.param(
            agent("from memory import Memory", "self.memory.window()", ADDED, "self.memory = Memory()"),
            MEMORY.format(cut="pass", given="self.kept[-20:]"),
            id="a method's result",
        ),
        pytest.param(
            agent("from memory import Memory", "self.memory.latest", ADDED, "self.memory: Memory = made()"),
            MEMORY.format(cut="pass", given="self.kept[-20:]"),
            id="a property",
        ),
        pytest.param(
            agent("from memory import Memory\nstore = Memory()", sent="[SYSTEM, *store.window()]"),
            MEMORY.format(cut=SLIDES, given="self.kept"),
            id="cut where it is added to",
        ),
        pytest.param(
            agent("from memory import store", sent="store.kept"),
            MEMORY.format(cut=SLIDES, given="self.kept") + "store = Memory()\n",
            id="an attribute that is sent",
        ),
        pytest.param(
            agent("from memory import Memory", sent="self.memory.window()", made="self.memory = Memory()"),
            MEMORY.format(cut="self.kept.pop(0)", given="self._all()") + "    def _all(self):\n"
            "        return list(self.kept)\n",
            id="given back by another method",
        ),
        pytest.param(
            agent("from memory import load", sent="[SYSTEM, *load(text)]").replace(
                "return reply", 'save_turn(text, "assistant", reply.text)'
            ),
            "def load(key):\n    rows = database.read(key)\n    return rows[-20:]\n",
            id="a function's result",
        ),
        pytest.param(
            agent(
                "from memory import Memory",
                sent="messages",
                before="messages = [SYSTEM]\n        for m in self.memory.window(): messages.append(m)",
                made="self.memory = Memory()",
            ),
            MEMORY.format(cut="pass", given="self.kept[-20:]"),
            id="gone through",
        ),
    ],
)
def test_a_window_in_another_module(tmp_path, chat, memory):
    assert found(tmp_path, {"agent.py": chat, "memory.py": memory}) == [("agent.py", "PC501", "error")]


@pytest.mark.parametrize(
    "before",
    [
        "def shortened(messages): return messages",
        "async def shortened(messages): return messages",
        "shortened = list",
    ],
)
def test_a_name_of_the_function_itself_is_no_import(tmp_path, before):
    chat = agent("from memory import shortened", "shortened(self.messages)", f"{ADDS}\n        {before}")
    assert found(tmp_path, {"agent.py": chat, "memory.py": CUT}) == []
    given = chat.replace("(self, text)", "(self, text, shortened)").replace(f"        {before}\n", "")
    assert found(tmp_path, {"agent.py": given, "memory.py": CUT}) == []


def found(folder, files: dict[str, str]) -> list[tuple[str, str, str]]:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    report = lint_paths([folder], Settings())
    return [(each.place.path.rpartition("/")[2], each.code, str(each.severity)) for each in report.findings]


@pytest.mark.parametrize(
    ("chat", "memory"),
    [
        pytest.param(
            agent(
                "from memory import shortened", before=f"{ADDS}\n        log.info(shortened(self.messages))"
            ),
            CUT,
            id="for a log",
        ),
        pytest.param(
            agent(
                "from memory import shortened",
                before=f"{ADDS}\n        return render(shortened(self.messages))",
            ),
            CUT,
            id="for a display",
        ),
        pytest.param(
            agent(
                "from memory import shortened",
                sent="shortened(messages)",
                before='messages = [{"role": "user", "content": text}]',
            ),
            CUT,
            id="of a single request",
        ),
        pytest.param(
            agent("from memory import shortened", sent="[*self.messages, ask(shortened(self.messages))]"),
            CUT,
            id="given to something unknown",
        ),
        pytest.param(
            agent("from memory import shortened", before=SHORTENED),
            CUT.replace("-20", "-200"),
            id="longer than talks are",
        ),
        pytest.param(
            agent("from memory import shortened", before=SHORTENED),
            "def shortened(items):\n    if len(items) > 80:\n        return items[-40:]\n    return items\n",
            id="far, at a mark",
        ),
        pytest.param(
            agent("from memory import shortened", before=SHORTENED),
            "def shortened(items):\n    older = items[:-20]\n    note = summarize(older)\n"
            "    return [note, *items[-20:]]\n",
            id="what is left out is summed up",
        ),
        pytest.param(
            agent("from memory import shortened", before=f"{ADDS}\n        found = shortened(search(text))"),
            CUT,
            id="of what a search has found",
        ),
        pytest.param(
            agent("from memory import Memory", sent="self.memory.window()", made="self.memory = Memory()"),
            GROWS + "    def shown(self):\n        return self.kept[-20:]\n",
            id="another method, for others",
        ),
        pytest.param(
            agent("from memory import Memory", sent="self.memory.window()", made="self.memory = Memory()"),
            GROWS.replace("self.kept = []", "self.kept = []; self.notes = deque(maxlen=20)"),
            id="another attribute",
        ),
        pytest.param(
            agent("from memory import Memory", made="self.memory = Memory()")
            .replace("ask(", "make_title(")
            .replace("messages=self.messages", "messages=self.memory.window()"),
            MEMORY.format(cut="pass", given="self.kept[-20:]"),
            id="for a title",
        ),
        pytest.param(
            agent("from memory import to_payload", sent="to_payload(self.messages)"),
            CUT.replace("shortened", "to_payload"),
            id="a conversion",
        ),
        pytest.param(
            agent("from memory import load", made="self.messages = load()"),
            "def load():\n    rows = database.read()\n    return rows[-20:]\n",
            id="what a conversation begins with",
        ),
        pytest.param(agent("from elsewhere import shortened", before=SHORTENED), CUT, id="not of the tree"),
    ],
)
def test_what_other_modules_do_without_harm(tmp_path, chat, memory):
    assert found(tmp_path, {"agent.py": chat, "memory.py": memory}) == []


STORE = """
class Store:
    def get_history(self, key, limit{default}):
        return self.rows.find(key).sort(-1).limit(limit)
"""


@pytest.mark.parametrize(
    ("default", "call", "expected"),
    [
        ("=10", "get_history(text)", [("agent.py", "PC501", "warning")]),
        ("=10", "get_history(text, 4000)", []),
        ("=10", "get_history(text, limit=None)", []),
        ("=10", "get_history(text, **options)", []),
        ("=500", "get_history(text)", []),
        ("=None", "get_history(text)", []),
    ],
)
def test_a_store_that_hands_out_a_few_messages_as_a_rule(tmp_path, default, call, expected):
    chat = agent("from store import Store", sent=f"[SYSTEM, *self.store.{call}]", made="self.store = Store()")
    files = {"agent.py": chat, "store.py": STORE.format(default=default)}
    assert found(tmp_path, files) == expected


def test_through_a_package_and_a_base_class(tmp_path):
    files = {
        "agent.py": agent("from kept import Talk", sent="self.talk.window()", made="self.talk = Talk()"),
        "kept/__init__.py": "from .talk import Talk\n",
        "kept/talk.py": "from .base import Memory\nclass Talk(Memory):\n    name = 'talk'\n",
        "kept/base.py": MEMORY.format(cut=SLIDES, given="self.kept"),
    }
    assert found(tmp_path, files) == [("agent.py", "PC501", "error")]


def test_what_its_own_module_tells_is_told_there_as_grave_as_where_it_is_sent(tmp_path):
    files = {
        "agent.py": agent("from memory import trimmed", sent="trimmed(self.messages)"),
        "memory.py": "import openai\ndef trimmed(messages):\n    return messages[-20:]\n",
    }
    assert found(tmp_path, files) == [("memory.py", "PC501", "error")]


def test_each_call_of_one_helper_is_told(tmp_path):
    """A judge's look at the end, and a comment at one call, say nothing of another call."""
    chat = agent("from memory import shortened", "shortened(self.messages)")
    judge = """
def grade(messages):
    return client.chat.completions.create(model="m", messages=shortened(messages))
"""
    call = "messages=shortened(self.messages))"
    again = (
        chat[chat.index("class") :].replace("Agent", "Other").replace(call, f"{call}  # promptcache: ignore")
    )
    files = {"agent.py": chat + judge + again, "memory.py": CUT}
    assert found(tmp_path, files) == [("agent.py", "PC501", "error"), ("agent.py", "PC501", "warning")]
