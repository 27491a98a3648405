"""What a call asks of a fleet: session, salt, lifetime."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from promptcache_gateway.exchange import Call
from promptcache_gateway.fleet.asking import read_asked
from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings
from promptcache_gateway.mutations.cache_keys import put_member
from promptcache_gateway.settings import UpstreamSettings
from promptcache_gateway.upstreams.base import Inbound

if TYPE_CHECKING:
    from promptcache_gateway.fleet.prefix import Prefix

FLEET = FleetSettings(replicas=(ReplicaSettings(url="http://a"),))
TEXT = "Answer from the handbook. " * 100


def asked(
    payload: dict[str, Any] | None = None, *, dialect: Any = "openai.chat", model: str = "m", **more: Any
) -> Prefix:
    headers = more.pop("headers", [])
    upstream = UpstreamSettings(name="f", fleet=FLEET, tenant_salt=more.pop("tenant_salt", False))
    body = payload or {"messages": [{"role": "user", "content": TEXT}]}
    call = call_of(body, dialect=dialect, model=model, tenant=more.pop("tenant", "t"))
    return read_asked(call, Inbound("POST", headers, b""), upstream, 0.25)


def call_of(body: dict[str, Any], *, dialect: Any, model: str, tenant: str = "t") -> Call:
    return Call(
        id="pcr_1",
        received_at=0.0,
        dialect=dialect,
        path="/v1/chat/completions",
        body=json.dumps(body).encode(),
        payload=body,
        model=model,
        stream=False,
        tenant=tenant,
        template=None,
        upstream="f",
        use_cache=True,
        want_body=False,
    )


@pytest.mark.parametrize("name", [b"x-promptcache-session", b"x-session-affinity", b"x-session-id"])
def test_callers_may_name_their_session(name: bytes) -> None:
    named = asked(headers=[(name, b"s-1")])
    assert named.session == asked(headers=[(name, b" s-1 ")]).session is not None
    assert named.session != asked(headers=[(name, b"s-1")], tenant="u").session
    assert asked(headers=[(name, b"")]).session is None


def test_salts_keep_prefixes_apart_whoever_set_them() -> None:
    own = asked({"cache_salt": "mine", "messages": [{"role": "user", "content": TEXT}]})
    assert own.namespace == "mine"
    assert not set(own.keys) & set(asked().keys)
    assert asked({"cache_salt": 7, "messages": [{"role": "user", "content": TEXT}]}).namespace == ""
    salted = asked(tenant_salt=True)
    assert len(salted.namespace) == 32
    assert salted.namespace != asked(tenant_salt=True, tenant="u").namespace


def test_a_salt_that_a_mutation_adds_counts_too() -> None:
    body = {"model": "m", "prompt": list(range(400))}
    made = call_of(body, dialect="openai.completions", model="m")
    changed, name = put_member(made, Mock(), "cache_salt", "tenant")
    assert name
    salted = read_asked(changed, Inbound("POST", [], b""), UpstreamSettings(name="f", fleet=FLEET), 0.25)
    assert (salted.namespace, salted.token_ids) == (name, tuple(range(400)))
    assert json.loads(changed.body) == changed.payload
    assert "cache_salt" not in made.payload


def test_the_longest_lifetime_of_the_model_counts() -> None:
    assert asked(model="my-own-model").lifetime_s is None
    assert asked(model="claude-opus-4-5").lifetime_s == 3600.0
    assert asked(model="x" * 1000).lifetime_s is None


def test_embeddings_have_no_prefix() -> None:
    assert asked(dialect="openai.embeddings").keys == ()


def test_an_extra_key_is_told_by_no_event_so_that_tokens_are_not_looked_up() -> None:
    plain = {"prompt": list(range(400))}
    assert asked(plain, dialect="openai.completions").token_ids == tuple(range(400))
    assert asked({**plain, "extra_key": "k"}, dialect="openai.completions").token_ids == ()
