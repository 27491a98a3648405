"""``[mutations]`` of promptcache.toml: which changes are wanted, for which upstreams and templates.

What is said of a template wins over what is said of an upstream, and that over what holds for all. Nothing is
on unless the file says so. What a rule does is said where it is done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

Policy = Literal["off", "template", "tenant", "conversation"]
POLICIES: tuple[Policy, ...] = ("off", "template", "tenant", "conversation")
TTLS = ("5m", "1h")
KEYS: dict[str, type] = {
    "breakpoints": bool,
    "breakpoint_ttl": str,
    "prompt_cache_key": str,
    "cache_salt": str,
    "session_header": str,
    "session": str,
}
"""What may be said of a template, of an upstream and of all."""
UPSTREAM_KEYS: dict[str, type] = {**KEYS, "drop_billing_header": bool}
"""What may be said of an upstream and of all. The header is dropped before a template is known."""

_HEADER = re.compile(r"[a-z0-9][a-z0-9!#$%&'*+.^_`|~-]{0,127}")
_NOT_OURS = frozenset({
    "authorization", "proxy-authorization", "x-api-key", "cookie", "host", "connection", "proxy-connection",
    "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect", "content-length", "content-type",
    "content-encoding", "accept-encoding",
})  # fmt: skip
"""A secret's, the connection's and the body's headers: the gateway sets them, or never sends them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationRules:
    """What is wanted for one request.

    Attributes:
        breakpoints: put ``cache_control`` on prefixes that have proved to repeat (Anthropic's API).
        breakpoint_ttl: the lifetime of those: ``5m`` or ``1h``.
        prompt_cache_key: what the ``prompt_cache_key`` is made from (OpenAI's shape).
        cache_salt: what the ``cache_salt`` is made from (vLLM, SGLang).
        session_header: the header that carries a session's name; empty: none.
        session: what that name is made from.
        drop_billing_header: take out the ``x-anthropic-billing-header`` block in front of ``system``.
    """

    breakpoints: bool = False
    breakpoint_ttl: str = "5m"
    prompt_cache_key: Policy = "off"
    cache_salt: Policy = "off"
    session_header: str = ""
    session: Policy = "conversation"
    drop_billing_header: bool = False

    @property
    def needs_sight(self) -> bool:
        """Whether anything is wanted that depends on what the request says."""
        named = self.session_header and self.session != "off"
        return self.breakpoints or bool(named) or {self.prompt_cache_key, self.cache_salt} != {"off"}

    def needs_look(self, *policies: Policy) -> str | None:
        """The first that marks prefixes, or makes a name by one of these policies; None: there is none."""
        session: Policy = self.session if self.session_header else "off"
        by_policy = {
            "prompt_cache_key": self.prompt_cache_key,
            "cache_salt": self.cache_salt,
            "session": session,
        }
        if self.breakpoints:
            return "breakpoints"
        return next((name for name, policy in by_policy.items() if policy in policies), None)


@dataclass(frozen=True)
class MutationSettings:
    """What was configured: for all, and what differs for upstreams and templates."""

    rules: MutationRules = field(default_factory=MutationRules)
    upstreams: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    templates: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def anything(self) -> bool:
        """Whether anything but the billing header's block may have to be changed of some request."""
        wanted = [self.for_upstream(name) for name in ("", *self.upstreams)]
        by_template = [
            self.for_call(name, template) for name in ("", *self.upstreams) for template in self.templates
        ]
        return any(rules.needs_sight for rules in (*wanted, *by_template))

    @cached_property
    def drops_anything(self) -> bool:
        """Whether the billing header's block is dropped for some upstream."""
        return any(self.for_upstream(name).drop_billing_header for name in ("", *self.upstreams))

    def needs_look(self) -> str | None:
        """The first setting that only a look at the prompt can follow, by its place; None: there is none."""
        places = [("mutations", self.rules)]
        places += [(f"mutations.upstreams.{name}", self.for_upstream(name)) for name in self.upstreams]
        for where, rules in places:
            if (found := rules.needs_look("conversation", "template")) is not None:
                return f"{where}.{found}"
        for template in self.templates:  # which its caller names: that needs no look
            for upstream in ("", *self.upstreams):
                if (found := self.for_call(upstream, template).needs_look("conversation")) is not None:
                    return f"mutations.templates.{template}.{found}"
        return None

    def for_upstream(self, upstream: str) -> MutationRules:
        """The rules of an upstream, before the template is known."""
        given = self.upstreams.get(upstream)
        return replace(self.rules, **given) if given else self.rules

    def for_call(self, upstream: str, template: str) -> MutationRules:
        """The rules of an upstream and a template."""
        rules, given = self.for_upstream(upstream), self.templates.get(template)
        return replace(rules, **given) if given else rules


def read_mutations(table: Mapping[str, Any], upstreams: frozenset[str] | None = None) -> MutationSettings:
    """The settings in ``[mutations]``.

    Args:
        table: the table, its keys and types checked.
        upstreams: the names there are; None: they are not known here.

    Raises:
        SettingsError: a value is none that can be used, or an upstream is not there.
    """
    given = {name: dict(value) for name, value in table.items() if name in {"upstreams", "templates"}}
    for where, values in _places(table):
        _check(where, values)
    for name in given.get("upstreams", ()):
        if upstreams is not None and name not in upstreams:
            raise SettingsError(
                f"mutations.upstreams.{name}",
                "there is no such upstream.",
                remedy=f"Known: {', '.join(sorted(upstreams))}.",
            )
    general = {name: value for name, value in table.items() if name not in given}
    return MutationSettings(
        MutationRules(**_lower(general)),
        {name: _lower(values) for name, values in given.get("upstreams", {}).items()},
        {name: _lower(values) for name, values in given.get("templates", {}).items()},
    )


def _places(table: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    found: list[tuple[str, Mapping[str, Any]]] = [("mutations", table)]
    for kind in ("upstreams", "templates"):
        found += [(f"mutations.{kind}.{name}", values) for name, values in table.get(kind, {}).items()]
    return found


def _check(where: str, values: Mapping[str, Any]) -> None:
    for name in ("prompt_cache_key", "cache_salt", "session"):
        if (said := values.get(name, "off")) not in POLICIES:
            raise SettingsError(
                f"{where}.{name}", f"{said!r} is no choice.", remedy=f"Known: {', '.join(POLICIES)}."
            )
    if (ttl := values.get("breakpoint_ttl", "5m")) not in TTLS:
        raise SettingsError(
            f"{where}.breakpoint_ttl", f"{ttl!r} is no lifetime.", remedy=f"Known: {', '.join(TTLS)}."
        )
    header = values.get("session_header", "").lower()
    if header and (
        not _HEADER.fullmatch(header) or header in _NOT_OURS or header.startswith("x-promptcache-")
    ):
        raise SettingsError(
            f"{where}.session_header",
            f"{header[:80]!r} is no header that can be added.",
            remedy="Name the one the server reads, as in x-session-affinity or x-grok-conv-id.",
        )


def _lower(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.lower() if name == "session_header" else value for name, value in values.items()}
