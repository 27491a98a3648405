"""An image is its bytes: given again otherwise, it is noticed or refused."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

from promptcache import Conversation, Image
from promptcache.errors import ConversationError, PromptCacheWarning

if TYPE_CHECKING:
    from pathlib import Path

PNG, JPEG = b"\x89PNG\r\n\x1a\none", b"\xff\xd8\xfftwo"


def urls(chat: Conversation) -> list[str]:
    messages = chat.to_openai("m")["messages"]
    parts = [part for message in messages for part in message["content"] if part["type"] == "image_url"]
    return [part["image_url"]["url"] for part in parts]


def test_the_same_bytes_are_the_same_part() -> None:
    chat = Conversation()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chat.user("See", Image(PNG, "plan"))
        chat.user("Again", Image(bytes(bytearray(PNG)), "plan"), PNG, Image(JPEG), Image(JPEG))
    assert len(set(urls(chat))) == 2


def test_another_encoding_is_reported_with_its_code(tmp_path: Path) -> None:
    chat = Conversation()
    chat.user("See", Image(PNG, "plan"))
    chat.save(tmp_path / "chat.json")
    for one in (chat, chat.fork(), Conversation.load(tmp_path / "chat.json")):
        before = urls(one)
        with pytest.warns(PromptCacheWarning, match="PC701.*'plan' comes again with other bytes") as caught:
            one.user("Again", Image(JPEG, "plan"))
        assert caught[0].filename == __file__
        assert urls(one)[:1] == before
    with pytest.warns(PromptCacheWarning, match="PC702.*detail 'high' instead of None"):
        Conversation.load(tmp_path / "chat.json").user("Again", Image(PNG, "plan", "high"))


def test_a_strict_conversation_refuses_it_and_appends_nothing() -> None:
    chat = Conversation(strict=True)
    chat.user("See", Image(PNG, "plan", "low"))
    for image in (Image(JPEG, "plan", "low"), Image(PNG, "plan")):
        with pytest.raises(ConversationError, match="PC70"):
            chat.user("Again", image)
    assert len(chat) == 1
    chat.user("Again", Image(PNG, "plan", "low"))
    assert len(set(urls(chat))) == 1


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://x/y.png?X-Amz-Signature=ab"}},
        {"type": "input_image", "image_url": "https://x/y.png?se=1&sig=ab"},
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png?Expires=17&Signature=ab"}},
    ],
)
def test_an_address_that_runs_out_is_reported(part: dict[str, object]) -> None:
    with pytest.warns(PromptCacheWarning, match="PC701.*signature that runs out"):
        Conversation().user("See", part)


def test_other_addresses_and_parts_are_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Conversation().user(
            "See",
            {"type": "image_url", "image_url": {"url": "https://x/y.png?sigma=1&size=2"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA?sig="}},
            {"type": "document", "source": {"type": "text", "data": "?sig=1"}},
            "?sig=1",
        )
    with pytest.raises(ConversationError, match="no PNG"):
        Conversation().user("See", Image(b"BM"))
