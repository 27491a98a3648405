"""Asks a running gateway's admin API, for the commands that need what it remembers.

What an error means to the user is left to the command. Standard library only.
"""

from __future__ import annotations

import json
import os
import urllib.request
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

_ASK_S = 60
NEEDS_ADMIN_KEY = "Set PROMPTCACHE_API_KEY to an admin key."


def call_admin(
    url: str, path: str, *, method: str | None = None, body: Mapping[str, Any] | None = None
) -> Any:
    """The JSON that ``/promptcache/v1/PATH`` of the gateway at ``url`` answers.

    Args:
        url: the gateway, with or without ``/v1``. Its key is read from ``PROMPTCACHE_API_KEY``.
        path: already quoted.
        method: GET, or POST where there is a ``body``, unless it is given.
        body: sent as JSON.

    Raises:
        SettingsError: ``url`` is no http address.
        urllib.error.HTTPError: the gateway refuses.
        OSError: nothing answers.
        ValueError: the answer is no JSON.
    """
    if not url.startswith(("http://", "https://")):
        raise SettingsError("--url", f"{url!r} is no http:// or https:// address.")
    key = os.environ.get("PROMPTCACHE_API_KEY", "")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(  # noqa: S310 - checked above
        f"{url.rstrip('/').removesuffix('/v1')}/promptcache/v1/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers=headers if body is None else headers | {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=_ASK_S) as answer:  # noqa: S310
        return json.load(answer)
