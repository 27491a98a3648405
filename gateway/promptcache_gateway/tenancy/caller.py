"""The caller of a request, as far as the gateway knows them: a tenant, and whether they administer."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_TENANT = "default"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls.

    Attributes:
        tenant: whose requests, templates and prefixes these are.
        admin: may see all tenants and use the admin API and the dashboard.
    """

    tenant: str = DEFAULT_TENANT
    admin: bool = False


ANYONE = Caller(admin=True)
"""Everyone who reaches a gateway without keys: it listens on loopback only, and they own the machine."""
OPERATOR = Caller(admin=True)
"""Who shows a key out of the gateway's own environment."""
