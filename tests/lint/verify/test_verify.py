"""``promptcache verify``: what each kind of instability is called, what is left alone, what cannot run."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from promptcache_lint.verify.cli import _arguments, main
from promptcache_lint.verify.worlds import PERTURBATIONS, USUAL, World

HEAD = """
import json, os, random, socket, time, uuid
from datetime import date, datetime

RULES = "You are a clerk of our company. Be brief and polite."
INSTANCE = uuid.uuid4()
COUNT = 0
TOOLS = {"search", "read", "write", "list", "open"}


def chat(system, user="Hello."):
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


"""


@pytest.fixture
def verify(tmp_path, monkeypatch, capsys):
    """``verify(body, *options)``: status and JSON of verifying a function ``f`` with this body."""
    monkeypatch.chdir(tmp_path)

    def run(body, *options, signature="def f()"):
        text = (
            HEAD + f"{signature}:\n" + "".join(f"    {line}\n" for line in dedent(body).strip().splitlines())
        )
        (tmp_path / "app.py").write_text(text)
        status = main(["app:f", "--output-format", "json", *options])
        captured = capsys.readouterr()
        return status, json.loads(captured.out) if captured.out else captured.err

    return run


def told(result):
    return [
        (item["code"], item["path"], item["perturbation"])
        for item in result["differences"]
        if item["tolerated"] is None
    ]


EXPECTED = {
    'f"{RULES} It is {datetime.now()}."': ("PC101", "clock"),
    'time.strftime("%H:%M ") + RULES': ("PC101", "clock"),
    'f"{RULES} Today is {date.today()}."': ("PC109", "date"),
    'f"{RULES} {uuid.uuid4()}"': ("PC102", "random seed"),
    'f"{RULES} {random.random()}"': ("PC103", "random seed"),
    'f"{RULES} {socket.gethostname()}"': ("PC105", "host name"),
    'f"{RULES} {os.getpid()}"': ("PC105", "process id"),
    'f"{RULES} {time.localtime(0).tm_hour}"': ("PC205", "locale"),
    'RULES + " ".join(os.listdir("/"))': ("PC203", "directory order"),
    'RULES + " ".join(TOOLS)': ("PC202", "hash seed"),
    'RULES + str(hash("a"))': ("PC106", "hash seed"),
    "RULES + str(object())": ("PC106", "every run"),
    "f'{RULES} {COUNT}'": ("PC107", "every call"),
    'RULES + " ".join(sorted(TOOLS)) + " ".join(sorted(os.listdir("/")))': None,
    "RULES": None,
}


def test_each_kind_of_instability_has_its_name(verify):
    """One request, a block of the system prompt for each kind: every difference is found, and no other."""
    blocks = ", ".join(f'{{"type": "text", "text": {text}}}' for text in EXPECTED)
    body = f'global COUNT\nCOUNT += 1\ntime.sleep(1000)\nreturn {{"system": [{blocks}], "messages": []}}'
    status, result = verify(body)
    assert status == 1
    expected = [
        (*each, f"system[{index}]") for index, each in enumerate(EXPECTED.values()) if each is not None
    ]
    assert sorted((code, why, path) for code, path, why in told(result)) == sorted(expected)


def test_tools_and_parameters(verify):
    status, result = verify(
        """
        tools = [{"name": name} for name in TOOLS]
        return {"model": random.choice("abcdefgh"), "tools": tools, "messages": chat(RULES)}
        """
    )
    assert status == 1
    found = {(code, path[:5], why) for code, path, why in told(result)}
    assert found == {("PC503", "model", "random seed"), ("PC301", "tools", "hash seed")}


def test_the_newest_turn_and_what_follows_the_last_breakpoint_are_free(verify):
    assert verify('return chat(RULES, f"Now: {datetime.now()} {uuid.uuid4()}")')[0] == 0
    marked = '{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}'
    clock = '{"type": "text", "text": str(time.time())}'
    status, result = verify(f'return {{"system": [{marked}, {clock}], "messages": []}}')
    assert (status, told(result)) == (0, [])
    assert result["differences"][0]["tolerated"] == "it stands behind the last breakpoint"
    status, result = verify(f'return {{"system": [{clock}, {marked}], "messages": []}}')
    assert (status, told(result)) == (1, [("PC101", "system[0]", "clock")])


def test_computed_once_in_a_process_is_information(verify):
    status, result = verify('return f"{RULES} {INSTANCE}"')
    assert status == 0
    (item,) = result["differences"]
    assert (item["code"], item["severity"], item["once_per_process"]) == ("PC110", "info", True)


def test_several_values_are_told_apart_and_told_in_words(verify, capsys):
    body = 'return f"{datetime.now()} {RULES} {socket.gethostname()} {RULES} {uuid.uuid4()}"'
    _, result = verify(body)
    found = {item["code"]: item for item in result["differences"]}
    assert set(found) == {"PC101", "PC105", "PC102"}
    offsets = [found[code]["char_offset"] for code in ("PC101", "PC105", "PC102")]
    assert offsets == sorted(offsets)
    assert "alpha" in found["PC105"]["before"]
    assert "omega-7" in found["PC105"]["after"]
    assert main(["app:f"]) == 1
    out = capsys.readouterr().out
    assert "app:f is unstable: 3 differences" in out
    assert "error[PC101] clock-in-prefix: system, character 12 (shown by another time of day)" in out
    assert "\033[" not in out


PIECES = {
    "text": 'yield RULES\nyield f" {uuid.uuid4()} "\nyield "Be kind."',
    "messages": 'yield chat(f"{RULES} {random.random()}")[0]\nyield chat("")[1]',
    "after others": "yield None\nfor x in range(3):\n    yield str(random.random()) if x == 2 else RULES",
}


@pytest.mark.parametrize("body", PIECES.values(), ids=PIECES)
def test_all_that_is_yielded_counts(verify, body):
    status, result = verify(body, signature="async def f()" if "uuid" in body else "def f()")
    assert status == 1
    assert {code for code, _, _ in told(result)} <= {"PC102", "PC103"}


def test_pieces_that_are_steady(verify):
    assert verify('yield RULES\nyield "Be kind."')[0] == 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("while True:\n    yield RULES", "no end"),
        ("yield chat(RULES)\nyield chat(RULES)", "make up no one request"),
        ("yield RULES\nyield 3", "make up no one request"),
        ("return\nyield", "yields nothing"),
    ],
)
def test_what_is_yielded_and_is_no_request(verify, body, says):
    status, error = verify(body)
    assert status == 2
    assert says in error
    assert "Traceback" not in error


def test_what_is_yielded_counts(verify):
    status, result = verify('yield chat(f"{datetime.now()} {RULES}")')
    assert status == 1
    assert [code for code, _, _ in told(result)] == ["PC101"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (None, ((), {})),
        ('{"question": "Where?"}', ((), {"question": "Where?"})),
        ('["Where?"]', (("Where?",), {})),
        ('"Where?"', (("Where?",), {})),
        ('{"args": ["Where?"], "kwargs": {"a": 1}}', (("Where?",), {"a": 1})),
        ('{"args": ["Where?"]}', (("Where?",), {})),
        ('{"args": 3}', ((), {"args": 3})),
    ],
)
def test_arguments(call, expected):
    assert _arguments("app:f", call) == expected


@pytest.mark.parametrize(
    ("call", "expected"), [('{"question": "Where?"}', 0), ('{"other": 1}', 2), ("{", 2), (None, 2)]
)
def test_calls(verify, call, expected):
    options = ("--call", call) if call is not None else ()
    status, result = verify("return chat(RULES, question)", *options, signature="async def f(question)")
    assert status == expected
    if expected == 2:
        assert result.count("\n") == 1
        assert "--call" in result


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return 3", "it returned int"),
        ("raise ValueError('no key')", "ValueError: no key"),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
        ("import os\nos._exit(3)", "status 3"),
        ("import urllib.request\nurllib.request.urlopen('http://example.com')", "example.com"),
        ("return {'messages': 3}", "no request"),
    ],
)
def test_what_cannot_run(verify, body, words):
    status, err = verify(body)
    assert status == 2
    assert words in err
    assert "Traceback" not in err
    assert err.count("\n") == 1


def test_a_loop_without_end_is_stopped(verify):
    status, err = verify("while time.time() < time.time() + 1:\n    pass", "--timeout", "1")
    assert status == 2
    assert "--timeout" in err


@pytest.mark.parametrize("target", ["app", "app:", ":f", "app:g", "nowhere:f", "nowhere.py:f"])
def test_wrong_targets(tmp_path, monkeypatch, capsys, target):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text("def f():\n    return 'You are a clerk.'\n")
    assert main([target]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"promptcache verify: {target}: ")
    assert err.count("\n") == 1


def test_methods_files_and_printing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(
        "class Agent:\n    def prompt(self):\n        print('{')\n        return 'You are a clerk.'\n"
    )
    assert main(["app.py:Agent.prompt"]) == 0
    assert "is stable" in capsys.readouterr().out


def test_worlds_survive_being_written_down():
    for perturbation in PERTURBATIONS:
        world = perturbation.applied(USUAL)
        assert world != USUAL
        assert World.from_dict(json.loads(json.dumps(world.to_dict()))) == world
