"""``promptcache lint --costs``: what a fault cost in traffic stands beside its finding."""

from __future__ import annotations

import json

import pytest

from promptcache_lint.cli import main

RULES = "You are a clerk of our company. Be brief and polite, and never promise anything."


def cost(code="PC101", tokens=1_234_567, usd=3.4, requests=1_000):
    return {"code": code, "lost_tokens": tokens, "lost_usd": usd, "requests": requests}


def export(*templates, days=7):
    return {"days": days, "until": 0, "templates": list(templates)}


def template(source, *causes, name="support"):
    return {"name": name, "requests": 1, "source": source, "causes": list(causes)}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "a.txt").write_text(f"Now {{now}}.\n{RULES}\n")
    (tmp_path / "prompts" / "b.txt").write_text(f"It is {{now}}.\n{RULES}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(tree, capsys, data, *argv):
    (tree / "costs.json").write_text(data if isinstance(data, str) else json.dumps(data))
    status = main(["prompts", "--costs", "costs.json", "--output-format", "concise", *argv])
    captured = capsys.readouterr()
    return status, captured.out.splitlines(), captured.err


def test_the_dearest_comes_first_and_says_what_it_cost(tree, capsys):
    status, out, err = run(tree, capsys, export(template("prompts/b.txt", cost(), cost("PC301", 5))))
    assert (status, err) == (1, "")
    assert out[0].startswith("prompts/b.txt:1:7: warning[PC101]")
    assert out[0].endswith("In 7 days it cost 1,234,567 tokens (3.40 USD) in 1,000 requests of support.")
    assert out[1].startswith("prompts/a.txt")
    assert "cost" not in out[1]


def test_templates_of_one_file_are_added_up_and_unknown_money_is_not_named(tree, capsys):
    two = [template("prompts/a.txt", cost(tokens=n, usd=None, requests=2), name=f"t{n}") for n in (10, 20)]
    _, out, _ = run(tree, capsys, export(*two, days=0.5))
    assert out[0].endswith("In 0.5 days it cost 30 tokens in 4 requests of t10, t20.")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("./prompts/a.txt", True),
        ("../prompts/a.txt", True),
        ("../../prompts/a.txt", True),
        ("a.txt", False),
        ("other/a.txt", False),
        ("s/a.txt", False),
        ("", False),
        (None, False),
    ],
)
def test_a_source_is_known_wherever_the_configuration_lies(tree, capsys, source, told):
    _, out, _ = run(tree, capsys, export(template(source, cost())))
    assert ("it cost" in out[0]) is told


def test_a_copy_elsewhere_cost_nothing(tree, capsys):
    (tree / "prompts" / "prompts").mkdir()
    for name in ("pyproject.toml", "prompts/pyproject.toml"):
        (tree / name).write_text("")
    (tree / "prompts" / "prompts" / "b.txt").write_text((tree / "prompts" / "b.txt").read_text())
    _, out, _ = run(tree, capsys, export(template("prompts/b.txt", cost())))
    assert [line.split(":")[0] for line in out if "it cost" in line] == ["prompts/b.txt"]


def test_a_source_may_be_written_from_the_project_s_root(tree, capsys, monkeypatch):
    (tree / "pyproject.toml").write_text("")
    (tree / "costs.json").write_text(json.dumps(export(template("prompts/a.txt", cost()))))
    monkeypatch.chdir(tree / "prompts")
    main(["a.txt", "--costs", "../costs.json", "--output-format", "concise"])
    assert "it cost 1,234,567 tokens" in capsys.readouterr().out


def test_a_cause_behind_another_saves_nothing_alone(tree, capsys):
    (tree / "prompts" / "a.txt").write_text(f"Now {{now}}.\nCall {{uuid}}.\n{RULES}\n")
    behind = {"PC101": {"requests": 200, "lost_tokens": 730_810, "lost_usd": 1.6}}
    dear = {**cost("PC102", 730_810, 1.6, 200), "behind": behind}
    _, out, _ = run(tree, capsys, export(template("prompts/a.txt", dear, cost("PC101", 1_350, 0.003, 200))))
    assert out[0].endswith(
        "In 7 days it cost 1,350 tokens (under 0.01 USD) up to PC102 in 200 requests of support. "
        "Nothing behind it is read until it is mended: another 730,810 tokens (1.60 USD)."
    )
    assert "[PC102]" in out[1]
    assert out[1].endswith(
        "In 7 days it cost 730,810 tokens (1.60 USD) in 200 requests of support. "
        "In 200 of them PC101 stands in front: mended alone, this saves nothing there."
    )


def test_what_traffic_did_not_show_is_left_as_it_is(tree, capsys):
    _, with_costs, _ = run(tree, capsys, export())
    main(["prompts", "--output-format", "concise"])
    assert with_costs == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    "data", ["", "[]", "{}", '{"days": "x", "templates": []}', '{"days": 1, "templates": [1]}']
)
def test_a_file_that_is_no_export_is_one_line_and_exit_2(tree, capsys, data):
    status, out, err = run(tree, capsys, data)
    assert (status, out) == (2, [])
    assert err.startswith("promptcache lint: costs.json: is no export of costs.")
    assert err.count("\n") == 1
    assert main(["prompts", "--costs", "gone.json"]) == 2
    assert "gone.json: cannot be read" in capsys.readouterr().err
