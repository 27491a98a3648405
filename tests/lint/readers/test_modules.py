"""Values that come from other modules of the tree."""

from __future__ import annotations

import pytest

from promptcache_lint import Severity


def test_helper_of_a_sibling(tree_codes):
    found = tree_codes(
        {
            "clock.py": "from datetime import datetime\ndef stamp():\n    return f'Time: {datetime.now()}'\n",
            "agent.py": """
                from clock import stamp
                SYSTEM = "You are a clerk of our company."
                def system_prompt():
                    return stamp() + SYSTEM
                """,
        }
    )
    assert found == [("agent.py", "PC101", 4)]


def test_package_with_relative_imports_and_reexport(tree_codes):
    found = tree_codes(
        {
            "app/__init__.py": "",
            "app/util/__init__.py": "from .clock import stamp\n",
            "app/util/clock.py": "import time\ndef stamp():\n    return time.time()\n",
            "app/prompts.py": """
                from .util import stamp
                from app import util
                def system_prompt():
                    return f"You are a clerk. {stamp()} {util.stamp()} Be brief."
                """,
        }
    )
    assert {(path, code, row) for path, code, row in found} == {("app/prompts.py", "PC101", 4)}


STARRED = """
    from {} import *
    def system_prompt():
        return f"You are a clerk. {{stamp()}} Be brief."
    """
STAMP = "from datetime import datetime\ndef stamp():\n    return datetime.now()\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"clock.py": STAMP}, True),
        ({"clock.py": STAMP + "__all__ = ['stamp']\n"}, True),
        ({"clock.py": STAMP + "__all__ = ['other']\n"}, False),
        ({"clock.py": STAMP + "__all__ = [] + names\n"}, True),
        ({"clock.py": STAMP.replace("def stamp", "def _stamp")}, False),
        ({"clock.py": "import time\nstamp = time.time\n"}, True),
        ({"clock.py": "from time import time as stamp\n"}, True),
        ({"clock/__init__.py": "from .inner import *\n", "clock/inner.py": STAMP}, True),
        ({"clock.py": "from inner import *\n", "inner.py": "from clock import *\n" + STAMP}, True),
        (
            {"clock.py": "from clock import *\nfrom inner import *\n", "inner.py": "from clock import *\n"},
            False,
        ),
        ({"clock.py": STAMP + "from fixed import *\n", "fixed.py": "def stamp():\n    return 'now'\n"}, True),
    ],
)
def test_star_imports_are_followed(tree_codes, files, found):
    assert tree_codes({**files, "agent.py": STARRED.format("clock")}) == [("agent.py", "PC101", 3)] * found


def test_a_name_of_its_own_is_not_what_a_star_brings(tree_codes):
    text = STARRED.format("clock") + "def stamp():\n        return 'Monday'\n"
    assert tree_codes({"clock.py": STAMP, "agent.py": text}) == []


def test_the_last_star_that_brings_a_name_wins(tree_codes):
    files = {"clock.py": STAMP, "fixed.py": "def stamp():\n    return 'Monday'\n"}
    assert tree_codes({**files, "agent.py": STARRED.format("clock import *\n    from fixed")}) == []


def test_cycle_of_imports_ends(tree_codes):
    files = {
        "a.py": "from b import x\nSYSTEM = 'You are a clerk of ' + x\n",
        "b.py": "from a import y\nfrom c import x\n",
        "c.py": "from b import x\n",
    }
    assert tree_codes(files) == []


def test_recursion_ends(codes):
    text = """
        def system_prompt(depth):
            return "You are a clerk of our company. " + system_prompt(depth - 1)
        """
    assert codes(text) == []


def test_base_class_in_another_module(tree_codes):
    found = tree_codes(
        {
            "base.py": "import uuid\nclass Base:\n    def __init__(self):\n        self.tag = uuid.uuid4()\n",
            "agent.py": """
                from base import Base
                class Agent(Base):
                    def system_prompt(self):
                        return f"You are a clerk. {self.tag} Be brief."
                """,
        }
    )
    assert found == [("agent.py", "PC102", 4)]


def test_module_constant_is_information(tree_codes):
    files = {
        "agent.py": """
            import time
            STARTED = time.time()
            def system_prompt():
                return f"You are a clerk. Up since {STARTED}. Be brief."
            """
    }
    assert tree_codes(files) == []
    assert tree_codes(files, Severity.INFO) == [("agent.py", "PC110", 4)]


def test_cached_function_is_information(codes):
    text = """
        import functools, time
        @functools.cache
        def started():
            return time.time()
        def system_prompt():
            return f"You are a clerk. Up since {started()}. Be brief."
        """
    assert codes(text) == []
    assert codes(text, severity=Severity.INFO) == [("PC110", 6)]


def test_one_finding_for_a_value_that_reaches_several_sinks(tree_codes):
    found = tree_codes(
        {
            "agent.py": """
                import time
                def build_system_prompt():
                    return f"You are a clerk. {time.time()} Be brief."
                def ask(client, question):
                    system_prompt = build_system_prompt()
                    messages = [
                        {"role": "system", "content": system_prompt},
                        {"role": "user", "content": question},
                    ]
                    return client.chat.completions.create(model="m", messages=messages)
                """
        }
    )
    assert found == [("agent.py", "PC101", 3)]


HELPER = """
    from openai import OpenAI
    client = OpenAI()
    def ask(question, stamp):
        return client.chat.completions.create(model="m", messages=[
            {"role": "system", "content": f"You are a clerk. Value {stamp}. Be brief and polite, always."},
            {"role": "user", "content": question}])
    """
CALLER = """
    import uuid
    from helper import ask
    INSTRUCTIONS = "You are here to help with all kinds of post."
    def main(question):
        return ask(question, uuid.uuid4())
    """


@pytest.mark.parametrize("name", ["a_caller.py", "z_caller.py"])
def test_a_value_handed_to_another_module_is_found_whichever_is_read_first(tree_codes, name):
    assert tree_codes({"helper.py": HELPER, name: CALLER}) == [(name, "PC102", 5)]


def test_a_fault_in_a_text_of_another_module_is_reported_once(tree_codes):
    files = {
        "texts.py": """
            import time
            def build_prompt():
                return f"You are a clerk. It is {time.time()}. Be brief and polite, and name the office."
            """,
        "use.py": """
            from texts import build_prompt
            def run(client):
                prompt = build_prompt()
                return client.messages.create(system=prompt, messages=[])
            """,
    }
    assert tree_codes(files) == [("texts.py", "PC101", 3)]
