"""Codex's rollouts (``~/.codex/sessions/…/rollout-….jsonl``): a conversation, with counts after each call.

Every line has ``timestamp``, ``type`` and ``payload``. ``response_item`` lines are the conversation, in the
shape of the Responses API; an ``event_msg`` of the type ``token_count`` closes a call. What came in before
the model's first own item was sent with it. The tools are not in the file, so that a request read from it
is not whole.

A session that was forked off another (subagents are) begins with all that one's lines, its counts as well,
under the moment of the fork: they are the conversation so far, and no calls of this session. Source:
published descriptions of the format; unknown kinds of lines are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptcache.usage import Usage
from promptcache_gateway.diagnose.exchange import LoggedExchange, first_of, read_time, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_KINDS = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")
_COPYING_S = 2.0  # a fork's copy is written at once; the first call's counts come seconds later
_MAX_SESSIONS = 65_536


class Codex:
    """Codex's rollouts. One session after the other: a new ``session_meta`` begins anew."""

    name = "codex"
    about = "Codex: rollouts of sessions"

    def __init__(self) -> None:
        self._model = ""
        self._effort: str | None = None
        self._roots: dict[str, str] = {}  # of forked sessions, the one at the beginning
        self._copied_until: float | None = None
        self._parent: str | None = None
        self._begin({}, None)

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """By its kinds of lines with a payload."""
        kind = entry.get("type")
        return isinstance(kind, str) and kind in _KINDS and isinstance(entry.get("payload"), Mapping)

    def read(self, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        """The request that a count of tokens closes."""
        payload, time = entry["payload"], read_time(entry.get("timestamp"))
        if self._copied_until is not None and time is not None and time > self._copied_until:
            self._copied_until = None
        match entry["type"]:
            case "session_meta":
                if not self._is_copied(payload):
                    self._begin(payload, time)
            case "turn_context":
                self._model = text_of(payload.get("model")) or self._model
                self._effort = text_of(payload.get("effort"))
            case "response_item":
                self._take(payload, time)
            case "compacted":
                self._compact(payload)
            case _ if payload.get("type") == "token_count":
                return self._close(payload, time)
        return ()

    def end(self) -> Iterable[LoggedExchange]:
        """Nothing: a call that was not counted says nothing."""
        return ()

    def _begin(self, meta: Mapping[str, Any], time: float | None) -> None:
        given = meta.get("base_instructions", meta.get("instructions"))
        given = given.get("text") if isinstance(given, Mapping) else given
        self._instructions = text_of(given)
        self._session = text_of(meta.get("id")) or "codex"
        self._parent = text_of(first_of(meta, "forked_from_id", "parent_thread_id"))
        self._copied_until = time + _COPYING_S if self._parent is not None and time is not None else None
        if self._parent is not None and len(self._roots) < _MAX_SESSIONS:
            self._roots[self._session] = self._roots.get(self._parent, self._parent)
        self._model = ""
        self._effort = None
        self._told = True  # with every call so far how much effort it asked for
        self._items: list[Mapping[str, Any]] = []  # sent with an earlier call, or its answer
        self._new: list[Mapping[str, Any]] = []  # came in since the last call was closed
        self._sent_at: float | None = None
        self._total: Mapping[str, Any] | None = None

    def _is_copied(self, meta: Mapping[str, Any]) -> bool:
        """Whether a session's first line is the one of the session that this one was forked off."""
        if self._copied_until is None or text_of(meta.get("id")) != self._parent:
            return False
        self._parent = text_of(first_of(meta, "forked_from_id", "parent_thread_id"))
        self._roots[self._session] = self._parent or str(meta["id"])
        return True

    def _take(self, item: Mapping[str, Any], time: float | None) -> None:
        self._new.append(item)
        if not _is_models_own(item):
            self._sent_at = time

    def _compact(self, payload: Mapping[str, Any]) -> None:
        history = payload.get("replacement_history")
        message = {"type": "message", "role": "user", "content": str(payload.get("message") or "")}
        kept = [item for item in history if isinstance(item, Mapping)] if isinstance(history, list) else None
        self._items, self._new = kept if kept is not None else [message], []

    def _close(self, payload: Mapping[str, Any], time: float | None) -> Iterable[LoggedExchange]:
        info = payload.get("info")
        usage = self._usage_of(info) if isinstance(info, Mapping) else None
        if usage is None:
            return ()
        own = next((at for at, item in enumerate(self._new) if _is_models_own(item)), len(self._new))
        items = [*self._items, *self._new[:own]]
        last = max(
            (at for at, item in enumerate(self._new) if _is_models_own(item)), default=len(self._new) - 1
        )
        self._items += self._new[: last + 1]
        self._new = self._new[last + 1 :]
        if not items or self._copied_until is not None:
            return ()
        return [self._exchange(items, usage, self._sent_at if self._sent_at is not None else time)]

    def _usage_of(self, info: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What the last call alone counted; None where it was told before, with other limits."""
        total, usage = info.get("total_token_usage"), info.get("last_token_usage")
        total = total if isinstance(total, Mapping) else None
        usage = usage if isinstance(usage, Mapping) and "input_tokens" in usage else None
        before, self._total = self._total, total if total is not None else self._total
        if total is None:
            return usage if any(_is_models_own(item) for item in self._new) else None
        if total == before:
            return None
        return usage if usage is not None else _difference(total, before or {})

    def _exchange(
        self, items: list[Mapping[str, Any]], usage: Mapping[str, Any], time: float | None
    ) -> LoggedExchange:
        body: dict[str, Any] = {"model": self._model, "input": items}
        if self._instructions is not None:
            body["instructions"] = self._instructions
        self._told = self._told and self._effort is not None
        if self._told:
            body["reasoning"] = {"effort": self._effort}
        counts = {
            "input_tokens": usage.get("input_tokens"),
            "input_tokens_details": {
                "cached_tokens": usage.get("cached_input_tokens"),
                "cache_write_tokens": usage.get("cache_write_input_tokens"),
            },
            "output_tokens": usage.get("output_tokens"),
        }
        total = self._total or {}
        return LoggedExchange(
            body=body,
            usage=Usage.from_response({"usage": counts}),
            time=time,
            template="codex",
            tenant=f"session {self._roots.get(self._session, self._session)}",
            whole=False,
            known_by=("codex", self._session, time, *(str(total.get(name)) for name in _COUNTS)),
        )


def _difference(total: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What was counted since the last sum; all of it where the counting began anew."""
    now, then = ({name: each.get(name) for name in _COUNTS} for each in (total, before))
    if not isinstance(now["input_tokens"], int):
        return None
    anew = (
        (then["input_tokens"] or 0) > now["input_tokens"] if isinstance(then["input_tokens"], int) else True
    )
    if anew:
        return now
    return {
        name: count - (old if isinstance(old := then[name], int) else 0)
        for name, count in now.items()
        if isinstance(count, int)
    }


def _is_models_own(item: Mapping[str, Any]) -> bool:
    """Whether the model wrote an item, so that it was not sent with the call that made it."""
    kind = str(item.get("type"))
    if kind == "message":
        return item.get("role") == "assistant"
    return kind == "reasoning" or kind.endswith("_call")
