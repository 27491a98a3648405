"""A log of requests: bodies as clients sent them, or token ids, with times where present.

A line is a body itself, or has it as ``request`` or ``body``. Token ids (``tokens``, ``prompt_token_ids``, or
a ``prompt`` of numbers) are taken as they are. Text is cut every four UTF-8 bytes for want of the model's
tokenizer: hit rates then are those of equal text, lengths are estimates. Nothing of the text is kept.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from promptcache_engine.simulate.errors import TraceError
from promptcache_engine.simulate.trace import TraceRequest

_BYTES_PER_TOKEN = 4
_TIMES = ("time", "timestamp", "ts", "received_at", "created_at", "created")
_MILLISECONDS = 1e11  # a later second than any log's, an earlier millisecond


@dataclass(frozen=True, slots=True)
class RequestLog:
    """What a log held; ``approximate`` when any prompt was text."""

    requests: tuple[TraceRequest, ...]
    approximate: bool
    skipped: int


def read_request_log(objects: Sequence[tuple[int, Mapping[str, Any]]], page_size: int) -> RequestLog:
    """Return the requests of (line, object) pairs, cut into pages of ``page_size`` tokens.

    Without times, requests are a second apart in the order of the file; one without stands a second behind
    the one before it. What is nested too deeply to be read counts as no request. Raises TraceError for a time
    beyond all clocks, and for a Mooncake request among the log's.
    """
    numbers = _PageNumbers(page_size)
    requests: list[TraceRequest] = []
    approximate, skipped, time = False, 0, -1.0
    for number, line in objects:
        body = _body(line)
        prompt = _prompt(body)
        if prompt is None:
            if "hash_ids" in line:
                raise TraceError(
                    "is in Mooncake's format, and the first line is not.",
                    remedy="Give each format a file of its own.",
                    line=number,
                )
            skipped += 1
            continue
        packed, estimated = prompt
        approximate |= estimated
        model = body.get("model")
        namespace = model if isinstance(model, str) else ""
        said = _time(line, number)
        time = time + 1 if said is None else said
        requests.append(
            TraceRequest(
                time,
                numbers.of(packed, namespace),
                len(packed) // _BYTES_PER_TOKEN,
                namespace,
            )
        )
    requests.sort(key=lambda request: request.time)
    return RequestLog(tuple(requests), approximate, skipped)


class _PageNumbers:
    """Gives equal pages behind equal pages equal numbers."""

    def __init__(self, page_size: int) -> None:
        self._page_bytes = page_size * _BYTES_PER_TOKEN
        self._numbers: dict[tuple[int, str, bytes], int] = {}

    def of(self, packed: bytes, namespace: str) -> tuple[int, ...]:
        """Return the numbers of the whole pages of ``packed``."""
        size, pages, before = self._page_bytes, list[int](), -1
        for at in range(0, len(packed) - size + 1, size):
            page = (before, namespace, packed[at : at + size])
            before = self._numbers.setdefault(page, len(self._numbers))
            pages.append(before)
        return tuple(pages)


def _body(line: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("request", "body"):
        inner = line.get(key)
        if isinstance(inner, Mapping):
            return inner
    return line


def _prompt(body: Mapping[str, Any]) -> tuple[bytes, bool] | None:
    """Return the prompt, four bytes a token, and whether that is an estimate; None where there is none."""
    for key in ("tokens", "prompt_token_ids", "prompt"):
        ids = body.get(key)
        if isinstance(ids, list) and ids and all(type(i) is int and 0 <= i < 2**31 for i in ids):
            return np.array(ids, dtype=np.int32).tobytes(), False
    try:
        parts = list(_parts(body))
    except RecursionError:
        return None
    return ("\n".join(parts).encode("utf-8", "surrogatepass"), True) if parts else None


def _parts(body: Mapping[str, Any]) -> Iterator[str]:
    """The text of a body in the order a provider matches it: tools, system, messages."""
    if not any(body.get(key) for key in ("messages", "prompt", "input", "system", "instructions")):
        return
    for tool in _list(body.get("tools")):
        yield _text(tool)
    for key in ("system", "instructions", "prompt"):
        if body.get(key):
            yield _text(body[key])
    for message in _list(body.get("messages") or body.get("input")):
        if isinstance(message, Mapping):
            rest = {k: v for k, v in message.items() if k not in {"role", "content", "cache_control"}}
            yield f"{message.get('role')}\n{_text(message.get('content'))}{_text(rest) if rest else ''}"
        else:
            yield _text(message)


def _list(value: object) -> Sequence[object]:
    if value is None:
        return ()
    return value if isinstance(value, list) else (value,)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(item) for item in value)
    if isinstance(value, Mapping):
        if isinstance(value.get("text"), str) and value.get("type") in {"text", "input_text", "output_text"}:
            return str(value["text"])
        kept = {key: item for key, item in value.items() if key != "cache_control"}
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _time(line: Mapping[str, Any], number: int) -> float | None:
    """Return when the request came, in seconds; None where the line does not say."""
    value = next((line[key] for key in _TIMES if line.get(key) is not None), None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) <= sys.float_info.max:
            raise TraceError("the time is no number.", remedy="Give seconds or milliseconds.", line=number)
        return value / 1000 if value > _MILLISECONDS else float(value)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):  # before the clock's first year
            return None
    return None
