"""What one worker sees is known to the others, and the parent has it all once: in one process, by steps."""

from __future__ import annotations

import asyncio
import pickle
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from promptcache.usage import Usage
from promptcache_gateway.shared.frames import Channel, Kind, unpack
from promptcache_gateway.shared.home import Home
from promptcache_gateway.shared.observer import Known, PeerObserver
from promptcache_gateway.store import Store
from promptcache_gateway.traffic_metrics import LineFigures, Traffic, added_up
from tests.gateway.observe.scenes import Provider, Stage, chat, outcome, rules_text
from tests.gateway.observe.test_lodgers import prose
from tests.gateway.store.records import record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from promptcache_gateway.observe import RequestRecord

Frame = tuple[Kind, bytes]


class Pair:
    """Two workers, and what they have said and not yet heard."""

    def __init__(self, provider: Provider | None = None) -> None:
        self.stages = (Stage(provider), Stage(provider))
        self.said: list[list[Frame]] = [[], []]
        self.records: list[RequestRecord] = []
        for index, stage in enumerate(self.stages):
            stage.provider, stage.clock = self.stages[0].provider, self.stages[0].clock
            stage.observer = PeerObserver([stage.provider], tell=self._teller(index))
            stage.observer._clock = stage.clock
        self._count = 0

    def _teller(self, index: int) -> Any:
        def tell(kind: Kind, value: Any) -> bool:
            if kind is Kind.RECORD:
                self.records.append(value)
            self.said[index].append((kind, pickle.dumps(value)))
            return True

        return tell

    def hear(self) -> None:
        """Have both told what the other has said."""
        for index, stage in enumerate(self.stages):
            other, heard = stage.observer, self.said[1 - index]
            does = {Kind.SEEN: other.saw, Kind.SETTLED: other.settled, Kind.LEARNED: other.recall}
            for kind, body in heard:
                if kind in does:
                    does[kind](unpack(body))
        self.said = [[], []]

    def send(self, worker: int, body: dict[str, Any], **known: Any) -> RequestRecord:
        self._count += 1
        found = self.stages[worker].send(body, id=f"pcr_{self._count:024x}", **known)
        self.hear()
        return found


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_a_conversation_goes_on_at_another_worker(pair: Pair) -> None:
    turns: list[str] = []
    found = []
    for number in range(6):
        turns.append(f"question {number}")
        found.append(pair.send(number % 2, chat(rules_text(), *turns)))
        turns.append(f"answer {number}")
    assert [one.diagnosis.cause for one in found] == ["PC801", *[None] * 5]
    assert len({one.template for one in found}) == 1
    assert pair.records == found


def test_a_fault_is_named_against_the_others_request(pair: Pair) -> None:
    pair.send(0, chat(f"It is 10:00:01. {rules_text()}", "hi"))
    found = pair.send(1, chat(f"It is 10:00:02. {rules_text()}", "hi"))
    assert (found.diagnosis.cause, found.diagnosis.path) == ("PC101", "messages[0]")
    assert found.diagnosis.compared_with == "pcr_000000000000000000000001"


def test_what_no_upstream_worked_on_is_no_predecessor_anywhere(pair: Pair) -> None:
    first, second = pair.stages
    call = first.call(chat(rules_text(), "hi"))
    observation = first.observer.open(call)
    pair.hear()
    assert len(second.observer._history) == 1
    first.observer.close(observation, outcome(Usage.unreported(), status=502))
    pair.hear()
    assert len(second.observer._history) == 0


def test_a_request_that_moves_to_another_upstream_is_one(pair: Pair) -> None:
    first, second = pair.stages
    call = first.call(chat(rules_text(), "hi"))
    observation = first.observer.open(call)
    first.observer.move(observation, first.call(chat(rules_text(), "hi"), id=call.id, upstream="other"))
    pair.hear()
    assert len(second.observer._history) == 1


