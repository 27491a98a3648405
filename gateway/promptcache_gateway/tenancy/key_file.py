"""The file of keys: names, tenants and hashes; the keys themselves are shown once and kept nowhere.

A key is 32 random bytes, so that one round of SHA-256 hides it as well as many would: there is nothing to
guess. The file is replaced whole and readable by its owner alone; a running gateway reads it again when it
has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from promptcache_gateway.errors import SettingsError, StartupError
from promptcache_gateway.tenancy.budgets import Budget
from promptcache_gateway.tenancy.caller import DEFAULT_TENANT

FILE_NAME = "keys.json"
PREFIX = "pck_"
_MAX_NAME = 64


@dataclass(frozen=True, slots=True)
class StoredKey:
    """What is kept of a key.

    Attributes:
        id: eight hexadecimal digits by which it is revoked.
        name: what its owner calls it.
        tenant: whose requests it makes.
        admin: opens the admin API and the dashboard too.
        digest: SHA-256 of the key, hexadecimal.
        created_at: Unix time in seconds.
        revoked_at: Unix time in seconds, or None while it opens.
        budget_usd: what it may spend in a period, None: as much as its tenant.
        budget_period: ``day`` or ``month``, of UTC.
    """

    id: str
    name: str
    tenant: str
    admin: bool
    digest: str
    created_at: float
    revoked_at: float | None = None
    budget_usd: float | None = None
    budget_period: str = "month"

    @property
    def budget(self) -> Budget | None:
        """The key's own budget in money; raises `SettingsError` where the file holds none that can be."""
        if self.budget_usd is None:
            return None
        return Budget.checked(f"key {self.id}: ", self.budget_usd, self.budget_period)


def digest_of(key: bytes) -> str:
    """What is kept of a key instead of it."""
    return hashlib.sha256(key).hexdigest()


def check_name(name: str, what: str) -> str:
    """The name of a key or a tenant; raises `SettingsError` where it cannot be shown on one line."""
    if not name or len(name) > _MAX_NAME or not name.isprintable() or name != name.strip():
        raise SettingsError(what, f"{name[:80]!r} is no name.", remedy="Use 1 to 64 printable characters.")
    return name


class KeyFile:
    """The keys in one file; a file that is not there holds none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[StoredKey]:
        """All keys, revoked ones too; raises `StartupError` where the file cannot be read as one."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise StartupError(f"cannot read {self.path}: {reason}.") from error
        try:
            keys = [StoredKey(**entry) for entry in json.loads(text)["keys"]]
            _ = [key.budget for key in keys]
        except (ValueError, TypeError, KeyError, SettingsError) as error:
            raise StartupError(
                f"{self.path} is not a file of keys.", remedy="Move it away and create the keys anew."
            ) from error
        return keys

    def create(
        self, name: str, *, tenant: str | None = None, admin: bool = False, budget: Budget | None = None
    ) -> tuple[str, StoredKey]:
        """A new key and what is kept of it; raises `GatewayError` where it cannot be kept.

        Args:
            name: what its owner calls it.
            tenant: whose requests it makes; None: a tenant of the key's name, or for an admin ``default``.
            admin: whether it opens the admin API.
            budget: what it may spend, None: as much as its tenant.
        """
        keys = self.read()
        check_name(name, "NAME")
        owner = (DEFAULT_TENANT if admin else name) if tenant is None else check_name(tenant, "--tenant")
        if any(key.name == name and key.revoked_at is None for key in keys):
            raise SettingsError("NAME", f"there is a key {name!r}.", remedy="Revoke it, or use another name.")
        secret = PREFIX + secrets.token_urlsafe(32)
        made = StoredKey(
            id=secrets.token_hex(4),
            name=name,
            tenant=owner,
            admin=admin,
            digest=digest_of(secret.encode()),
            created_at=time.time(),
            budget_usd=None if budget is None else budget.usd,
            budget_period="month" if budget is None else budget.period,
        )
        self._write([*keys, made])
        return secret, made

    def revoke(self, which: str) -> StoredKey:
        """Close a key, by its id or name; raises `SettingsError` where no open key is called so."""
        keys = self.read()
        for index, key in enumerate(keys):
            if which in {key.id, key.name} and key.revoked_at is None:
                keys[index] = replace(key, revoked_at=time.time())
                self._write(keys)
                return keys[index]
        raise SettingsError(
            "KEY", f"no key that opens is called {which[:80]!r}.", remedy="promptcache keys list"
        )

    def _write(self, keys: list[StoredKey]) -> None:
        content: dict[str, Any] = {"version": 1, "keys": [asdict(key) for key in keys]}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # mkstemp makes it readable by its owner alone.
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{FILE_NAME}.")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise StartupError(f"cannot write {self.path}: {reason}.") from error
