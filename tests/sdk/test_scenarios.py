"""Reported faults of hand-built message lists, played through a Conversation."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from promptcache.conversation import Conversation

CASES = Path(__file__).parents[1] / "cases"


def load(case: str) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = CASES / case
    scenario = json.loads((folder / "scenario.json").read_text(encoding="utf-8"))
    return scenario, json.loads((folder / "expected.json").read_text(encoding="utf-8"))["expected"]


def test_b011_a_new_day_is_appended_and_not_edited_in() -> None:
    scenario, _ = load("B011")
    clock = [datetime.fromisoformat(moment) for moment in scenario["clock"]]
    chat = Conversation(scenario["steps"][0]["text"])
    requests = []
    for step in scenario["steps"][1:]:
        if step["op"] == "user":
            chat.today(clock[step["at"]])
            chat.user(step["text"])
            requests.append(chat.to_openai("m")["messages"])
        else:
            chat.assistant(step["text"])
    first, second = requests
    assert second[: len(first)] == first
    assert "2031-03-04" in json.dumps(first)
    assert "2031-03-05" in json.dumps(second[len(first) :])


def test_b034_tool_arguments_come_back_as_the_model_wrote_them() -> None:
    scenario, expected = load("B034")
    chat = Conversation()
    chat.user("edit")
    chat.assistant(scenario["model_output"])
    chat.tool_result(scenario["steps"][1]["id"], scenario["steps"][1]["text"])
    answer = chat.to_openai("m")["messages"][1]
    assert answer == scenario["model_output"]
    assert answer["tool_calls"][0]["function"]["arguments"] == expected["arguments_bytes"]


def test_b036_trailing_newlines_of_an_answer_stay() -> None:
    scenario, expected = load("B036")
    chat = Conversation()
    for step in scenario["steps"][:-1]:
        (chat.user if step["op"] == "user" else chat.assistant)(step["text"])
    assert chat.to_openai("m")["messages"][1]["content"] == expected["messages_1_content"]


def test_b050_attachments_survive_saving_and_loading(tmp_path: Path) -> None:
    scenario, expected = load("B050")
    chat, rendered = Conversation(), {}
    for step in scenario["steps"]:
        if step["op"] == "user":
            chat.user(step["text"], *step["attachments"])
        elif step["op"] == "assistant":
            chat.assistant(step["text"])
        elif step["op"] == "render":
            rendered[step["save"]] = json.dumps(chat.to_openai("m")).removesuffix("]}")
        else:
            chat.save(tmp_path / "chat.json")
            chat = Conversation.load(tmp_path / "chat.json")
    for earlier, later in expected["prefix_of"]:
        assert rendered[later].startswith(rendered[earlier])


def test_b063_a_tool_result_at_the_end_carries_the_breakpoint() -> None:
    scenario, _ = load("B063")
    system, user, call, result, _ = scenario["steps"]
    chat = Conversation(system["text"])
    chat.user(user["text"])
    chat.assistant([{"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}}])
    chat.tool_result(result["id"], result["text"])
    block = chat.to_anthropic("m")["messages"][2]["content"][-1]
    assert block["type"] == "tool_result"
    assert block["cache_control"] == {"type": "ephemeral"}
