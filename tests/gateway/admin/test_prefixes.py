"""The tree that the latest prompts draw: every prompt is a way through it, what they share is there once."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.admin.prefixes import prefix_tree
from promptcache_gateway.upstreams.engine_prefixes import KnownPrompt, LatestPrompts
from tests.gateway.admin.test_admin_api import Admin, with_admin
from tests.gateway.store.records import record

if TYPE_CHECKING:
    from pathlib import Path

HEAD = list(range(100))


def known(name: str, tokens: list[int], cached: int = 0, namespace: str = "") -> KnownPrompt:
    return KnownPrompt(name, "default", namespace, array("i", tokens), cached)


def first_letter(name: str) -> str:
    return name[0]


def tokens_of(branch: dict[str, Any]) -> int:
    return branch["tokens"] + sum(map(tokens_of, branch["children"]))


def test_templates_share_what_they_have_in_common() -> None:
    prompts = [
        known("a1", [*HEAD, *[1] * 50], 120),
        known("a2", [*HEAD, *[1] * 30, *[2] * 40], 130),
        known("b1", [*HEAD, *[3] * 20], 100),
        known("c1", [7] * 30, 0),
        known("a3", [7] * 30, 30, "acme"),
    ]
    head, *others = prefix_tree(prompts, first_letter)
    assert (head["start"], head["tokens"], head["cached_tokens"], head["prompts"]) == (0, 100, 100, 3)
    assert head["templates"] == ["a", "b"]
    of_a, of_b = head["children"]
    assert (of_a["templates"], of_a["start"], of_a["tokens"], of_a["cached_tokens"]) == (["a"], 100, 30, 30)
    assert sorted((leaf["tokens"], leaf["cached_tokens"]) for leaf in of_a["children"]) == [(20, 0), (40, 0)]
    assert (of_b["templates"], of_b["tokens"], of_b["cached_tokens"]) == (["b"], 20, 0)
    assert [(each["templates"], each["cached_tokens"]) for each in others] == [(["c"], 0), (["a"], 30)]


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=60), min_size=1, max_size=10))
def test_each_prompt_is_a_way_from_the_root(prompts) -> None:
    tree = prefix_tree([known(f"t{n}", tokens) for n, tokens in enumerate(prompts)], first_letter)
    assert sum(branch["prompts"] for branch in tree) == len(prompts)
    assert max(map(len, prompts)) <= sum(map(tokens_of, tree)) <= sum(map(len, prompts))

    def check(branch: dict[str, Any]) -> None:
        assert branch["tokens"] > 0
        assert 0 <= branch["cached_tokens"] <= branch["tokens"]
        for child in branch["children"]:
            assert child["start"] == branch["start"] + branch["tokens"]
            assert child["prompts"] <= branch["prompts"]
            check(child)

    for branch in tree:
        check(branch)


def test_long_conversations_and_many_branches_stay_small() -> None:
    turns = [known("t", list(range(20 * turn))) for turn in range(1, 300)]
    (branch,) = prefix_tree(turns, first_letter)
    depth = 0
    while branch["children"]:
        (branch,), depth = branch["children"], depth + 1
    assert depth == 23
    many = prefix_tree([known("t", [number] * 20) for number in range(40)], first_letter)
    assert (len(many), many[-1]["branches"], sum(each["tokens"] for each in many)) == (13, 28, 800)


def test_prompts_nobody_knows_a_template_of_are_left_out() -> None:
    assert prefix_tree([known("t", HEAD)], lambda name: None) == []


def test_the_memory_of_prompts_is_bounded() -> None:
    latest = LatestPrompts(most_tokens=100, most_prompts=3)
    for number in range(5):
        latest.add(f"r{number}", "default", "", [number] * 30)
    latest.add("long", "default", "", [1] * 101)
    assert [prompt.id for prompt in latest.newest_first()] == ["r4", "r3", "r2"]
    latest.add("r5", "acme", "", [1] * 60)
    assert [prompt.id for prompt in latest.newest_first()] == ["r5", "r4"]
    latest.forget("acme")
    assert [prompt.id for prompt in latest.newest_first()] == ["r4"]
    latest.add("r6", "acme", "", [1] * 70)
    assert [prompt.id for prompt in latest.newest_first()] == ["r6", "r4"]


def test_the_tree_through_the_api(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        assert await admin.get("/engine/tree") == {"available": False, "prompts": 0, "branches": []}
        made = record(template="support")
        admin.journal.record(made)

        async def cached_prompts() -> list[KnownPrompt]:
            return [known(made.id, HEAD, 80)]

        admin.upstream.cached_prompts = cached_prompts  # type: ignore[attr-defined]
        admin.upstream.latest_prompts = latest = LatestPrompts()  # type: ignore[attr-defined]
        found = await admin.get("/engine/tree")
        assert found["branches"] == [
            {
                "start": 0,
                "tokens": 100,
                "cached_tokens": 80,
                "prompts": 1,
                "templates": ["support"],
                "children": [],
            }
        ]
        for tenant in ("acme", "default"):
            latest.add(tenant, tenant, "", HEAD)
        await admin.client.delete("/promptcache/v1/tenants/acme")
        assert [prompt.tenant for prompt in latest.newest_first()] == ["default"]

    with_admin(tmp_path, play)
