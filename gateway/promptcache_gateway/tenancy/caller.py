"""The caller of a request, as far as the gateway knows them: a tenant, a key, whether they administer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.tenancy.budgets import Budget

DEFAULT_TENANT = "default"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls.

    Attributes:
        tenant: whose requests, templates and prefixes these are.
        admin: may see all tenants and use the admin API and the dashboard.
        key_id: the id of the key that was shown, None where it is none of the file's.
        budget: what that key may spend, None: as much as its tenant.
    """

    tenant: str = DEFAULT_TENANT
    admin: bool = False
    key_id: str | None = None
    budget: Budget | None = None


ANYONE = Caller(admin=True)
"""Everyone who reaches a gateway without keys: it listens on loopback only, and they own the machine."""
OPERATOR = Caller(admin=True)
"""Who shows a key out of the gateway's own environment."""
