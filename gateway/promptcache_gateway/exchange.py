"""One exchange as the whole gateway sees it: the call that came in, what the engine knew, how it ended.

These are plain frozen values. They are made by the routes and the upstreams and read by the
observer; nothing here parses a request, talks to a server or records anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from promptcache.quick_values import quick

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptcache.usage import Usage
    from promptcache_gateway.kept.turn import Turn

Dialect = Literal[
    "openai.chat", "openai.completions", "openai.responses", "openai.embeddings", "anthropic.messages"
]


@dataclass(frozen=True, slots=True)
class Change:
    """What the gateway changed of a request on its way to the upstream, or left as it was and why.

    Attributes:
        name: which of the changes that the documentation lists.
        paths: the places that were touched.
        skipped: places, or the change's own name, with the reason why nothing was changed there.
    """

    name: str
    paths: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()


def changes_json(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """The changes as the admin API shows them: ``[{name, paths, skipped: [{path, reason}]}]``."""
    return [
        {
            "name": change.name,
            "paths": list(change.paths),
            "skipped": [{"path": path, "reason": reason} for path, reason in change.skipped],
        }
        for change in changes
    ]


@quick
@dataclass(frozen=True, slots=True)
class Call:
    """A request for a completion, as it was received and before it is forwarded.

    Attributes:
        id: the gateway's own id of the request, ``pcr_`` and 24 hexadecimal digits.
        received_at: Unix time in seconds at which the whole body had arrived.
        dialect: which API the caller speaks.
        path: the path that was called, without the query string.
        body: the caller's own bytes, without ``metadata.promptcache_template``; what an upstream of the same
            dialect receives.
        payload: ``body`` decoded, key order kept. Never changed by anyone.
        model: the body's ``model``.
        stream: whether the caller asked for server-sent events.
        tenant: whom the request belongs to; ``"default"`` while no keys are configured.
        template: the name the caller gave (header or metadata), or None: it is learned.
        upstream: the name of the upstream that takes the call.
        use_cache: False when the caller opted out with ``x-promptcache-cache: off``.
        want_body: True when the caller wants the diagnosis inside the JSON body too.
        key_id: the id of the key that was shown, None where it is none of the file's.
        changes: what of it was changed on its way to the upstream.
        trace: the caller's ``traceparent`` as it was sent, or None.
        continuation: what it goes on from and where its answer is kept, for a call of the Responses API that
            the gateway translates.
    """

    id: str
    received_at: float
    dialect: Dialect
    path: str
    body: bytes
    payload: Mapping[str, Any]
    model: str
    stream: bool
    tenant: str
    template: str | None
    upstream: str
    use_cache: bool
    want_body: bool
    key_id: str | None = None
    changes: tuple[Change, ...] = ()
    trace: str | None = None
    continuation: Turn | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A provider's own question about its cache: how a request differs from that of an earlier answer.

    Attributes:
        dialect: in whose form it is asked: Anthropic's ``diagnostics``, or OpenAI's
            ``prompt_cache_options.comparison_response_id``.
        response_id: the earlier answer, None where there is none yet to compare with.
        by_caller: False where the gateway asks by itself, and keeps the answer to itself.
        to_provider: the upstream answers it itself; else the gateway does.
    """

    dialect: Dialect
    response_id: str | None
    by_caller: bool = True
    to_provider: bool = False


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What the built-in engine knows exactly when it admits a request. All counts are tokens.

    Attributes:
        prompt_tokens: length of the rendered and tokenized prompt.
        cached_tokens: prompt tokens whose keys and values were reused.
        reused: tokens found in the radix tree (equals ``cached_tokens`` unless reuse was off).
        evicted: further tokens that had been in the tree and were evicted before this request.
        isolated: further tokens that are present, but under another namespace.
        granularity: tokens lost because only whole pages are reused.
        window: tokens lost to a sliding attention window.
        diverged_at: position of the first token that no cached sequence continues with,
            or None when the whole prompt was known.
    """

    prompt_tokens: int
    cached_tokens: int
    reused: int
    evicted: int
    isolated: int
    granularity: int
    window: int
    diverged_at: int | None


@dataclass(frozen=True, slots=True)
class Placement:
    """Which replica of a fleet took a request, and what was known of its prefix then. Counts are tokens.

    Attributes:
        replica: the replica.
        policy: the routing policy that chose it.
        prompt_tokens: length of the prompt as routing estimated it.
        available_tokens: the longest part of the prompt that any replica's cache held.
        chosen_tokens: what the chosen one's held.
        exact: both are what the replicas' own events said, no estimate.
        removed_tokens: what a replica had held beyond ``available_tokens`` and has removed, by its events.
    """

    replica: str
    policy: str
    prompt_tokens: int
    available_tokens: int
    chosen_tokens: int
    exact: bool = False
    removed_tokens: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Outcome:
    """How an exchange ended.

    Attributes:
        status: the HTTP status the caller got; 499 when the caller hung up before the end, and what
            the status would have been (502, 503, 504) when a stream was cut after its 200 was sent.
        usage: the provider's own numbers, normalized; ``Usage.unreported()`` where it gave none.
        ttft_ms: milliseconds from the body's arrival to the first generated output, or None
            where that moment cannot be seen (a foreign upstream that does not stream).
        duration_ms: milliseconds from the body's arrival to the last byte sent.
        engine: the engine's facts, for the built-in upstream only.
        error: the code of the error that ended it (``"upstream_unreachable"``), else None.
        response_id: the ``id`` of the response object, where there was one.
        question: what was asked about the provider's cache, or None.
        answer: the provider's own answer to that as it sent it, None where it gave none.
        changes: what was changed of the request on its way to the upstream that answered.
        placement: which replica took it, where the upstream is a fleet.
        estimate: what it has used by an estimate, where one was wanted and ``usage`` does not say; else None.
    """

    status: int
    usage: Usage
    ttft_ms: float | None
    duration_ms: float
    engine: EngineFacts | None
    error: str | None
    response_id: str | None
    question: Question | None = None
    answer: Mapping[str, Any] | None = None
    changes: tuple[Change, ...] = ()
    placement: Placement | None = None
    estimate: Usage | None = None
