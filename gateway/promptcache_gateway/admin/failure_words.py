"""How a request failed, in words: what happened, whose doing it is, and what to do; by its recorded code.

Codes that an upstream made itself are its own: of those the status says whose doing it is, as far as it can.
"""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """What is said of a failure.

    Attributes:
        what: what happened.
        whose: ``caller``, ``upstream``, ``gateway`` or ``unknown``.
        remedy: what to do.
    """

    what: str
    whose: str
    remedy: str


_LOOK_UPSTREAM = "Look at the upstream, and at what stands between it and the gateway."
_SMALLER = "Send less at a time, or raise the limit that the error named."

_KNOWN = {
    "caller_gone": Words(
        "The caller hung up before its answer was complete; the call to the upstream was cancelled.",
        "caller",
        "Nothing, where it was meant. Where many do, compare their timeout with the time to the first token.",
    ),
    "caller_stalled": Words(
        "The caller took nothing of its answer for `send_timeout_s` seconds and was hung up on.",
        "caller",
        "Look for a client or a proxy that stopped reading.",
    ),
    "request_timeout": Words(
        "The request did not come within the time it had.", "caller", "Look at the caller's network."
    ),
    "upstream_unreachable": Words(
        "No connection to the upstream could be made.",
        "upstream",
        "See whether it runs, and whether its address, port and certificate are those configured.",
    ),
    "upstream_timeout": Words(
        "The upstream did not answer, or fell silent in the middle, for as long as the gateway waits.",
        "upstream",
        "Look at its load. Where its prefills take so long, raise `read_timeout_s`.",
    ),
    "upstream_disconnected": Words(
        "The upstream closed the connection before its answer was complete.", "upstream", _LOOK_UPSTREAM
    ),
    "upstream_torn": Words(
        "The stream ended in good order before its answer did: neither the API's last event nor a reason why "
        "it ended was in it. The caller got what there was.",
        "upstream",
        _LOOK_UPSTREAM + " It may have run out of memory, or been stopped.",
    ),
    "upstream_unreadable": Words(
        "The upstream sent what its API does not have, so that it could not be translated.",
        "upstream",
        "See whether `kind` and `apis` are those of this server.",
    ),
    "upstream_answer_too_large": Words(
        "The answer was larger than the gateway holds to translate it.", "upstream", _SMALLER
    ),
    "upstream_circuit_open": Words(
        "The upstream failed several times in a row and was left alone for a moment; nothing was sent.",
        "upstream",
        "See the failures before this one; it is asked again by itself.",
    ),
    "fleet_busy": Words(
        "Every replica had as many requests as it may have until `queue_s` was over; nothing was sent.",
        "gateway",
        "Send less at a time, or add replicas.",
    ),
    "engine_unavailable": Words(
        "The built-in engine does not answer.", "gateway", "See its log, and start the gateway again."
    ),
    "engine_error": Words(
        "The built-in engine failed at this request.", "gateway", "The log has the reason; please report it."
    ),
    "deadline_exceeded": Words(
        "The request took longer than the engine gives one.", "gateway", "Ask for less, or raise the limit."
    ),
    "shutting_down": Words(
        "The gateway was stopped while the request ran.",
        "gateway",
        "Send it again. A longer `--shutdown-grace` lets more of them end.",
    ),
    "overloaded": Words(
        "The requests under way took all the memory that is set aside for them.",
        "gateway",
        "Send it again later, or raise the limit that the error named.",
    ),
    "out_of_files": Words(
        "The gateway may open no more files.", "gateway", "Raise the process's limit (`ulimit -n`)."
    ),
    "internal_error": Words(
        "The gateway failed at this request.", "gateway", "The log has the reason; please report it."
    ),
    "context_length_exceeded": Words(
        "Prompt and answer together are longer than the model's context.", "caller", "Shorten the prompt."
    ),
    "insufficient_quota": Words(
        "A budget, or the account at the provider, is used up.",
        "caller",
        "Raise it, or wait for its period to end.",
    ),
    "rate_limit_exceeded": Words(
        "More was sent than the limits of the account allow.",
        "caller",
        "Send less at a time, and try again later.",
    ),
}
_REDIRECTED = Words(
    "The upstream answered with a redirect, and none is followed.",
    "upstream",
    "See which address its `location` names, and configure that one.",
)
_KNOWN |= {f"upstream_{status}": _REDIRECTED for status in (301, 302, 303, 307, 308)}


def failure_words(status: int, error: str | None) -> dict[str, str] | None:
    """What is to be said of how a request ended; None where it did not fail."""
    if error is None and status < 400:
        return None
    return (_KNOWN.get(error or "") or _by_status(status, error))._asdict()


def _by_status(status: int, error: str | None) -> Words:
    """Of a code that is not ours."""
    named = "" if error is None else f" ({error})"
    if status in {401, 403}:
        said = f"The upstream did not accept the key{named}."
        return Words(said, "unknown", "See which key is sent there: the caller's, or the one configured.")
    if status == 404:
        said = f"The upstream does not have what was asked for{named}."
        return Words(said, "caller", "See whether the model's name and the path are known there.")
    if status == 429:
        return Words(f"The upstream refused so many requests{named}.", "unknown", "Send less at a time.")
    if 400 <= status < 500:
        return Words(f"The request was refused as wrong{named}.", "caller", "Its answer names the fault.")
    return Words(f"The upstream failed, and said so{named}.", "upstream", _LOOK_UPSTREAM)
