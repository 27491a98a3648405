"""The engine's errors in the gateway's words: one sentence for a caller, one line for who starts it.

Which error means which HTTP status is `local`'s to say; nothing here knows the engine's classes.
"""

from __future__ import annotations

from promptcache_gateway.errors import SettingsError, StartupError


def sentence(error: Exception) -> str:
    """Problem and remedy of an error as sentences."""
    text = f"{_ended(_problem(error))} {_ended(_remedy(error))}".strip()
    return text[:1].upper() + text[1:]


def cannot_start(error: Exception) -> StartupError:
    """Why the engine cannot be loaded."""
    if isinstance(error, ImportError):
        return StartupError(
            f"The built-in engine needs packages that are not installed ({error.name}).",
            remedy="pip install 'promptcache[engine]', or name a server with --upstream URL.",
        )
    problem = _ended(f"The built-in engine cannot start: {_problem(error)}")
    return StartupError(problem, remedy=_ended(_remedy(error)))


def no_room(setting: str, holds: int, least: int) -> SettingsError:
    """The cache holds not even the shortest chat: every request would be answered with an error."""
    return SettingsError(
        setting,
        f"the context holds {holds} tokens, and the shortest chat of this model needs {least}.",
        remedy=f"Leave {setting} out, or give it thousands.",
    )


def _problem(error: Exception) -> str:
    own = getattr(error, "problem", None)
    return str(own or str(error).removesuffix(f" {_remedy(error)}") or type(error).__name__)


def _remedy(error: Exception) -> str:
    return str(getattr(error, "remedy", ""))


def _ended(text: str) -> str:
    """The sentence with its full stop."""
    return text if not text or text.endswith((".", "?", "!")) else f"{text}."
