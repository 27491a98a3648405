"""Templates that operators call otherwise: shown, compared and kept so, also after a restart."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.observe import Journal
from promptcache_gateway.observe.renames import Renames
from promptcache_gateway.store.store import Store
from tests.gateway.admin.test_admin_api import Admin, is_error, with_admin
from tests.gateway.observe.scenes import Provider, Stage, chat, outcome, rules_text
from tests.gateway.store.records import hit, miss, record

if TYPE_CHECKING:
    from pathlib import Path

RULES, OTHERS = rules_text(), rules_text(name="law")


def turned(minute: int, rules: str = RULES) -> dict[str, Any]:
    return chat(f"It is 12:{minute:02d}:00.\n{rules}", "Hi")


async def template_names(admin: Admin) -> dict[str, int]:
    return {row["name"]: row["requests"] for row in await admin.get("/templates")}


def test_a_learned_template_is_renamed_and_stays_so_over_a_restart(tmp_path: Path) -> None:
    async def first(admin: Admin) -> None:
        sent = [admin.stage.send(turned(minute)) for minute in range(3)]
        learned = sent[0].template
        done = await admin.post("/templates/rename", json={"name": learned, "to": "support"})
        assert done == {"name": "support", "requests": 3, "tenants": 1}
        after = admin.stage.send(turned(9))
        assert (after.template, after.learned, after.diagnosis.cause) == ("support", True, "PC101")
        assert await template_names(admin) == {"support": 4}
        told = await admin.get(f"/requests/{sent[0].id}")
        assert told["template"] == "support"
        page = await admin.get("/requests?template=support")
        assert len(page["data"]) == 4
        causes = (await admin.get("/templates/support"))["causes"]
        assert [(cause["code"], cause["requests"]) for cause in causes] == [("PC101", 3), ("PC801", 1)]
        await admin.get(f"/templates/{learned}", 404)

    async def again(admin: Admin) -> None:
        assert admin.stage.send(turned(10)).template == "support"
        assert await template_names(admin) == {"support": 5}
        await admin.post("/templates/rename", json={"name": "support", "to": "help"})
        assert admin.stage.send(turned(11)).template == "help"

    async def at_last(admin: Admin) -> None:
        assert admin.stage.send(turned(12)).template == "help"
        assert await template_names(admin) == {"help": 7}

    for play in (first, again, at_last):
        with_admin(tmp_path, play)


def test_two_templates_become_one(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        kept, gone = admin.stage.send(turned(1)).template, admin.stage.send(turned(1, OTHERS)).template
        admin.stage.send(turned(2, OTHERS))
        assert kept != gone
        before = {row["name"]: row for row in await admin.get("/templates")}
        await admin.post("/templates/merge", json={"name": gone, "into": kept})
        (row,) = await admin.get("/templates")
        for counter in ("requests", "prompt_tokens", "lost_tokens", "hits", "misses"):
            assert row[counter] == sum(one[counter] for one in before.values())
        assert row["first_seen"] == min(one["first_seen"] for one in before.values())
        assert row["last_seen"] == max(one["last_seen"] for one in before.values())
        assert admin.stage.send(turned(3, OTHERS)).template == kept
        hours = (await admin.get(f"/templates/{kept}"))["hours"]
        assert sum(hour["requests"] for hour in hours) == 4

    with_admin(tmp_path, play)


def test_a_callers_name_can_be_renamed_too(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        admin.stage.send(chat(RULES, "One"), template="team/a")
        await admin.post("/templates/rename", json={"name": "team/a", "to": "team/b"})
        sent = admin.stage.send(chat(RULES, "Two"), template="team/a")
        assert (sent.template, sent.learned, sent.diagnosis.hit) == ("team/b", False, True)

    with_admin(tmp_path, play)


def test_what_cannot_be_renamed_says_why_and_changes_nothing(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        for name in ("a", "b"):
            admin.stage.send(chat(RULES, "One"), template=name)
        for path, body, status in [
            ("rename", {"name": "gone", "to": "c"}, 404),
            ("rename", {"name": "a", "to": "a"}, 400),
            ("rename", {"name": "a", "to": "b"}, 409),
            ("rename", {"name": "a", "to": "learned-x"}, 400),
            ("rename", {"name": "a", "to": " c\n"}, 400),
            ("rename", {"name": "a", "to": "c", "tenant": "nobody"}, 404),
            ("merge", {"name": "a", "into": "gone"}, 404),
            ("merge", {"name": "a", "into": "a"}, 400),
        ]:
            assert is_error(await admin.post(f"/templates/{path}", status, json=body)), body
        assert await template_names(admin) == {"a": 1, "b": 1}
        await admin.post("/templates/rename", json={"name": "a", "to": "c"})
        # requests that are called "a" are shown as "c" now, so nothing else can be
        assert is_error(await admin.post("/templates/rename", 409, json={"name": "b", "to": "a"}))
        await admin.post("/templates/rename", json={"name": "c", "to": "a"})
        assert admin.stage.send(chat(RULES, "Two"), template="a").template == "a"
        assert admin.journal.store.renames() == [("default", "c", "a")]

    with_admin(tmp_path, play)


def test_a_request_under_way_ends_under_the_new_name(tmp_path: Path) -> None:
    async def play() -> None:
        journal = Journal(tmp_path / "p.db")
        stage = Stage(Provider(), journal)
        await stage.observer.start()
        try:
            call = stage.call(chat(RULES, "One"), template="a")
            observation = stage.observer.open(call)
            assert observation.template == "a"
            stage.observer.rename("default", "a", "b")
            usage = stage.provider.serve(call.payload, stage.clock.now)  # type: ignore[arg-type]
            assert stage.observer.close(observation, outcome(usage)).template == "b"
        finally:
            await stage.observer.stop()

    asyncio.run(play())


def test_tenants_are_renamed_apart(tmp_path: Path) -> None:
    store = Store(tmp_path / "p.db")
    store.open()
    for tenant in ("one", "two"):
        store.record(record(miss("PC101", 100, lost_usd=None), tenant=tenant, template="a"))
        store.record(record(hit(), tenant=tenant, template="b", saved_usd=0.5))
    assert store.flush()
    assert store.rename_template("one", "a", "b", {"a": "b"}) == 1
    rows = {(row["name"]): row for row in store.read.templates(tenant="one")}
    assert set(rows) == {"b"}
    assert (rows["b"]["requests"], rows["b"]["saved_usd"], rows["b"]["lost_usd"]) == (2, 0.5, None)
    assert {row["name"] for row in store.read.templates(tenant="two")} == {"a", "b"}
    assert store.renames() == [("one", "a", "b")]
    store.delete_tenant("one")
    assert store.renames() == []
    store.close()


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), max_size=12))
def test_renames_are_flat_and_the_same_when_recalled(pairs: list[tuple[str, str]]) -> None:
    renames, kept = Renames(), {}
    for name, to in pairs:
        if name == to or renames.is_taken("t", to, name):
            continue
        before = {own: renames.shown("t", own) for own in "abcde"}
        kept |= renames.rename("t", name, to)
        for own, shown in before.items():
            assert renames.shown("t", own) == (to if shown == name or own == name else shown)
    again = Renames()
    again.recall(("t", own, shown) for own, shown in kept.items() if own != shown)
    assert [again.shown("t", own) for own in "abcde"] == [renames.shown("t", own) for own in "abcde"]
    assert renames.shown("other", "a") == "a"


@pytest.mark.parametrize("seed", [0, 1])
def test_names_are_the_same_in_another_process_of_the_same_database(tmp_path: Path, seed: int) -> None:
    """What was learned over many heads is found again by a gateway that starts over."""
    bodies = [
        turned(minute, rules_text(12 + head).replace(" ", f"{seed}r{head} "))
        for head in range(12)
        for minute in (1, 2)
    ]

    def names() -> list[str]:
        found: list[str] = []

        async def play(admin: Admin) -> None:
            found.extend(admin.stage.send(body).template for body in bodies)

        with_admin(tmp_path, play)
        return found

    first = names()
    assert names() == first
    bodies.reverse()
    assert names() == first[::-1]
    assert len(set(first)) == 12
