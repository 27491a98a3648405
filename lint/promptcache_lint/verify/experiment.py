"""The experiment: render in the usual world and in another, and find out which difference shows.

First everything is different at once. Only if something shows, each difference is tried alone: between two
processes, and, for what can change while a program runs, within one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from promptcache_lint.verify.differences import differences
from promptcache_lint.verify.render import render
from promptcache_lint.verify.verdict import Shown, Verdict
from promptcache_lint.verify.worlds import PERTURBATIONS, USUAL, Perturbation, World

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache_lint.verify.differences import Difference
    from promptcache_lint.verify.render import Target

__all__ = ["verify"]

Body = dict[str, Any]
_OTHER_HASH_SEEDS = (3, 4, 5, 6)
"""A small set keeps its order under many a seed: one other seed alone would miss it half of the time."""
_TOGETHER = Perturbation("several", "several differences together", "", ())
_EVERY_RUN = Perturbation("every run", "nothing but another run in the same world", "", ())
_EVERY_CALL = Perturbation("every call", "nothing but another call in the same process", "PC107", ())


def verify(target: Target) -> Verdict:
    """Render ``target`` in different worlds and say what differs.

    Raises `RenderError` when it cannot be rendered, `MalformedRequestError` when it renders no request.
    """
    movable = [perturbation for perturbation in PERTURBATIONS if perturbation.movable]
    worlds = [_changed(PERTURBATIONS), *(replace(USUAL, hash_seed=seed) for seed in _OTHER_HASH_SEEDS)]
    plan = [(USUAL, [USUAL, _changed(movable)]), *((world, [world]) for world in worlds)]
    (usual, moved), *others = _rendered(target, plan)
    first = [found for (body,) in others for found in differences(usual, body)] + differences(usual, moved)
    if not first:
        return Verdict(target.name, ())
    alone = _one_by_one(target, movable)
    by_hash = next((body for (body,) in others[1:] if differences(usual, body)), None)
    shown = _attributed(usual, alone, by_hash)
    explained = {item.difference.path for item in shown}
    tools = any(item.code == "PC301" for item in shown)
    rest = [found for found in first if found.path not in explained and not (tools and found.code == "PC301")]
    unexplained = {found.path: Shown(found, _TOGETHER) for found in reversed(rest)}
    return Verdict(target.name, tuple(shown + list(unexplained.values())))


@dataclass(frozen=True, slots=True)
class _Alone:
    """What came of each difference alone: between processes, and within one after plain further calls.

    The first call does not count there: it may import and set up what the others find ready.
    """

    again: Body
    second_call: Body
    third_call: Body
    within: Mapping[str, Body]
    between: Mapping[str, Body]


def _one_by_one(target: Target, movable: Sequence[Perturbation]) -> _Alone:
    singles = [perturbation for perturbation in PERTURBATIONS if perturbation.name != "hash seed"]
    within = [USUAL, USUAL, USUAL, *(perturbation.applied(USUAL) for perturbation in movable)]
    plan = [(USUAL, within), *((p.applied(USUAL), [p.applied(USUAL)]) for p in singles)]
    (again, second, third, *moved), *others = _rendered(target, plan)
    return _Alone(
        again,
        second,
        third,
        {perturbation.name: body for perturbation, body in zip(movable, moved, strict=True)},
        {perturbation.name: body for perturbation, (body,) in zip(singles, others, strict=True)},
    )


def _attributed(usual: Body, alone: _Alone, by_hash: Body | None) -> list[Shown]:
    """Each difference with what caused it; the first cause of a value is enough."""
    shown = [Shown(found, _EVERY_RUN) for found in differences(usual, alone.again)]
    shown += _new(
        shown, [Shown(found, _EVERY_CALL) for found in differences(alone.second_call, alone.third_call)]
    )
    for perturbation in PERTURBATIONS:
        body = by_hash if perturbation.name == "hash seed" else alone.between.get(perturbation.name)
        between = differences(usual, body) if body is not None else []
        within = _within(alone, perturbation)
        inside = {found.path for found in within}
        found = [
            Shown(one, perturbation, once=perturbation.fleeting and one.path not in inside) for one in between
        ]
        outside = {one.path for one in between}
        found += [Shown(one, perturbation) for one in within if one.path not in outside]
        shown += _new(shown, found)
    return shown


def _within(alone: _Alone, perturbation: Perturbation) -> list[Difference]:
    body = alone.within.get(perturbation.name)
    return differences(alone.third_call, body) if body is not None else []


def _new(known: Sequence[Shown], found: Sequence[Shown]) -> list[Shown]:
    return [
        item
        for item in found
        if not any(item.difference.near(other.difference) for other in known if other.explains(item))
    ]


def _changed(perturbations: Sequence[Perturbation]) -> World:
    """The usual world with all these differences; times add up."""
    world, now = USUAL, USUAL.now
    for perturbation in perturbations:
        world = perturbation.applied(world)
        now += world.now - USUAL.now if dict(perturbation.changes).get("now") else 0.0
    return replace(world, now=now)


def _rendered(target: Target, plan: Sequence[tuple[World, Sequence[World]]]) -> list[list[Body]]:
    """Render in each world of the plan, a few processes at a time."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        first = render(target, *plan[0])  # alone: what fails here fails everywhere
        return [first, *pool.map(lambda step: render(target, *step), plan[1:])]
