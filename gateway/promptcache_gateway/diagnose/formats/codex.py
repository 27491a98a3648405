"""Codex's rollouts (``~/.codex/sessions/…/rollout-….jsonl``): a conversation, with counts after each call.

Every line has ``timestamp``, ``type`` and ``payload``. ``response_item`` lines are the conversation, in the
shape of the Responses API; an ``event_msg`` of the type ``token_count`` closes a call. What came in before
the model's first own item was sent with it. The tools are not in the file, so that a request read from it
is not whole. Source: published descriptions of the format; unknown kinds of lines are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptcache.usage import Usage
from promptcache_gateway.diagnose.exchange import LoggedExchange, read_time, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_KINDS = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})


class Codex:
    """Codex's rollouts. One session after the other: a new ``session_meta`` begins anew."""

    name = "codex"
    about = "Codex: rollouts of sessions"

    def __init__(self) -> None:
        self._model = ""
        self._begin({})

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """By its kinds of lines with a payload."""
        kind = entry.get("type")
        return isinstance(kind, str) and kind in _KINDS and isinstance(entry.get("payload"), Mapping)

    def read(self, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        """The request that a count of tokens closes."""
        payload = entry["payload"]
        match entry["type"]:
            case "session_meta":
                self._begin(payload)
            case "turn_context":
                self._model = text_of(payload.get("model")) or self._model
            case "response_item":
                self._take(payload, read_time(entry.get("timestamp")))
            case "compacted":
                self._compact(payload)
            case _ if payload.get("type") == "token_count":
                return self._close(payload, read_time(entry.get("timestamp")))
        return ()

    def end(self) -> Iterable[LoggedExchange]:
        """Nothing: a call that was not counted says nothing."""
        return ()

    def _begin(self, meta: Mapping[str, Any]) -> None:
        given = meta.get("base_instructions", meta.get("instructions"))
        given = given.get("text") if isinstance(given, Mapping) else given
        self._instructions = text_of(given)
        self._session = text_of(meta.get("id")) or "codex"
        self._model = ""
        self._items: list[Mapping[str, Any]] = []  # sent with an earlier call, or its answer
        self._new: list[Mapping[str, Any]] = []  # came in since the last call was closed
        self._sent_at: float | None = None
        self._total: object = None

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
        usage = info.get("last_token_usage") if isinstance(info, Mapping) else None
        if not isinstance(usage, Mapping) or not isinstance(info, Mapping):
            return ()
        if info.get("total_token_usage") == self._total:
            return ()  # told again, with other limits
        self._total = info.get("total_token_usage")
        own = next((at for at, item in enumerate(self._new) if _is_models_own(item)), len(self._new))
        items = [*self._items, *self._new[:own]]
        last = max(
            (at for at, item in enumerate(self._new) if _is_models_own(item)), default=len(self._new) - 1
        )
        self._items += self._new[: last + 1]
        self._new = self._new[last + 1 :]
        if not items:
            return ()
        return [self._exchange(items, usage, self._sent_at if self._sent_at is not None else time)]

    def _exchange(
        self, items: list[Mapping[str, Any]], usage: Mapping[str, Any], time: float | None
    ) -> LoggedExchange:
        body: dict[str, Any] = {"model": self._model, "input": items}
        if self._instructions is not None:
            body["instructions"] = self._instructions
        counts = {
            "input_tokens": usage.get("input_tokens"),
            "input_tokens_details": {"cached_tokens": usage.get("cached_input_tokens")},
            "output_tokens": usage.get("output_tokens"),
        }
        return LoggedExchange(
            body=body,
            usage=Usage.from_response({"usage": counts}),
            time=time,
            template="codex",
            tenant=f"session {self._session}",
            whole=False,
        )


def _is_models_own(item: Mapping[str, Any]) -> bool:
    """Whether the model wrote an item, so that it was not sent with the call that made it."""
    kind = str(item.get("type"))
    if kind == "message":
        return item.get("role") == "assistant"
    return kind == "reasoning" or kind.endswith("_call")