@pytest.mark.parametrize("worker", [0, 1])
def test_what_a_peers_request_did_not_ask_to_be_kept_has_expired(worker: int) -> None:
    """How long it is kept for is what it asked for itself, whichever worker it came to."""
    pair = Pair(Provider(kind="hosted", granularity=None))
    pair.send(0, chat(rules_text(), "One?", model="gpt-5.1"))
    pair.stages[0].provider.stored.clear()
    asked = chat(rules_text(), "Two?", model="gpt-5.1", prompt_cache_retention="24h")
    found = pair.send(worker, asked, after_s=7_200.0).diagnosis
    assert (found.cause, found.attribution) == ("PC802", "expected")


@pytest.mark.parametrize("worker", [0, 1])
def test_an_upstream_that_answers_a_peer_again_drives_nobody_away(pair: Pair, worker: int) -> None:
    """Who asks another model then has changed its mind."""
    first = pair.stages[0]
    call = first.call(chat(rules_text(), "Good day?"))
    first.observer.close(first.observer.open(call), outcome(Usage.unreported(), status=503))
    pair.hear()
    pair.send(0, chat(rules_text(), "One?"))
    switched = chat(rules_text(), "One?", "An answer.", "Two?", model="model-b")
    found = pair.send(worker, switched).diagnosis
    assert (found.cause, found.attribution) == ("PC503", "caller")


@pytest.mark.parametrize("streamed", [False, True])
def test_what_is_put_into_a_request_on_its_way_is_known_to_all_workers(pair: Pair, streamed: bool) -> None:
    """The gateway's own key and marks come in after the look, of which the others heard at once."""
    found = []
    mark = {"type": "ephemeral"}
    for number, turns in enumerate([("One?",), ("One?", "An answer.", "Two?")]):
        stage = pair.stages[number]
        stage.clock.now += 5.0
        observation = stage.observer.open(stage.call(chat(rules_text(), *turns), id=f"pcr_{number:024x}"))
        prompt = observation.sight.prompt
        assert prompt is not None
        first, *others = prompt.segments
        parameters = {**prompt.parameters, "prompt_cache_key": "own"}
        segments = (replace(first, breakpoint=mark), *others)
        own = frozenset({"prompt_cache_key"})
        sent = replace(prompt, segments=segments, marks=(0,), parameters=parameters, own=own)
        observation.revise(sent)
        if streamed:
            stage.observer.preview(observation, None)
        found.append(stage.observer.close(observation, outcome(stage.provider.usage(2_000, 0))))
        pair.hear()
        (theirs,) = pair.stages[1 - number].observer._theirs.values()  # type: ignore[attr-defined]
        assert theirs.prompt == sent
    assert found[1].diagnosis.causes == ("PC809",)


def test_an_earlier_answer_is_known_by_its_id_at_every_worker(pair: Pair) -> None:
    pair.send(0, chat(rules_text(), "hi"))
    assert pair.stages[1].observer.answered.find("default", "resp_1") is not None
    assert pair.stages[1].observer.answered.find("another", "resp_1") is None


def test_a_worker_that_came_later_does_not_call_a_request_the_first(pair: Pair) -> None:
    pair.stages[0].observer.welcome(Known((), (), others_served=True))
    assert pair.send(0, chat(rules_text(), "hi")).diagnosis.cause != "PC801"


