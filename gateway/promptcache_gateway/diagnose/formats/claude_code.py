"""Claude Code's transcripts (``~/.claude/projects/…/SESSION.jsonl``): a conversation, not its requests.

Each line is a message with its session. An answer is written in several lines that share ``message.id``; the
request it answers is what stands above it. The system prompt and the tools are not in the file, so that a
request read from it is not whole. A line names the one it follows: subagents begin conversations of their
own, a prompt that follows an older line takes the conversation up from there, and a line that was read before
is another file's copy. Source: the transcripts' published descriptions; unknown kinds of lines are passed
over.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache.usage import Usage
from promptcache_gateway.diagnose.exchange import LoggedExchange, read_time, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_TALK = frozenset({"user", "assistant"})
_MAX_SESSIONS = 256
_REWOUND = 2  # messages behind the line that a prompt follows: an older turn, at least


@dataclass(slots=True)
class _Talk:
    """A conversation so far; ``answer`` is the id of the message whose lines are coming in."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    answer: str | None = None
    last_time: float | None = None


@dataclass(slots=True)
class _Session:
    """A session's conversations: the latest outside and inside of subagents, and by the lines read.

    ``lines``: each line's conversation and how many messages that had behind the line; ``answers``: ids read.
    """

    latest: dict[bool, _Talk] = field(default_factory=dict)
    lines: dict[str, tuple[_Talk, int]] = field(default_factory=dict)
    answers: set[str] = field(default_factory=set)

    def talk_of(self, entry: Mapping[str, Any]) -> _Talk:
        """The conversation that a line continues."""
        aside = bool(entry.get("isSidechain"))
        talk = self.latest.get(aside)
        parent = entry.get("parentUuid")
        if talk is None or (parent is None and "parentUuid" in entry):
            talk = _Talk()
        elif parent in self.lines:
            talk, length = self.lines[parent]
            if _is_prompt(entry) and length <= len(talk.messages) - _REWOUND:
                talk = _Talk(talk.messages[:length])
        self.latest[aside] = talk
        return talk


class ClaudeCode:
    """Claude Code's transcripts."""

    name = "claude-code"
    about = "Claude Code: transcripts of sessions"

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """By the session's id in its spelling, beside the kind of line."""
        return isinstance(entry.get("sessionId"), str) and isinstance(entry.get("type"), str)

    def read(self, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        """The request that the first line of an answer shows to have been sent."""
        session, name = self._session(entry), text_of(entry.get("uuid"))
        if name in session.lines:
            return ()
        talk = session.talk_of(entry)
        found = self._take(session, talk, entry)
        if name is not None:
            session.lines[name] = talk, len(talk.messages)
        return found

    def end(self) -> Iterable[LoggedExchange]:
        """Nothing: a request is told at its answer's first line."""
        return ()

    def _session(self, entry: Mapping[str, Any]) -> _Session:
        session = self._sessions.setdefault(entry["sessionId"], _Session())
        self._sessions.move_to_end(entry["sessionId"])
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def _take(self, session: _Session, talk: _Talk, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        if entry.get("type") == "system" and entry.get("subtype") == "compact_boundary":
            talk.messages, talk.answer = [], None
            return ()
        message = entry.get("message")
        if entry.get("type") not in _TALK or not isinstance(message, Mapping):
            return ()
        if entry["type"] == "user":
            talk.answer = None
            talk.last_time = read_time(entry.get("timestamp"))
            talk.messages.append({"role": "user", "content": message.get("content") or ""})
            return ()
        answer = text_of(message.get("id"))
        if answer is not None and answer != talk.answer:
            if answer in session.answers:
                return ()  # a copy's
            session.answers.add(answer)
        return self._answer(talk, entry, message)

    def _answer(
        self, talk: _Talk, entry: Mapping[str, Any], message: Mapping[str, Any]
    ) -> Iterable[LoggedExchange]:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
        if talk.answer is not None and talk.answer == message.get("id"):
            talk.messages[-1]["content"].extend(blocks)
            return ()
        usage = message.get("usage")
        model = text_of(message.get("model")) or ""
        exchange = LoggedExchange(
            body=_body(model, talk.messages, usage),
            usage=Usage.from_response({"usage": usage}) if isinstance(usage, Mapping) else None,
            time=talk.last_time if talk.last_time is not None else read_time(entry.get("timestamp")),
            template="claude-code",
            tenant=f"session {entry['sessionId']}",
            id=text_of(entry.get("requestId")) or text_of(message.get("id")),
            whole=False,
        )
        sent = bool(talk.messages) and not model.startswith("<")  # "<synthetic>": written by the client
        talk.messages.append({"role": "assistant", "content": list(blocks)})
        talk.answer = text_of(message.get("id"))
        return [exchange] if sent else ()


def _is_prompt(entry: Mapping[str, Any]) -> bool:
    """Whether a line is what a person wrote. Results of parallel tool calls follow older lines, too."""
    message = entry.get("message")
    if entry.get("type") != "user" or not isinstance(message, Mapping):
        return False
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return not any(isinstance(block, Mapping) and block.get("type") == "tool_result" for block in blocks)


def _body(model: str, messages: list[dict[str, Any]], usage: object) -> Mapping[str, Any]:
    """The request as far as it is known; the client marks the end of what it sends."""
    split = usage.get("cache_creation") if isinstance(usage, Mapping) else None
    hour = isinstance(split, Mapping) and bool(split.get("ephemeral_1h_input_tokens"))
    mark = {"type": "ephemeral", "ttl": "1h" if hour else "5m"}
    return {"model": model, "messages": [dict(message) for message in messages], "cache_control": mark}
