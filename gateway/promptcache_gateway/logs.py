"""What the gateway says on standard error: lines for people or JSON for machines, never a word of a prompt.

A line for every request is written where it is asked for (``[serve] log_requests``), from its record, or
from what it was refused for.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Literal, get_args

import orjson

if TYPE_CHECKING:
    from promptcache_gateway.observe.record import RequestRecord

LogFormat = Literal["human", "json"]
FORMATS: tuple[str, ...] = get_args(LogFormat)
LEVELS = ("debug", "info", "warning", "error")

_NAME_CHARS = 100
_requests = logging.getLogger("promptcache.requests")


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ``time`` (UTC), ``level``, ``logger``, ``message``, and ``fields``."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__  # its text may quote a prompt
        return orjson.dumps(line, default=str).decode()


class HumanFormatter(logging.Formatter):
    """A line with the time, the level and the text; of an exception its name only."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        """The exception's name: its text and its lines may quote a prompt."""
        return f"  {ei[0].__name__}"


def configure(form: str, level: str) -> None:
    """Send the process's log to standard error in one of `FORMATS`, from one of `LEVELS` on."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else HumanFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)  # others' chatter stays out
    logging.getLogger("promptcache").setLevel(level.upper())
    logging.getLogger("promptcache_gateway").setLevel(level.upper())


def log_request(record: RequestRecord) -> None:
    """Write a request's line: its names, counts and times."""
    diagnosis = record.diagnosis
    fields = {
        "request": record.id,
        "tenant": short_name(record.tenant),
        "template": short_name(record.template),
        "upstream": record.upstream,
        "model": short_name(record.model),
        "api": record.dialect,
        "status": record.status,
        "error": record.error,
        "prompt_tokens": record.prompt_tokens,
        "cached_tokens": record.cached_tokens,
        "output_tokens": record.output_tokens,
        "cause": diagnosis.cause,
        "lost_tokens": diagnosis.lost_tokens,
        "ttft_ms": _ms(record.ttft_ms),
        "duration_ms": _ms(record.duration_ms),
    }
    known = {name: value for name, value in fields.items() if value is not None}
    _requests.info("%s", _sentence(known), extra={"fields": known})


def log_refusal(
    status: int, reason: str, *, api: str | None, request_id: str | None, tenant: str | None
) -> None:
    """Write the line of a request that the gateway refused itself: ``reason`` is the code it was told."""
    fields = {
        "request": request_id,
        "tenant": None if tenant is None else short_name(tenant),
        "api": api,
        "status": status,
        "error": reason,
        "refused": True,
    }
    known = {name: value for name, value in fields.items() if value is not None}
    named = "" if request_id is None else f" ({request_id})"
    _requests.info("%s", f"{status} {api or 'a request'} refused: {reason}{named}", extra={"fields": known})


def _sentence(known: dict[str, Any]) -> str:
    parts = [f"{known['status']} {known['api']} {known['model']!r} at {known['upstream']}"]
    if "prompt_tokens" in known:
        cached = known.get("cached_tokens", "?")
        parts.append(f"{cached} of {known['prompt_tokens']} tokens cached")
    parts += [str(known[name]) for name in ("cause", "error") if name in known]
    parts.append(f"{known['duration_ms']} ms")
    return ", ".join(parts) + f" ({known['request']})"


def short_name(text: str) -> str:
    """A name that callers choose, as a line may hold it: short, and on one line."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text[:_NAME_CHARS])


def _ms(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
