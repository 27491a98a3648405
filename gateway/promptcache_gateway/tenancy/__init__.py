"""Who may call: keys, the tenants they belong to, and what each tenant may use."""

from promptcache_gateway.tenancy.caller import Caller
from promptcache_gateway.tenancy.ledger import Ledger
from promptcache_gateway.tenancy.limits import Limits, TenantLimits

__all__ = ["Caller", "Ledger", "Limits", "TenantLimits"]
