"""Claude Code's transcripts (``~/.claude/projects/…/SESSION.jsonl``): a conversation, not its requests.

Each line is a message with its session. An answer is written in several lines that share ``message.id``; the
request it answers is what stands above it. The system prompt and the tools are not in the file, so that a
request read from it is not whole. Sidechains (subagents) are conversations of their own. Source: the
transcripts' published descriptions; unknown kinds of lines are passed over.
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


@dataclass(slots=True)
class _Session:
    """A conversation so far; ``answer`` is the id of the message whose lines are coming in."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    answer: str | None = None
    last_time: float | None = None


class ClaudeCode:
    """Claude Code's transcripts."""

    name = "claude-code"
    about = "Claude Code: transcripts of sessions"

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, bool], _Session] = OrderedDict()

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """By the session's id in its spelling, beside the kind of line."""
        return isinstance(entry.get("sessionId"), str) and isinstance(entry.get("type"), str)

    def read(self, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        """The request that the first line of an answer shows to have been sent."""
        session = self._session(entry)
        if entry.get("type") == "system" and entry.get("subtype") == "compact_boundary":
            session.messages, session.answer = [], None
            return ()
        message = entry.get("message")
        if entry.get("type") not in _TALK or not isinstance(message, Mapping):
            return ()
        if entry["type"] == "user":
            session.answer = None
            session.last_time = read_time(entry.get("timestamp"))
            session.messages.append({"role": "user", "content": message.get("content") or ""})
            return ()
        return self._answer(session, entry, message)

    def end(self) -> Iterable[LoggedExchange]:
        """Nothing: a request is told at its answer's first line."""
        return ()

    def _session(self, entry: Mapping[str, Any]) -> _Session:
        key = (entry["sessionId"], bool(entry.get("isSidechain")))
        session = self._sessions.setdefault(key, _Session())
        self._sessions.move_to_end(key)
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def _answer(
        self, session: _Session, entry: Mapping[str, Any], message: Mapping[str, Any]
    ) -> Iterable[LoggedExchange]:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
        if session.answer is not None and session.answer == message.get("id"):
            session.messages[-1]["content"].extend(blocks)
            return ()
        usage = message.get("usage")
        model = text_of(message.get("model")) or ""
        exchange = LoggedExchange(
            body=_body(model, session.messages, usage),
            usage=Usage.from_response({"usage": usage}) if isinstance(usage, Mapping) else None,
            time=session.last_time if session.last_time is not None else read_time(entry.get("timestamp")),
            template="claude-code",
            tenant=f"session {entry['sessionId']}",
            id=text_of(entry.get("requestId")) or text_of(message.get("id")),
            whole=False,
        )
        sent = bool(session.messages) and not model.startswith("<")  # "<synthetic>": written by the client
        session.messages.append({"role": "assistant", "content": list(blocks)})
        session.answer = text_of(message.get("id"))
        return [exchange] if sent else ()


def _body(model: str, messages: list[dict[str, Any]], usage: object) -> Mapping[str, Any]:
    """The request as far as it is known; the client marks the end of what it sends."""
    split = usage.get("cache_creation") if isinstance(usage, Mapping) else None
    hour = isinstance(split, Mapping) and bool(split.get("ephemeral_1h_input_tokens"))
    mark = {"type": "ephemeral", "ttl": "1h" if hour else "5m"}
    return {"model": model, "messages": [dict(message) for message in messages], "cache_control": mark}
