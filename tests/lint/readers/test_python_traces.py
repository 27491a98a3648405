"""Calls whose result nobody takes: run where they change what a prompt is made of, and not otherwise."""

from __future__ import annotations


def test_a_logger_between_the_parts_hides_nothing_and_is_blamed_for_nothing(tree_codes):
    found = tree_codes(
        {
            "agent.py": """
                from datetime import datetime
                class Log:
                    def write(self, text):
                        self.last = datetime.now()
                        print(f"{datetime.now()} {text}")
                log = Log()
                def system_prompt():
                    log.write("made a prompt")
                    text = f"You are a clerk of our company. It is {datetime.now():%H:%M}."
                    log.write(text)
                    return text + " Be brief, be polite, and never promise anything at all."
                """,
        }
    )
    assert [(name, code) for name, code, _ in found] == [("agent.py", "PC101")]
    assert found[0][2] == 9


def test_a_list_that_a_helper_fills_is_seen(tree_codes):
    found = tree_codes(
        {
            "agent.py": """
                import time
                from parts import add_stamp
                def system_prompt():
                    lines = ["You are a clerk of our company."]
                    add_stamp(lines)
                    lines.append("Be brief and polite, and never promise anything.")
                    return " ".join(lines)
                """,
            "parts.py": "import time\ndef add_stamp(lines):\n    lines.append(str(time.time()))\n",
        }
    )
    assert [code for _, code, _ in found] == ["PC101"]


def test_an_attribute_that_a_method_sets_is_seen(tree_codes):
    found = tree_codes(
        {
            "agent.py": """
                import uuid
                class Agent:
                    def renew(self):
                        self.tag = str(uuid.uuid4())
                    def system_prompt(self):
                        self.renew()
                        return f"You are clerk {self.tag} of our company. Be brief and polite to all."
                """,
        }
    )
    assert [code for _, code, _ in found] == ["PC102"]


def test_a_prompt_that_is_sent_below_an_idle_call_is_seen(tree_codes):
    found = tree_codes(
        {
            "agent.py": """
                import time
                from openai import OpenAI
                client = OpenAI()
                def send(text):
                    client.chat.completions.create(
                        model="m", messages=[{"role": "system", "content": text}]
                    )
                def system_turn():
                    send(f"You are a clerk. It is {time.time()}. Be brief and polite to everybody here.")
                """,
        }
    )
    assert "PC101" in [code for _, code, _ in found]


def test_a_full_interpreter_starts_again_with_the_same_findings(tree_codes, monkeypatch):
    files = {"clock.py": "import time\ndef stamp():\n    return f'Time: {time.time()}'\n"}
    for number in range(6):
        files[f"agent_{number}.py"] = """
            from clock import stamp
            SYSTEM = "You are a clerk of our company."
            def system_prompt():
                return stamp() + SYSTEM
            """
    whole = tree_codes(files)
    monkeypatch.setattr("promptcache_lint.readers.python.interpreter._LARGEST_PROGRAM", 0)
    assert tree_codes(files) == whole
    assert len(whole) == 6
