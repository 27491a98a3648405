"""Messages made by calling a class: the role in its name, in an argument, in a method."""

from __future__ import annotations

import pytest

TEXT = 'f"Rules of the desk: be brief. It is {datetime.now()}. Name the pier and the deck."'


@pytest.mark.parametrize(
    "call",
    [
        f"SystemMessage(content={TEXT})",
        f"SystemMessage({TEXT})",
        f"ChatMessage(role=MessageRole.SYSTEM, content={TEXT})",
        f"ChatMessage(role=Role.DEVELOPER, content={TEXT})",
        f'ChatMessage(role="system", content={TEXT})',
        f'ChatMessage(content={TEXT}, role="developer")',
        f'ChatMessage.from_str({TEXT}, role="system")',
        f"ChatMessage.from_system({TEXT})",
        f'Message("system", {TEXT})',
        f"Message(role=self.system_message_role, content={TEXT})",
        f'ChatCompletionSystemMessageParam(role="system", content={TEXT})',
        f'dict(role="system", content={TEXT})',
    ],
)
def test_a_system_message(codes, call):
    source = f"""
    from datetime import datetime
    from elsewhere import ChatCompletionSystemMessageParam, SystemMessage
    from somewhere import ChatMessage, Message, MessageRole, Role

    class Desk:
        def head(self):
            return {call}
    """
    assert codes(source) == [("PC101", 7)]


def test_lines_collected_for_a_system_message(codes):
    source = """
    from datetime import datetime

    class Desk:
        system_message_role = "system"

        def head(self):
            lines = ["Rules of the desk: be brief."]
            if self.tells_time:
                lines.append(f"It is {datetime.now()}.")
            return Message(role=self.system_message_role, content="\\n".join(lines))
    """
    assert codes(source) == [("PC101", 9)]


@pytest.mark.parametrize(
    "call",
    [
        f"UserMessage(content={TEXT})",
        f'ChatMessage(role="user", content={TEXT})',
        f"ChatMessage(role=MessageRole.USER, content={TEXT})",
        f"ChatMessage(role=role, content={TEXT})",
        f"ChatMessage.from_user({TEXT})",
        f'Message("user", {TEXT})',
        f"Message({TEXT})",
        f'dict(role="admin", content={TEXT})',
        f'dict(name="system", content={TEXT})',
        f'Notice(role="system", content={TEXT})',
        'ChatMessage(role="system", content="Rules of the desk: be brief.")',
    ],
)
def test_no_system_message(codes, call):
    source = f"""
    from datetime import datetime
    from somewhere import ChatMessage, Message, MessageRole, Notice, UserMessage

    def latest(role):
        return {call}
    """
    assert codes(source) == []
