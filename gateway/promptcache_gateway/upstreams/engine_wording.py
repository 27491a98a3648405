"""The engine's errors in the gateway's words: one sentence for a caller, one line for who starts it.

The engine's classes are known here by their names alone: only `local` may import them.
"""

from __future__ import annotations

from promptcache_gateway.errors import ApiError, SettingsError, StartupError

_SERVER, _REQUEST = "server_error", "invalid_request_error"
_ERRORS: dict[str, tuple[int, str, str]] = {
    "ConfigError": (400, _REQUEST, "invalid_value"),
    "GrammarError": (400, _REQUEST, "invalid_schema"),
    "ContextLengthError": (400, _REQUEST, "context_length_exceeded"),
    "EmptyPromptError": (400, _REQUEST, "invalid_value"),
    "InvalidTokenError": (400, _REQUEST, "invalid_value"),
    "QueueFullError": (429, "rate_limit_error", "queue_full"),
    "DeadEndError": (400, _REQUEST, "invalid_schema"),
    "DeadlineError": (504, _SERVER, "deadline_exceeded"),
    "EngineStoppedError": (503, _SERVER, "engine_unavailable"),
}
_OTHERWISE = (500, _SERVER, "engine_error")


def api_error(error: Exception, field: str) -> ApiError:
    """The API's answer to one of the engine's errors; ``field`` is where the prompt was."""
    kinds = (kind.__name__ for kind in type(error).__mro__)
    status, kind, code = next((_ERRORS[name] for name in kinds if name in _ERRORS), _OTHERWISE)
    named = str(getattr(error, "field", field))
    return ApiError(
        status,
        sentence(error),
        kind=kind,
        param=named if status == 400 else None,
        code=code,
        retry_after=1 if status == 429 else None,
    )


def sentence(error: Exception) -> str:
    """Problem and remedy of an error as sentences."""
    text = f"{_ended(_problem(error))} {_ended(_remedy(error))}".strip()
    return text[:1].upper() + text[1:]


def cannot_start(error: Exception, setting: str | None = None) -> StartupError:
    """Why the engine cannot be loaded; ``setting``: of ``[engine]``, at fault where the error names none."""
    if isinstance(error, ImportError):
        return StartupError(
            f"The built-in engine needs packages that are not installed ({error.name}).",
            remedy="pip install 'promptcache[engine]', or name a server with --upstream URL.",
        )
    problem, remedy = _ended(f"he built-in engine cannot start: {_problem(error)}"), _ended(_remedy(error))
    field = getattr(error, "field", setting)
    if field is None:
        return StartupError(f"T{problem}", remedy=remedy)
    return SettingsError(f"engine.{field}", f"t{problem}", remedy=remedy)


def check_room(holds: int, least: int, *, cache_sized: bool) -> None:
    """Raise `SettingsError` where not even the shortest chat fits: every request would end in an error.

    ``cache_sized``: whether it is the cache's own size that was set.
    """
    if least <= holds:
        return
    setting = "engine.kv_cache_tokens" if cache_sized else "engine.max_context"
    raise SettingsError(
        setting,
        f"the context holds {holds} tokens, and the shortest chat of this model needs {least}.",
        remedy="Leave it out, or give it thousands.",
    )


def _problem(error: Exception) -> str:
    own = getattr(error, "problem", None)
    return str(own or str(error).removesuffix(f" {_remedy(error)}") or type(error).__name__)


def _remedy(error: Exception) -> str:
    return str(getattr(error, "remedy", ""))


def _ended(text: str) -> str:
    """The sentence with its full stop."""
    return text if not text or text.endswith((".", "?", "!")) else f"{text}."