def test_what_comes_again_is_known_to_all_workers(pair: Pair) -> None:
    """Agents with a common policy that are served by now this worker, now that, with a clock in front."""
    names = []
    for at in range(24):
        system = f"It is 10:{at:02}:00. {prose(1_500, at % 4)}{prose(4_000, 'policy')}"
        found = pair.send(at * 7 // 3 % 2, chat(system, f"question {at}"))
        assert found.diagnosis.cause == "PC101" or (at < 4 and found.diagnosis.cause == "PC801")
        names.append(found.template)
    assert len(set(names[-4:])) == 4
    heads = [next(iter(stage.observer._templates._tenants.values())).heads for stage in pair.stages]
    assert heads[0].signatures == heads[1].signatures
    assert len(heads[0].lodgers) == len(heads[1].lodgers)


def test_a_callers_name_and_a_rename_hold_for_what_a_peer_saw(pair: Pair) -> None:
    pair.send(0, chat(f"It is 10:00:01. {rules_text()}", "hi"), template="support")
    learned = pair.send(1, chat(rules_text(60), "hi")).template
    for stage in pair.stages:
        stage.observer.rename("default", learned, "support")
    found = pair.send(1, chat(f"It is 10:00:02. {rules_text()}", "hi"), template="support")
    assert (found.template, found.diagnosis.cause) == ("support", "PC101")


# --- the parent ---


class Peer:
    """A worker's end of a channel to the parent."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._frames = channel.frames()

    async def hear(self, kind: Kind) -> Any:
        """The value of the next frame of a kind."""
        async for found, body in self._frames:
            if found is kind:
                return unpack(body)
        raise AssertionError("the parent is gone")


class Household:
    """A parent with two workers."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(Store(folder / "promptcache.db"))
        self.peers: list[Peer] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._channels: list[Channel] = []

    async def start(self) -> None:
        await self.home.observer.start()
        for _ in range(2):
            ours, theirs = socket.socketpair()
            channel = await Channel.open(ours)
            self._channels.append(channel)
            self._tasks.append(asyncio.create_task(self.home.attend(channel, asyncio.Event())))
            self.peers.append(Peer(await Channel.open(theirs)))

    async def stop(self) -> None:
        for peer in self.peers:
            await peer.channel.close()
        await asyncio.gather(*self._tasks)
        for channel in self._channels:
            await channel.close()
        await self.home.observer.stop()


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Household]:
    household = Household(tmp_path)
    await household.start()
    yield household
    await household.stop()


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def test_what_two_workers_learned_at_once_becomes_one_template(house: Household) -> None:
    first, second = (Stage(), Stage())
    learned = []
    for stage, name in ((first, "Ada"), (second, "Bob")):
        said: list[tuple[Kind, Any]] = []
        stage.observer = PeerObserver(
            [stage.provider], tell=lambda *what, said=said: bool(said.append(what)) or True
        )
        stage.send(chat(f"You serve {name} the clever. {rules_text()}", "hi"))
        learned.append(next(value for kind, value in said if kind is Kind.LEARNED))
    one, other = learned
    assert one.name != other.name, "each has its own name for it"
    house.peers[0].channel.send(Kind.LEARNED, one)
    await until(house.home.observer._templates.known)
    house.peers[1].channel.send(Kind.RECORD, record(template=other.name, learned=True))
    house.peers[1].channel.send(Kind.LEARNED, other)
    assert await house.peers[0].hear(Kind.RENAME) == ("default", other.name, one.name)
    assert await house.peers[1].hear(Kind.RENAME) == ("default", other.name, one.name)
    house.peers[1].channel.send(Kind.RECORD, record(template=other.name, learned=True))  # on its way before
    await until(lambda: len(house.home.journal.recent) == 2 and not house.home._merging)
    house.home.journal.store.flush()
    totals = house.home.journal.store.read.templates()
    assert [(row["name"], row["requests"]) for row in totals] == [(one.name, 2)]


async def test_a_template_one_has_learned_is_known_to_the_other_and_to_one_that_comes_later(
    house: Household, tmp_path: Path
) -> None:
    stage = Stage()
    said: list[tuple[Kind, Any]] = []
    stage.observer = PeerObserver([stage.provider], tell=lambda *what: bool(said.append(what)) or True)
    name = stage.send(chat(rules_text(), "hi")).template
    template = next(value for kind, value in said if kind is Kind.LEARNED)
    house.peers[0].channel.send(Kind.LEARNED, template)
    assert (await house.peers[1].hear(Kind.RECALL)).name == name
    house.home.journal.store.flush()
    assert [row.name for row in house.home.journal.store.learned_templates()] == [name]


