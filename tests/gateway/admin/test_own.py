"""A tenant's own view: its templates and requests, nothing of others, not even that there are any."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.admin.own import own_request, own_template
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.tenancy.key_file import KeyFile
from promptcache_gateway.tenancy.own_paths import own_scope
from tests.gateway.serving import Served, serve
from tests.gateway.store.records import hit, miss, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream

V1 = "/promptcache/v1"


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    """A gateway that has recorded requests of two tenants."""
    settings = Settings(
        upstreams=(UpstreamSettings(url=mock.url, name="u"),), data_dir=tmp_path, stored_keys=True
    )
    file = KeyFile(tmp_path / "keys.json")
    secrets = {name: file.create(name, admin=name == "boss")[0] for name in ("shop", "rival", "boss")}
    with serve(settings) as running:
        running.keys = secrets  # type: ignore[attr-defined]
        journal = running.gateway.observer.journal
        assert journal is not None
        for one in RECORDS:
            journal.record(one)
        yield running


RECORDS = (
    record(hit(), id="pcr_shop1", tenant="shop", template="support"),
    record(miss("PC801", 0, attribution="expected"), id="pcr_shop2", tenant="shop", template="support"),
    record(
        miss("PC808", 700, attribution="expected", lost_usd=0.7),
        id="pcr_shop3",
        tenant="shop",
        template="support",
    ),
    record(
        miss(
            "PC803",
            500,
            causes=("PC803", "PC808"),
            losses={"PC803": 300, "PC808": 200},
            lost_usd=0.5,
        ),
        id="pcr_shop4",
        tenant="shop",
        template="other",
    ),
    record(miss("PC101"), id="pcr_rival", tenant="rival", template="secret-plan"),
)


def ask(served: Served, who: str, path: str) -> Any:
    headers = {"x-api-key": served.keys[who]}  # type: ignore[attr-defined]
    return served.http.get(path, headers=headers)


def test_a_tenant_sees_its_own_requests_and_no_others(served: Served) -> None:
    rows = ask(served, "shop", f"{V1}/requests").json()["data"]
    assert [row["id"] for row in rows] == ["pcr_shop4", "pcr_shop3", "pcr_shop2", "pcr_shop1"]
    assert ask(served, "rival", f"{V1}/requests").json()["data"][0]["id"] == "pcr_rival"
    assert len(ask(served, "boss", f"{V1}/requests").json()["data"]) == 5


@pytest.mark.parametrize(
    "query",
    [
        "tenant=rival",
        "tenant=rival&tenant=rival",
        "a=1&tenant=rival",
        "tenant=",
        "%74enant=rival",
        "tenant=rival;x=1",
    ],
)
def test_no_query_leads_to_another_tenant(served: Served, query: str) -> None:
    rows = ask(served, "shop", f"{V1}/requests?{query}").json()["data"]
    assert {row["tenant"] for row in rows} == {"shop"}
    assert {row["name"] for row in ask(served, "shop", f"{V1}/templates?{query}").json()} == {
        "support",
        "other",
    }
    assert ask(served, "shop", f"{V1}/requests/pcr_rival?{query}").status_code == 404
    assert ask(served, "shop", f"{V1}/templates/secret-plan?{query}").status_code == 404


def test_its_own_are_shown_one_by_one(served: Served) -> None:
    found = ask(served, "shop", f"{V1}/requests/pcr_shop1").json()
    assert (found["id"], found["diagnosis"]["hit"]) == ("pcr_shop1", True)
    template = ask(served, "shop", f"{V1}/templates/support").json()
    assert template["requests"] == 3
    assert all("lost_tokens" not in hour for hour in template["hours"])
    page = ask(served, "shop", f"{V1}/requests?template=support&limit=2").json()
    assert len(page["data"]) == 2
    rest = ask(served, "shop", f"{V1}/requests?template=support&limit=2&before={page['next']}").json()
    assert [row["id"] for row in rest["data"]] == ["pcr_shop1"]


def test_it_is_not_told_that_a_prefix_is_cached_for_another(served: Served) -> None:
    ids = [f"requests/pcr_shop{number}" for number in (1, 2, 3, 4)]
    shown = "".join(
        ask(served, "shop", f"{V1}/{path}").text
        for path in ("requests", "templates", "templates/support", "templates/other", *ids)
    )
    assert "PC808" not in shown
    assert "another tenant" not in shown
    first = ask(served, "shop", f"{V1}/requests/pcr_shop3").json()["diagnosis"]
    assert (first["cause"], first["causes"], first["attribution"]) == ("PC801", ["PC801"], "expected")
    assert [
        first[name] for name in ("lost_tokens", "lost_usd", "expected_cached_tokens", "reusable_tokens")
    ] == [None] * 4
    both = ask(served, "shop", f"{V1}/requests/pcr_shop4").json()["diagnosis"]
    assert (both["causes"], both["losses"], both["lost_tokens"]) == (["PC803"], {"PC803": 300}, 300)
    assert both["lost_usd"] == pytest.approx(0.3)
    assert ask(served, "boss", f"{V1}/requests/pcr_shop3").json()["diagnosis"]["cause"] == "PC808"


def test_what_is_said_of_first_requests_adds_up(served: Served) -> None:
    support = ask(served, "shop", f"{V1}/templates/support").json()
    assert [(cause["code"], cause["requests"], cause["lost_tokens"]) for cause in support["causes"]] == [
        ("PC801", 2, 0)
    ]
    assert support["lost_tokens"] == 0
    rows = ask(served, "shop", f"{V1}/requests?cause=PC801").json()["data"]
    assert [row["id"] for row in rows] == ["pcr_shop3", "pcr_shop2"]
    assert ask(served, "shop", f"{V1}/requests?cause=PC808").json() == {"data": [], "next": None}


@pytest.mark.parametrize(
    "path",
    [
        "/metrics",
        "/dashboard",
        f"{V1}/events",
        f"{V1}/costs",
        f"{V1}/timeline",
        f"{V1}/budgets",
        f"{V1}/engine",
        f"{V1}/own/requests?tenant=rival",
        f"{V1}/requests/",
        f"{V1}/openapi.json",
    ],
)
def test_everything_else_is_for_admins(served: Served, path: str) -> None:
    assert ask(served, "shop", path).status_code == 403


def test_changing_anything_is_for_admins(served: Served) -> None:
    headers = {"x-api-key": served.keys["shop"]}  # type: ignore[attr-defined]
    for method, path in (("POST", "templates/rename"), ("DELETE", "tenants/shop"), ("POST", "cache/reset")):
        assert served.http.request(method, f"{V1}/{path}", headers=headers, json={}).status_code == 403
    assert ask(served, "shop", f"{V1}/causes").status_code == 200


def test_an_admin_can_look_at_what_a_tenant_sees(served: Served) -> None:
    theirs = ask(served, "shop", f"{V1}/requests").json()
    assert ask(served, "boss", f"{V1}/own/requests?tenant=shop").json() == theirs
    assert ask(served, "boss", f"{V1}/own/requests").status_code == 400


def test_what_an_operator_knows_is_not_in_it() -> None:
    one = record(miss("PC101"), upstream="vllm-7", key_id="k1").to_dict()
    shown = own_request({**one, "source": {"file": "prompts/x.j2"}, "placement": {"replica": "a"}})
    assert "vllm-7" not in json.dumps(shown)
    assert {"source", "placement", "upstream", "key_id"}.isdisjoint(shown)


def test_a_template_without_such_a_cause_is_as_it_was() -> None:
    row = {"lost_tokens": 5, "lost_usd": None, "causes": [{"code": "PC101"}]}
    assert own_template(row) == row


@pytest.mark.parametrize("tenant", ["a&tenant=b", "ä/ö", "x y", "%2e"])
def test_a_tenants_name_is_quoted(tenant: str) -> None:
    scope = {"method": "GET", "path": f"{V1}/templates/a b", "query_string": b"limit=1"}
    found = own_scope(scope, tenant)
    assert found is not None
    assert found["path"] == f"{V1}/own/templates/a b"
    assert found["raw_path"] == b"/promptcache/v1/own/templates/a%20b"
    from urllib.parse import parse_qsl

    assert parse_qsl(found["query_string"].decode()) == [("limit", "1"), ("tenant", tenant)]
    many = {**scope, "query_string": b"&".join([b"a=1"] * 100)}
    assert own_scope(many, tenant) is None
