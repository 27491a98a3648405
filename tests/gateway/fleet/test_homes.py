"""A request that goes on from an earlier answer reaches the replica, or the account, that keeps it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.exchange import Call
from promptcache_gateway.fleet.homes import Homes, Named, answer, continued, conversation, kept_names
from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.tenancy.key_file import KeyFile
from tests.gateway.fleet.keepers import Keeper, fleet_of_keepers, keepers, response
from tests.gateway.fleet.servers import served_fleet, states, view
from tests.gateway.mock_upstream import wait_until
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.serving import Served


@pytest.fixture
def four() -> Iterator[list[Keeper]]:
    with keepers(4) as servers:
        yield servers


def ask(gateway: Served, **body: Any) -> Any:
    return gateway.post(response(**body), path="/v1/responses")


def asked(servers: list[Keeper]) -> list[int]:
    return [len(one.asked) for one in servers]


@pytest.mark.parametrize("stream", [False, True])
def test_it_goes_on_where_it_began(four: list[Keeper], tmp_path: Path, *, stream: bool) -> None:
    with served_fleet(fleet_of_keepers(four), tmp_path) as gateway:
        names = []
        for _ in four:
            told = ask(gateway, stream=stream)
            names += re.findall(r'"id":\s*"(resp_\d_\d+)"', told.text)[:1]
        for name in names * 3:
            told = ask(gateway, previous_response_id=name, stream=stream)
            assert told.status_code == 200, told.text
        assert asked(four) == [4, 4, 4, 4], "nobody was asked for what another keeps"


def test_a_conversation_goes_on_where_it_is_kept(four: list[Keeper], tmp_path: Path) -> None:
    four[2].kept.add("conv_1")
    with served_fleet(fleet_of_keepers(four), tmp_path) as gateway:
        for _ in range(5):
            assert ask(gateway, conversation="conv_1").status_code == 200
        assert len(four[2].asked) == 5
        assert sum(asked(four)) <= 8, "asked around once"


@pytest.mark.parametrize(
    "unknown", [("404 Not Found", "not_found"), ("400 Bad Request", "previous_response_not_found")]
)
def test_who_keeps_it_is_found_where_that_is_not_known(
    four: list[Keeper], tmp_path: Path, unknown: tuple[str, str]
) -> None:
    for one in four:
        one.unknown = unknown
    four[3].kept.add("resp_old")
    with served_fleet(fleet_of_keepers(four), tmp_path) as gateway:
        for _ in range(3):
            assert ask(gateway, previous_response_id="resp_old").status_code == 200
        assert len(four[3].asked) == 3
        assert sum(asked(four)) <= 6
        assert all(one["failures"] == 0 for one in view(gateway)["replicas"])


def test_what_nobody_knows_is_told_as_they_tell_it(four: list[Keeper], tmp_path: Path) -> None:
    with served_fleet(fleet_of_keepers(four), tmp_path, retries=0) as gateway:
        told = ask(gateway, previous_response_id="resp_none")
        assert (told.status_code, told.json()["error"]["code"]) == (404, "not_found")
        assert asked(four) == [1, 1, 1, 1]
        assert set(states(gateway).values()) == {"ready"}


def test_a_home_that_is_ill_is_waited_for_and_nobody_else_is_asked(
    four: list[Keeper], tmp_path: Path
) -> None:
    with served_fleet(fleet_of_keepers(four), tmp_path, retries=0) as gateway:
        name = ask(gateway).json()["id"]
        (home,) = [one for one in four if one.asked]
        home.refuses = "503 Service Unavailable"
        assert ask(gateway, previous_response_id=name).status_code == 503
        home.refuses = ""
        assert ask(gateway, previous_response_id=name).status_code == 200
        assert sorted(asked(four)) == [0, 0, 0, 3]


def test_a_home_that_is_ill_is_nobody_else_s_trouble(four: list[Keeper], tmp_path: Path) -> None:
    with served_fleet(fleet_of_keepers(four), tmp_path, retries=0) as gateway:
        name = ask(gateway).json()["id"]
        (home,) = [one for one in four if one.asked]
        home.refuses = "502 Bad Gateway"
        assert {ask(gateway, previous_response_id=name).status_code for _ in range(9)} == {502, 503}
        assert [ask(gateway).status_code for _ in range(6)] == [200] * 6


def test_a_home_that_is_drained_gets_nothing(four: list[Keeper], tmp_path: Path) -> None:
    with served_fleet(fleet_of_keepers(four), tmp_path, retries=0) as gateway:
        name = ask(gateway).json()["id"]
        (home,) = [one for one in four if one.asked]
        gateway.post({"upstream": "f", "replica": home.name}, path="/promptcache/v1/replicas/drain")
        assert ask(gateway, previous_response_id=name).status_code == 404
        assert len(home.asked) == 1


def test_those_of_one_account_keep_answers_together(four: list[Keeper], tmp_path: Path) -> None:
    listed = tuple(ReplicaSettings(url=one.mock.url, account=f"team-{one.number % 2}") for one in four)
    four[2].kept, four[3].kept = four[0].kept, four[1].kept
    fleet = FleetSettings(replicas=listed, routing="round-robin", health_interval_s=0.05)
    with served_fleet(fleet, tmp_path) as gateway:
        name = ask(gateway).json()["id"]
        for _ in range(6):
            assert ask(gateway, previous_response_id=name).status_code == 200
    (home,) = {number % 2 for number, count in enumerate(asked(four)) if count}
    assert min(asked(four)[home::2]) >= 2, "they share the work"


def test_what_is_not_kept_has_no_home(four: list[Keeper], tmp_path: Path) -> None:
    with served_fleet(fleet_of_keepers(four), tmp_path, retries=0) as gateway:
        ask(gateway, store=False)
        wait_until(lambda: sum(asked(four)) == 1)
        assert len(gateway.gateway.upstreams[0].router.homes) == 0  # type: ignore[attr-defined]


def call(payload: dict[str, Any], *, tenant: str = "t", dialect: Any = "openai.responses") -> Call:
    body = json.dumps(payload).encode()
    return Call(
        "pcr_1", 0.0, dialect, "/v1/responses", body, payload, "m", False, tenant, None, "f", True, False
    )


def test_names_are_digests_and_owners_a_tenant_s_own() -> None:
    named = {"previous_response_id": "resp_1"}
    mine, theirs = continued(call(named)), continued(call(named, tenant="u"))
    assert mine == answer("t", "resp_1") != theirs
    assert mine is not None
    assert theirs is not None
    assert mine.key == theirs.key
    assert b"resp_1" not in b"".join((*mine, *theirs))
    assert continued(call(named, dialect="openai.chat")) is None
    assert continued(call({"previous_response_id": 7})) is None
    assert continued(call({"conversation": {"id": "c"}})) == continued(call({"conversation": "c"}))
    assert kept_names(call({"conversation": {"id": "c"}}), "resp_1") == [
        answer("t", "resp_1"),
        conversation("c"),
    ]
    assert kept_names(call({"store": False}), "resp_1") == kept_names(call({}), None) == []


def test_homes_are_told_once_and_learned() -> None:
    told: list[str] = []
    one, other = Homes(max_homes=2), Homes()
    one.noted = lambda: told.append("new")
    names = [answer("t", name) for name in "123"]
    one.put(names[:2], "a")
    one.put([names[1]], "a")
    one.put([names[2]], "b")
    other.learn(one.news())
    assert (told, one.news(), len(one)) == (["new", "new"], [], 2)
    assert [other.find(name) for name in (*names, None)] == [None, "a", "b", None]
    assert other.is_anothers(answer("u", "3"))


def test_whose_an_answer_is_stays_known() -> None:
    """Where it was found again, or told by who did not know it, it is nobody else's for that."""
    homes, mine, theirs = Homes(), answer("t", "1"), answer("u", "1")
    homes.put([Named(mine.key)], "a")
    assert not homes.is_anothers(mine)
    assert not homes.is_anothers(theirs)
    homes.put([mine], "a")
    told = Homes()
    told.put([Named(mine.key)], "b")
    homes.learn(told.news())
    homes.put([Named(mine.key)], "c")
    assert homes.find(theirs) == "c"
    assert (homes.is_anothers(mine), homes.is_anothers(theirs), homes.is_anothers(None)) == (
        False,
        True,
        False,
    )


