"""Names and wordings that belong to prompts, and those that only look so."""

from __future__ import annotations

import pytest

from promptcache_lint.wording import opens_like_prompt, role_of_file_name, role_of_name


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("SYSTEM_PROMPT", "system"),
        ("systemPrompt", "system"),
        ("build_system_prompt", "system"),
        ("instructions", "system"),
        ("agent_prompt", "system"),
        ("SYSTEM", "system"),
        ("prompt", "prompt"),
        ("summary_prompt_template", "prompt"),
        ("user_prompt", "user"),
        ("human_message", "user"),
        ("system_info", None),
        ("file_system", None),
        ("prompt_tokens", None),
        ("prompt_path", None),
        ("shell_prompt", None),
        ("save_prompt", None),
        ("getWindowsSetupInstructions", None),
        ("INSTALL_INSTRUCTIONS", None),
        ("number", None),
    ],
)
def test_roles_of_names(name, role):
    assert role_of_name(name) == role


@pytest.mark.parametrize("name", ["user_prompt.txt", "chat.user.md", "human-message.txt"])
def test_files_of_the_user(name):
    assert role_of_file_name(name) == "user"


@pytest.mark.parametrize("name", ["system.md", "support.j2", "prompt.txt", "userguide_agent.md"])
def test_files_of_the_system(name):
    assert role_of_file_name(name) == "system"


_RULERS = ("#" * 78 + "\n\n## Shared settings\n") * 300
"""Sections between rulers: a search that tries how many ``#`` belong to each would never end."""


@pytest.mark.parametrize(
    "text",
    [
        "You are a clerk.",
        "# Role\n\nYou are a clerk.",
        "Act as a clerk",
        "Your task is to",
        f"\n {_RULERS}You are a clerk.",
    ],
)
def test_openings(text):
    assert opens_like_prompt(text)


@pytest.mark.parametrize(
    "text",
    ["You are not logged in.", "Your order is ready.", "The clerk", "", _RULERS, f"{_RULERS}host = {{host}}"],
)
def test_no_openings(text):
    assert not opens_like_prompt(text)
