"""Workers of one gateway that change requests, in front of a provider that keeps what is marked."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from promptcache_gateway.shared.frames import Kind, unpack
from promptcache_gateway.shared.observer import PeerObserver
from promptcache_gateway.upstreams.base import WholeReply
from tests.gateway.mutations.stage import Stage
from tests.gateway.observe.marked_traffic import MarkedProvider

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.observe import RequestRecord


class Crew:
    """So many workers; ``sharing`` False: what one has seen to repeat, no other hears of in time."""

    def __init__(self, workers: int, rules: dict[str, Any] | None = None, *, sharing: bool = True) -> None:
        mutations = {"breakpoints": True} if rules is None else rules
        self.stages = [Stage(mutations, kind="anthropic") for _ in range(workers)]
        self.provider = MarkedProvider()
        self._said: list[list[tuple[Kind, bytes]]] = [[] for _ in self.stages]
        for index, stage in enumerate(self.stages):
            stage.ids = self.stages[0].ids
            observer = PeerObserver([stage.line.upstream], tell=self._teller(index))
            if sharing:
                observer.onlookers.append(stage.mutator.watch)
            stage.observer = observer

    def send(self, worker: int, body: dict[str, Any]) -> RequestRecord:
        """One request and its answer at a worker, of which the others hear."""
        sent = self.stages[worker].send(body)
        usage = self.provider.serve(sent.json, sent.call.received_at)
        sent.flight.reply = WholeReply(200, [], b"", usage)
        sent.flight.end(200)
        sent.flight.finish()
        self._hear()
        assert sent.flight.record is not None
        return sent.flight.record

    def _teller(self, index: int) -> Callable[[Kind, Any], bool]:
        def tell(kind: Kind, value: Any) -> bool:
            self._said[index].append((kind, pickle.dumps(value)))
            return True

        return tell

    def _hear(self) -> None:
        said, self._said = self._said, [[] for _ in self.stages]
        for index, stage in enumerate(self.stages):
            observer = stage.observer
            assert isinstance(observer, PeerObserver)
            does: dict[Kind, Callable[[Any], None]] = {
                Kind.SEEN: observer.saw,
                Kind.SETTLED: observer.settled,
                Kind.LEARNED: observer.recall,
            }
            others = [frame for at, frames in enumerate(said) if at != index for frame in frames]
            for kind, body in others:
                if kind in does:
                    does[kind](unpack(body))