def keyed(tenants: str, folder: Path) -> dict[str, str]:
    """A key of each tenant."""
    file = KeyFile(folder / "keys.json")
    return {tenant: file.create(tenant, tenant=tenant)[0] for tenant in tenants}


def test_nobody_goes_on_from_another_tenant_s_answer(four: list[Keeper], tmp_path: Path) -> None:
    keys = keyed("ab", tmp_path)
    upstream = UpstreamSettings(name="f", fleet=fleet_of_keepers(four), retries=0)
    for one in four:
        one.kept.add("resp_old")
    with serve(Settings(upstreams=(upstream,), data_dir=tmp_path, stored_keys=True)) as gateway:

        def go_on(tenant: str, name: str | None) -> Any:
            body = response() if name is None else response(previous_response_id=name)
            return gateway.post(body, path="/v1/responses", x_api_key=keys[tenant])

        name = go_on("a", None).json()["id"]
        before = sum(asked(four))
        refused = go_on("b", name)
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (400, "previous_response_not_found")
        assert (error["param"], "not found" in error["message"]) == ("previous_response_id", True)
        assert sum(asked(four)) == before, "nobody was asked"
        assert go_on("a", name).status_code == 200
        # whose an answer of earlier days is cannot be known: who goes on from it does not make it theirs
        assert [go_on(tenant, "resp_old").status_code for tenant in "bab"] == [200] * 3
