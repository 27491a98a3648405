"""Labels of a user interface: no prompts, but for those that say they are."""

from __future__ import annotations

import json
from pathlib import PurePath

import pytest

from promptcache_lint.readers.labels import holds_labels, is_prompts_name

NOTICE = {
    "greeting": "Hello",
    "expires_after_system": "${username} set messages to expire after ${time} here.",
}


@pytest.mark.parametrize(
    "name",
    [
        "assets/locale/i18n_en.json",
        "src/locales/en/common.json",
        "i18n/pt-BR.yaml",
        "lib/l10n/app_de.json",
        "app_en.json",
        "lang/zh_CN.json",
        "messages/fr.json",
        "Resources/de.lproj/view.json",
    ],
)
def test_labels_lie_by_language(name):
    assert holds_labels(PurePath(name))


@pytest.mark.parametrize(
    "name",
    [
        "prompts/en.json",
        "locales/prompts_en.yaml",
        "prompts/locale/de.json",
        "messages/system.json",
        "languages/expert.yaml",
        "en.json",
        "agents.yaml",
        "app.json",
        "messages.json",
    ],
)
def test_other_files_hold_what_they_hold(name):
    assert not holds_labels(PurePath(name))


def test_a_label_is_no_system_prompt_whatever_its_name_ends_in(codes):
    text = json.dumps(NOTICE)
    assert codes(text, "assets/locale/i18n_en.json") == []
    assert [code for code, _ in codes(text, "agents.json")] == ["PC101"]


@pytest.mark.parametrize(
    "entry",
    [
        {"chat_system_prompt": "It is {current_time}. Be brief, be polite, and promise nothing."},
        {"chat_system": "You are a clerk. It is {current_time}. Be brief, be polite, and promise nothing."},
    ],
)
def test_a_prompt_among_labels_says_so(codes, entry):
    assert [code for code, _ in codes(json.dumps({**NOTICE, **entry}), "locales/en.json")] == ["PC101"]


def test_a_request_among_labels_is_one(codes):
    request = {"messages": [{"role": "system", "content": "It is {current_time}. Be brief and polite."}]}
    assert [code for code, _ in codes(json.dumps(request), "locales/en.json")] == ["PC101"]


def test_names_are_told_by_their_words():
    assert is_prompts_name("systemPrompt")
    assert is_prompts_name("chat_instructions")
    assert not is_prompts_name("promptly")
    assert not is_prompts_name("joined_group_system")
