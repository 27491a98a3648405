"""A request that goes on from an earlier answer reaches the replica, or the account, that keeps it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.exchange import Call
from promptcache_gateway.fleet.homes import Homes, answer_key, continued, kept_keys
from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings
from tests.gateway.fleet.keepers import Keeper, fleet_of_keepers, keepers, response
from tests.gateway.fleet.servers import served_fleet, states, view
from tests.gateway.mock_upstream import wait_until

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


def test_keys_are_a_tenant_s_own_and_no_text() -> None:
    named = {"previous_response_id": "resp_1"}
    assert continued(call(named)) == answer_key("t", "resp_1") != continued(call(named, tenant="u"))
    assert continued(call(named, dialect="openai.chat")) is None
    assert continued(call({"previous_response_id": 7})) is None
    assert continued(call({"conversation": {"id": "c"}})) == continued(call({"conversation": "c"}))
    assert kept_keys(call({"conversation": {"id": "c"}}), "resp_1") == [
        answer_key("t", "resp_1"),
        answer_key("t", "c"),
    ]
    assert kept_keys(call({"store": False}), "resp_1") == kept_keys(call({}), None) == []


def test_homes_are_told_once_and_learned() -> None:
    told: list[str] = []
    one, other = Homes(max_homes=2), Homes()
    one.noted = lambda: told.append("new")
    one.put([b"1", b"2"], "a")
    one.put([b"2"], "a")
    one.put([b"3"], "b")
    other.learn(one.news())
    assert (told, one.news(), len(one)) == (["new", "new"], [], 2)
    assert [other.find(key) for key in (b"1", b"2", b"3", None)] == [None, "a", "b", None]
