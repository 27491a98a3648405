"""Where a tenant's key leads in the admin API: to the tenant's own view, whatever else the request says.

``/promptcache/v1/templates`` and ``requests`` become routes that show one tenant's records only
(`admin.own`), with the tenant of the key in the query. Everything else there is the admins'.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode

if TYPE_CHECKING:
    from starlette.types import Scope

_OPEN = re.compile(r"/promptcache/v1/(templates(?:/.+)?|requests(?:/[^/]+)?)", re.DOTALL)
_PUBLIC = "/promptcache/v1/causes"
_OWN = "/promptcache/v1/own/"
_MAX_FIELDS = 32


def own_scope(scope: Scope, tenant: str) -> Scope | None:
    """The request as one for the tenant's own view; None where it is for nobody but an admin."""
    if scope["method"] not in {"GET", "HEAD"}:
        return None
    if scope["path"] == _PUBLIC:
        return scope
    found = _OPEN.fullmatch(scope["path"])
    if found is None:
        return None
    said = scope.get("query_string", b"").decode("latin-1")
    try:
        fields = parse_qsl(said, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        return None
    kept = [(name, value) for name, value in fields if name != "tenant"]
    path = _OWN + found[1]
    return {
        **scope,
        "path": path,
        "raw_path": quote(path, errors="surrogatepass").encode("ascii"),
        "query_string": urlencode([*kept, ("tenant", tenant)]).encode("ascii"),
    }
