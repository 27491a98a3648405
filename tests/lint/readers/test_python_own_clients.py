"""Prompts that are handed to the program's own clients are followed to the request."""

from __future__ import annotations

import pytest

from promptcache_lint import lint_paths

RULES = (
    "You are the clerk of a ferry line. Name the pier, the deck and the time of departure, in the language "
    "of the question. Never promise a seat to anybody. Say so when you do not know, and give the number "
    "of the office at the harbour. Do not speak of the weather unless you are asked for it, and then briefly."
)
OWN = """from openai import OpenAI
class Llm:
    def __init__(self):
        self.client = OpenAI()
    def chat(self, system, question):
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        return self.client.chat.completions.create(model="m", messages=messages)
    def say(self, messages):
        return self.client.chat.completions.create(model="m", messages=messages)
class Slow(Llm):
    pass
class Store:
    def chat(self, system, question):
        self.rows.append((system, question))
"""
HEAD = f"from datetime import datetime\nfrom own import Llm, Slow, Store\nRULES = '''{RULES * 16}'''\n"
CLOCK = 'f"It is {datetime.now()}. {RULES}"'
ASKS = f"""
    def answer(self, question):
        system_prompt = {CLOCK}
        return self.llm.chat(system_prompt, question)
"""
GIVEN = "class Clerk:\n    def __init__(self, llm: %s):\n        self.llm = llm\n"

PROVEN = {
    "made by the object": "class Clerk:\n    def __init__(self):\n        self.llm = Llm()\n" + ASKS,
    "given": GIVEN % "Llm" + ASKS,
    "given, or None": GIVEN % "Llm | None" + ASKS,
    "given, optionally": GIVEN % "Optional[Llm] = None" + ASKS,
    "given, in quotes": GIVEN % '"Llm"' + ASKS,
    "one that inherits the request": GIVEN % "Slow" + ASKS,
    "a field": "class Clerk:\n    llm: Llm\n" + ASKS,
    "a field with a default": "class Clerk:\n    llm: Llm = None\n" + ASKS,
    "from a function that says so": "def made(kind) -> Llm:\n    return KINDS[kind]()\n"
    "class Clerk:\n    def __init__(self, kind):\n        self.llm = made(kind)\n" + ASKS,
    "from a function that makes one": "def made(kind):\n    llm = Llm()\n    return llm\n"
    "class Clerk:\n    def __init__(self, kind):\n        self.llm = made(kind)\n" + ASKS,
    "from a function that makes one of a kind": "def made(kind):\n    if kind:\n        return Slow()\n"
    "    return Llm()\nclass Clerk:\n    def __init__(self, kind):\n        self.llm = made(kind)\n" + ASKS,
    "from a method": "class Clerk:\n    def __init__(self):\n        self.llm = self._made()\n"
    "    def _made(self):\n        return Llm()\n" + ASKS,
    "made unless it is given": "class Clerk:\n    def __init__(self, llm=None):\n"
    "        self.llm = llm or Llm()\n" + ASKS,
    "made if none is given": "class Clerk:\n    def __init__(self, llm=None):\n        if llm is None:\n"
    "            llm = Llm()\n        self.llm = llm\n" + ASKS,
    "made where it is used": f"def made():\n    return Llm()\ndef answer(q):\n    system_prompt = {CLOCK}\n"
    "    return made().chat(system_prompt, q)\n",
    "given to a function": f"def answer(llm: Llm, q):\n    system_prompt = {CLOCK}\n"
    "    return llm.chat(system_prompt, q)\n",
    "a list of messages": "def answer(llm: Llm, history):\n"
    f'    messages = [{{"role": "system", "content": {CLOCK}}}, *history]\n    return llm.say(messages)\n',
}
NOT_PROVEN = {
    "of a class that asks no model": GIVEN % "Store" + ASKS,
    "of a class that nobody knows": GIVEN % "Unknown" + ASKS,
    "of no known class": GIVEN.replace(": %s", "") + ASKS,
    "made unless something else is given": "class Clerk:\n    def __init__(self, llm=None):\n"
    "        self.llm = llm or Store()\n" + ASKS,
    "from a function that makes one, or a store": "def made(kind):\n    if kind:\n        return Store()\n"
    "    return Llm()\nclass Clerk:\n    def __init__(self, kind):\n        self.llm = made(kind)\n" + ASKS,
    "set to anything later": "class Clerk:\n    def __init__(self):\n        self.llm = Llm()\n"
    "        self.llm = made(self.llm)\n    def use(self, llm):\n        self.llm = llm\n" + ASKS,
    "of one class or another": GIVEN % "Llm | Store" + ASKS,
    "kept with the object": "class Clerk:\n    def __init__(self, llm: Llm):\n        self.llm = llm\n"
    f"        self.system_prompt = {CLOCK}\n"
    "    def answer(self, question):\n        return self.llm.chat(self.system_prompt, question)\n",
    "made before a person is asked": f"def talk(llm: Llm):\n    system_prompt = {CLOCK}\n    while True:\n"
    "        print(llm.chat(system_prompt, input()))\n",
    "the first message of a conversation that is kept": "class Clerk:\n    def __init__(self, llm: Llm):\n"
    "        self.llm = llm\n        self.messages = []\n    def answer(self, question):\n"
    "        if not self.messages:\n"
    f'            self.messages.append({{"role": "system", "content": {CLOCK}}})\n'
    '        self.messages.append({"role": "user", "content": question})\n'
    "        return self.llm.say(self.messages)\n",
}


@pytest.fixture
def severities(tmp_path):
    def found(text: str, name: str = "clerk.py") -> set[tuple[str, str]]:
        (tmp_path / "own.py").write_text(OWN)
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + text)
        report = lint_paths([tmp_path])
        assert {each.place.path for each in report.findings} == {str(path)}
        return {(each.code, str(each.severity)) for each in report.findings}

    return found


@pytest.mark.parametrize("text", PROVEN.values(), ids=PROVEN)
def test_a_prompt_for_a_client_of_the_program_is_proven(severities, text):
    assert severities(text) == {("PC101", "error")}


@pytest.mark.parametrize("text", NOT_PROVEN.values(), ids=NOT_PROVEN)
def test_what_the_source_does_not_prove_is_a_warning(severities, text):
    assert severities(text) == {("PC101", "warning")}


def test_an_example_that_uses_a_client_of_the_program_is_none_the_graver(severities):
    assert severities(PROVEN["given"], "examples/clerk.py") == {("PC101", "warning")}


def test_the_first_message_of_a_conversation_is_no_error_at_a_library_either(severities):
    text = NOT_PROVEN["the first message of a conversation that is kept"]
    text = text.replace(
        "self.llm.say(self.messages)", 'self.llm.responses.create(model="m", input=self.messages)'
    )
    assert severities(text.replace("llm: Llm", "llm")) == {("PC101", "warning")}
    anew = text.replace("        if not self.messages:\n    ", "        self.messages = []\n")
    assert severities(anew.replace("llm: Llm", "llm")) == {("PC101", "error")}


def test_what_an_object_of_another_class_holds_is_not_known_from_its_type(severities):
    text = (
        "class Note:\n    made: datetime = field(default_factory=datetime.now)\n    stamp = datetime.now()\n"
        "def system_prompt(note: Note):\n"
        "    return f'Noted at {note.stamp}. {RULES} {datetime.now()}'\n"
    )
    assert severities(text) == {("PC101", "warning")}