async def test_a_page_waits_for_what_workers_have_to_tell_but_not_for_long(house: Household) -> None:
    limited, away = {("t", "requests"): 3}, {"invalid_json": 1}
    traffic = Traffic(2, (LineFigures("u", 1, 0, is_open=True),), limited, turned_away=away)

    async def answer(peer: Peer, lost: int) -> None:
        from promptcache_gateway.shared.link import Stands

        number = await peer.hear(Kind.ASK)
        peer.channel.send(Kind.RECORD, record(id="pcr_1" if lost else "pcr_2"))
        peer.channel.send(Kind.STANDS, Stands(number, traffic, lost, frozenset({"pcr_1", f"pcr_open{lost}"})))

    await asyncio.gather(house.home.ask(), answer(house.peers[0], 0), answer(house.peers[1], 4))
    assert len(house.home.journal.recent) == 2
    lines, limited, away = (
        (LineFigures("u", 2, 0, is_open=True),),
        {("t", "requests"): 6},
        {"invalid_json": 2},
    )
    assert house.home.traffic() == Traffic(4, lines, limited, turned_away=away)
    assert house.home.observer.is_open("pcr_open0")
    assert not house.home.observer.is_open("pcr_1"), "its record is here"
    page = house.home.journal.metrics.render().decode()
    assert "promptcache_running_requests 4.0" in page
    assert "promptcache_recorder_dropped_total 4.0" in page
    await house.peers[1].channel.close()
    await until(lambda: house.home.traffic().running == 2)
    assert house.home.traffic().refused == limited, "what was counted stays counted"
    assert house.home.traffic().turned_away == away
    await house.home.ask()  # nobody answers any more, and the page is made all the same


async def test_a_message_that_cannot_be_read_costs_nothing_else(house: Household) -> None:
    house.peers[0].channel.pass_on(Kind.RECORD, b"no pickle")
    house.peers[0].channel.send(Kind.RECORD, record())
    await until(lambda: len(house.home.journal.recent) == 1)


async def test_every_worker_is_told_that_other_machines_serve_too(house: Household) -> None:
    for peer in house.peers:
        assert not (await peer.hear(Kind.WELCOME)).others_served
    house.home.observer.others_serve()
    assert [(await peer.hear(Kind.WELCOME)).others_served for peer in house.peers] == [True, True]


async def test_a_worker_that_comes_later_knows_who_is_drained(house: Household) -> None:
    def view(*names: str) -> dict[str, Any]:
        return {"upstream": "f", "replicas": [{"name": name, "state": "ready"} for name in names]}

    observer = house.home.observer
    for name in ("a", "b", "c"):
        observer.drain("f", name, on=True)
    observer.drain("f", "b", on=False)
    observer.see_fleets([])
    observer.see_fleets([view("b", "c")])
    ours, theirs = socket.socketpair()
    channel, peer = await Channel.open(ours), Peer(await Channel.open(theirs))
    observer.join(channel, others_served=False)
    assert (await peer.hear(Kind.WELCOME)).drained == (("f", "c"),)
    observer.leave(channel)
    await channel.close()
    await peer.channel.close()


async def test_a_tenant_is_forgotten_at_every_worker(house: Household) -> None:
    await asyncio.to_thread(house.home.observer.forget, "acme")
    assert [await peer.hear(Kind.FORGET) for peer in house.peers] == ["acme", "acme"]


async def test_a_peer_that_does_not_listen_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    channel = await Channel.open(ours)
    sent = 0
    while channel.send(Kind.SEEN, b"x" * (1 << 20)):
        sent += 1
        assert sent < 200
    assert sent > 32
    theirs.close()
    await channel.close()
    assert not channel.send(Kind.SEEN)


def test_traffic_of_nobody_is_nothing() -> None:
    assert added_up([]) == Traffic(0, (), {})
