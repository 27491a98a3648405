"""Claude Code's transcripts (``~/.claude/projects/…/SESSION.jsonl``): a conversation, not its requests.

Each line is a message with its session. An answer is written in several lines that share ``message.id``, with
results of its first tool calls between them now and then; the request it answers is what stands above it. The
system prompt and the tools are not in the file, so that a request read from it is not whole. A line names the
one it follows: subagents begin conversations of their own, and a prompt that follows an older line takes the
conversation up from there. A session that is resumed is the same conversation, also where its file begins
with a copy of all lines under the new session's name. Source: the transcripts' published descriptions;
unknown kinds of lines are passed over.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache.usage import Usage
from promptcache_gateway.diagnose.bounded import keep
from promptcache_gateway.diagnose.exchange import LoggedExchange, read_time, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_TALK = frozenset({"user", "assistant"})
_NOTES = {"summary": "leafUuid", "file-history-snapshot": "snapshot"}
"""Kinds of lines that belong to no session, each with a member that only it has."""
_MAX_SESSIONS = 256
_MAX_LINES = 1 << 17
_REWOUND = 2  # messages behind the line that a prompt follows: an older turn, at least


@dataclass(slots=True)
class _Talk:
    """A conversation so far.

    ``owner`` is the session in which it began; ``answers`` the ids of the answers in it, and ``latest`` the
    content of the last one, which may grow by further lines.
    """

    owner: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    answer: str | None = None
    latest: list[Any] = field(default_factory=list)
    answers: set[str] = field(default_factory=set)
    last_time: float | None = None

    def up_to(self, length: int) -> _Talk:
        """The same conversation, taken up from an older message."""
        return _Talk(self.owner, self.messages[:length], answers=set(self.answers))


class ClaudeCode:
    """Claude Code's transcripts."""

    name = "claude-code"
    about = "Claude Code: transcripts of sessions"

    def __init__(self) -> None:
        self._latest: OrderedDict[tuple[str, bool], _Talk] = OrderedDict()  # outside and inside of subagents
        self._lines: OrderedDict[str, tuple[_Talk, int]] = OrderedDict()
        self._owners: OrderedDict[str, str] = OrderedDict()  # of answers, by their ids

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """By the session's id in its spelling, beside the kind of line; or it is a note beside sessions."""
        kind = entry.get("type")
        if not isinstance(kind, str):
            return False
        return isinstance(entry.get("sessionId"), str) or _NOTES.get(kind, "") in entry

    def read(self, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        """The request that the first line of an answer shows to have been sent."""
        session, name = entry.get("sessionId"), text_of(entry.get("uuid"))
        if not isinstance(session, str) or (name is not None and name in self._lines):
            return ()
        talk = self._talk_of(session, entry)
        found = self._take(talk, entry)
        if name is not None:
            keep(self._lines, name, (talk, len(talk.messages)), _MAX_LINES)
        return found

    def end(self) -> Iterable[LoggedExchange]:
        """Nothing: a request is told at its answer's first line."""
        return ()

    def _talk_of(self, session: str, entry: Mapping[str, Any]) -> _Talk:
        """The conversation that a line continues."""
        place = session, bool(entry.get("isSidechain"))
        talk = self._latest.get(place)
        parent = entry.get("parentUuid")
        if isinstance(parent, str) and parent in self._lines:
            talk, length = self._lines[parent]
            if _is_prompt(entry) and length <= len(talk.messages) - _REWOUND:
                talk = talk.up_to(length)
        elif talk is None or (parent is None and "parentUuid" in entry):
            talk = _Talk(session)
        keep(self._latest, place, talk, _MAX_SESSIONS)
        return talk

    def _take(self, talk: _Talk, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        if entry.get("type") == "system" and entry.get("subtype") == "compact_boundary":
            talk.messages, talk.answer = [], None
            return ()
        message = entry.get("message")
        if entry.get("type") not in _TALK or not isinstance(message, Mapping):
            return ()
        if entry["type"] == "user":
            talk.last_time = read_time(entry.get("timestamp"))
            talk.messages.append({"role": "user", "content": message.get("content") or ""})
            return ()
        return self._answer(talk, entry, message)

    def _answer(
        self, talk: _Talk, entry: Mapping[str, Any], message: Mapping[str, Any]
    ) -> Iterable[LoggedExchange]:
        content, name = message.get("content"), text_of(message.get("id"))
        blocks = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
        if name is not None and name in talk.answers:
            if name == talk.answer:
                talk.latest.extend(blocks)  # a further line of it; of an older one it is a copy
            return ()
        if name is not None and name in self._owners:
            talk.owner = self._owners[name]  # a copy's: its conversation goes on here
        elif name is not None:
            keep(self._owners, name, talk.owner, _MAX_LINES)
        model = text_of(message.get("model")) or ""
        exchange = _exchange(talk, entry, message)
        sent = bool(talk.messages) and not model.startswith("<")  # "<synthetic>": written by the client
        talk.answer, talk.latest = name, list(blocks)
        talk.messages.append({"role": "assistant", "content": talk.latest})
        talk.answers |= {name} if name is not None else set()
        return [exchange] if sent else ()


def _exchange(talk: _Talk, entry: Mapping[str, Any], message: Mapping[str, Any]) -> LoggedExchange:
    usage, name = message.get("usage"), text_of(message.get("id"))
    return LoggedExchange(
        body=_body(text_of(message.get("model")) or "", talk.messages, usage),
        usage=Usage.from_response({"usage": usage}) if isinstance(usage, Mapping) else None,
        time=talk.last_time if talk.last_time is not None else read_time(entry.get("timestamp")),
        template="claude-code",
        tenant=f"session {talk.owner}",
        id=text_of(entry.get("requestId")) or name,
        whole=False,
        known_by=None if name is None else ("claude-code", name),
    )


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
