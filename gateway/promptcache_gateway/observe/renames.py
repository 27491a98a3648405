"""What an operator calls a template instead of the name it came with.

A template's own name, learned or its caller's, stays what it is recognized by; the name shown is looked up
here. Two templates shown under one name are one from then on. Keeping renames over a restart is the store's.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.observe.template_name import TemplateName

LEARNED = "learned-"
"""What the names of learned templates begin with."""


class Renames:
    """Names shown instead of own names, by tenant. Safe to share between threads."""

    def __init__(self) -> None:
        self._shown: dict[str, dict[str, str]] = {}
        self._lock = Lock()

    def recall(self, known: Iterable[tuple[str, str, str]]) -> None:
        """Know the renames of earlier runs again: tenant, own name, name shown."""
        with self._lock:
            for tenant, own, shown in known:
                self._shown.setdefault(tenant, {})[own] = shown

    def known(self) -> list[tuple[str, str, str]]:
        """Every rename: tenant, own name, name shown."""
        with self._lock:
            return [(tenant, own, to) for tenant, names in self._shown.items() for own, to in names.items()]

    def rename(self, tenant: str, name: str, to: str) -> dict[str, str]:
        """Show ``to`` where ``name`` was shown; every own name that this concerns, and ``to``.

        An own name that is shown as itself again is told, too, and forgotten.
        """
        with self._lock:
            names = self._shown.setdefault(tenant, {})
            changed = {own: to for own, shown in names.items() if shown == name} | {name: to}
            names.update(changed)
            for own in [own for own, shown in names.items() if own == shown]:
                del names[own]
            return changed

    def is_taken(self, tenant: str, to: str, by: str) -> bool:
        """Whether ``to`` is an own name that is shown as something else than ``by``."""
        return self._shown.get(tenant, {}).get(to, by) != by

    def shown(self, tenant: str, own: str) -> str:
        """The name to show for an own name."""
        names = self._shown.get(tenant)
        return own if names is None else names.get(own, own)

    def apply(self, tenant: str, found: TemplateName) -> TemplateName:
        """A template under the name to show; those shown under one name are compared with each other."""
        names = self._shown.get(tenant)
        shown = None if names is None else names.get(found.name)
        if shown is None:
            return found
        own_family = found.family == family_of(found.name)
        return replace(found, name=shown, family=family_of(shown) if own_family else found.family)

    def forget(self, tenant: str) -> None:
        """Forget a tenant's renames."""
        with self._lock:
            self._shown.pop(tenant, None)


def family_of(name: str) -> str:
    """Within which family the requests of a template are compared."""
    return name if name.startswith(LEARNED) else f"named {name}"
