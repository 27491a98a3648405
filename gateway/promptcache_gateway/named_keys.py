"""Keys of upstreams and replicas: in the environment or in a file of their own, never in promptcache.toml.

What is shared and checked in must hold no secret.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_key(where: str, variable: str | None, file: str | None, environ: Mapping[str, str]) -> str | None:
    """The key that a variable or a file holds; None where neither is named.

    Args:
        where: whose key it is, as messages call it: ``upstreams.openai``.
        variable: the name of an environment variable.
        file: the path of a file.
        environ: the environment.

    Raises:
        SettingsError: one that was named is not there; an unauthorized call would be worse.
    """
    if variable is not None and file is not None:
        raise SettingsError(where, "has both api_key_env and api_key_file.", remedy="Keep one.")
    if variable is not None:
        if not variable.isidentifier():  # which may be a key that was put there by mistake
            raise SettingsError(
                f"{where}.api_key_env",
                "is no variable's name.",
                remedy="Put the key into a variable, and write that one's name here.",
            )
        key = environ.get(variable, "").strip()
        if not key:
            raise SettingsError(
                f"{where}.api_key_env", f"{variable} is not set.", remedy="Set it, or drop the line."
            )
        if not key.isprintable():
            raise SettingsError(
                f"{where}.api_key_env",
                f"{variable} does not hold one key.",
                remedy="Set it to the key alone, in one line.",
            )
        return key
    return None if file is None else _key_in(where, Path(file).expanduser())


def common_key(environ: Mapping[str, str]) -> str | None:
    """The key of ``[upstream]``; raises `SettingsError` where the variable holds something else."""
    key = environ.get("PROMPTCACHE_UPSTREAM_API_KEY", "").strip()
    if not key.isprintable():
        raise SettingsError(
            "PROMPTCACHE_UPSTREAM_API_KEY",
            "does not hold one key.",
            remedy="Set it to the key alone, in one line.",
        )
    return key or None


def _key_in(name: str, path: Path) -> str:
    where = f"{name}.api_key_file"
    try:
        key = path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            where, f"cannot read {path}.", remedy="Name a file that holds the key, or drop the line."
        ) from error
    if not key or not key.isprintable():
        raise SettingsError(
            where, f"{path} does not hold one key.", remedy="Write the key alone into it, in one line."
        )
    return key
