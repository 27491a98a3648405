"""Responses in memory: never more than allowed, never another tenant's, never half a conversation."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.kept import KeptSettings
from promptcache_gateway.kept.memory import Memory
from promptcache_gateway.kept.response import conversation
from promptcache_gateway.kept.settings import read_kept
from tests.gateway.kept.turns import HOUR, Clock, kept


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_conversation_is_its_turns_in_order(clock: Clock) -> None:
    memory = Memory(KeptSettings(), clock=clock)
    for name, previous in (("a", None), ("b", "a"), ("c", "b"), ("d", "a")):
        assert memory.put(kept(name, previous))
    chain = memory.chain("t", "c")
    assert chain is not None
    assert [one.id for one in chain] == ["a", "b", "c"]
    said = [item.get("content", item.get("said")) for item in conversation(chain)]
    assert said == ["a", "a", "b", "b", "c", "c"]
    assert memory.chain("other", "c") is None
    assert memory.get("other", "c") is None
    assert not memory.remove("other", "c")


def test_nobody_goes_on_from_half_a_conversation(clock: Clock) -> None:
    memory = Memory(KeptSettings(), clock=clock)
    memory.put(kept("a"))
    memory.put(kept("b", "a"))
    assert memory.remove("t", "a")
    assert memory.chain("t", "b") is None
    memory.put(kept("x", "x"))
    assert memory.chain("t", "x") is None, "what goes on from itself has no beginning"


def test_what_is_gone_on_from_stays(clock: Clock) -> None:
    memory = Memory(KeptSettings(keep_hours=1), clock=clock)
    memory.put(kept("a"))
    memory.put(kept("idle"))
    memory.put(kept("b", "a"))
    for _ in range(5):
        clock.now += 0.6 * HOUR
        assert memory.chain("t", "b") is not None
    assert memory.get("t", "idle") is None
    clock.now += 1.01 * HOUR
    memory.expire()
    assert (len(memory), memory.bytes) == (0, 0)


def test_a_flood_pushes_out_the_flooder_s_own(clock: Clock) -> None:
    memory = Memory(KeptSettings(max_mib=1), clock=clock)
    memory.put(kept("quiet", tenant="small"))
    for number in range(200):
        assert memory.put(kept(f"n{number}", tenant="loud", size=20_000))
    assert memory.bytes <= 1024 * 1024
    assert memory.get("small", "quiet") is not None
    assert memory.get("loud", "n0") is None
    assert memory.get("loud", "n199") is not None
    assert not memory.put(kept("huge", size=300_000)), "a quarter of all there is, at most"


def test_a_tenant_keeps_so_many_the_last_used(clock: Clock) -> None:
    memory = Memory(KeptSettings(per_tenant=3), clock=clock)
    memory.put(kept("a"))
    memory.put(kept("b"))
    memory.put(kept("c"))
    memory.chain("t", "a")
    memory.put(kept("d"))
    assert [name for name in "abcd" if memory.get("t", name)] == ["a", "c", "d"]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "chain", "remove", "forget", "wait"]),
        st.sampled_from("pq"),
        st.integers(0, 9),
        st.one_of(st.none(), st.integers(0, 9)),
        st.integers(0, 120_000),
    ),
    max_size=60,
)


@given(STEPS)
def test_whatever_happens_the_sums_are_right_and_the_bounds_hold(steps) -> None:
    clock = Clock()
    settings = KeptSettings(max_mib=1, per_tenant=4, keep_hours=1)
    memory = Memory(settings, clock=clock)
    put = {}
    for step, tenant, number, previous, size in steps:
        name = f"r{number}"
        if step == "put":
            one = kept(name, None if previous is None else f"r{previous}", tenant=tenant, size=size)
            if memory.put(one):
                put[tenant, name] = one
        elif step == "chain":
            chain = memory.chain(tenant, name)
            if chain is not None:
                assert chain[-1] is put[tenant, name]
                assert chain[0].previous is None
                assert all(after.previous == before.id for before, after in pairwise(chain))
                assert {one.tenant for one in chain} == {tenant}
        elif step == "remove":
            memory.remove(tenant, name)
            assert memory.get(tenant, name) is None
        elif step == "forget":
            memory.forget(tenant)
            assert all(memory.get(tenant, f"r{at}") is None for at in range(10))
        else:
            clock.now += size / 40
        there = [one for tenant in "pq" for at in range(10) if (one := memory.get(tenant, f"r{at}"))]
        assert memory.bytes == sum(one.size for one in there) <= settings.max_bytes
        assert len(memory) == len(there)
        assert all(sum(one.tenant == tenant for one in there) <= 4 for tenant in "pq")
        assert all(put[one.tenant, one.id] is one for one in there)


@pytest.mark.parametrize(
    "table", [{"keep": "disk"}, {"keep_hours": 0}, {"keep_hours": float("nan")}, {"max_mib": 0},
              {"per_tenant": 0}]
)  # fmt: skip
def test_settings_that_cannot_be_are_named(table: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=rf"responses\.{next(iter(table))}"):
        read_kept(table)
