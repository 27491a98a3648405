"""What gateways on several machines tell each other of what they recorded: live events, templates, orders.

Records themselves go to the database that all write to, each once. Events hold what the admin API shows of a
request, without excerpts; templates are digests. An order (a rename, a tenant to forget) is carried out by
everybody, and written by whoever got it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any

from promptcache_gateway.observe.signatures import Signature
from promptcache_gateway.observe.templates import LearnedTemplate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_gateway.observe import Journal, Observer
    from promptcache_gateway.observe.events import Event
    from promptcache_gateway.shared.base import Common

EVENTS, LEARNED, ORDERS = "events", "learned", "orders"

_KINDS = frozenset({"request", "template", "alert"})


class Neighbours:
    """Tells what happens here, and does what happened elsewhere.

    Args:
        common: what it is told through.
        observer: the process's; it has a journal.
    """

    def __init__(self, common: Common, observer: Observer) -> None:
        assert observer.journal is not None, "whoever records has something to tell"
        self._common, self._observer = common, observer
        self._journal: Journal = observer.journal
        self._loop: asyncio.AbstractEventLoop | None = None
        self._obeying: set[int] = set()  # threads that do what was ordered elsewhere
        self._alone = True  # as far as has been heard
        self._merging: set[asyncio.Task[None]] = set()
        common.on(EVENTS, self._hear_event)
        common.on(LEARNED, self._hear_template, from_the_beginning=True)
        common.on(ORDERS, self._hear_order)

    def start(self) -> None:
        """Begin to tell."""
        self._loop = asyncio.get_running_loop()
        self._journal.events.listeners.append(self._tell_event)
        self._journal.learners.append(self._tell_template)
        self._observer.renamers.append(lambda *names: self._tell_order({"rename": names}))
        self._observer.forgetters.append(lambda tenant: self._tell_order({"forget": tenant}))

    async def close(self) -> None:
        """Finish what is being merged."""
        await asyncio.gather(*self._merging)

    # --- telling, from whatever thread it happens in ---

    def _tell(self, topic: str, value: Any) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._common.publish, topic, value)

    def _tell_event(self, event: Event) -> None:
        self._tell(EVENTS, {"kind": event.kind, "data": dict(event.data)})

    def _tell_template(self, template: LearnedTemplate) -> None:
        signature = template.signature
        told = {"key": signature.key, "openings": signature.openings, "chunks": signature.chunks}
        told["apart"] = template.apart
        self._tell(LEARNED, {"tenant": template.tenant, "name": template.name, **told})

    def _tell_order(self, order: dict[str, Any]) -> None:
        if threading.get_ident() not in self._obeying:
            self._tell(ORDERS, order)

    # --- hearing; what cannot be read raises KeyError, TypeError or ValueError ---

    def _hear_event(self, value: Any) -> None:
        if value["kind"] in _KINDS and isinstance(value["data"], dict):
            self._journal.events.publish(value["kind"], value["data"], heard=True)
            if self._alone:
                self._alone = False
                self._observer.others_serve()

    def _hear_template(self, value: Any) -> None:
        signature = Signature(int(value["key"]), _numbers(value["openings"]), _numbers(value["chunks"]))
        apart = bool(value.get("apart", False))  # gateways of earlier versions do not say so
        template = LearnedTemplate(str(value["tenant"]), str(value["name"]), signature, apart)
        earlier = self._observer.learn(template)
        if earlier is None:
            return
        # Each hears of the other's; both must come to the same name.
        into, name = sorted((template.name, earlier))
        task = asyncio.create_task(asyncio.to_thread(self._merge, template.tenant, name, into))
        self._merging.add(task)
        task.add_done_callback(self._merging.discard)

    def _merge(self, tenant: str, name: str, into: str) -> None:
        shown = self._observer.renames.shown(tenant, into)
        owns = self._obey_rename(tenant, name, shown)
        self._journal.store.flush()
        self._journal.store.rename_template(tenant, name, shown, owns)

    def _hear_order(self, value: Any) -> None:
        if "rename" in value:
            tenant, name, to = map(str, value["rename"])
            self._obey_rename(tenant, name, to)
        elif "forget" in value:
            with self._obedience():
                self._observer.forget(str(value["forget"]))

    def _obey_rename(self, tenant: str, name: str, to: str) -> dict[str, str]:
        with self._obedience():
            return self._observer.rename(tenant, name, to)

    @contextlib.contextmanager
    def _obedience(self) -> Iterator[None]:
        """What this thread orders now was ordered elsewhere, and is not told again."""
        self._obeying.add(threading.get_ident())
        try:
            yield
        finally:
            self._obeying.discard(threading.get_ident())


def _numbers(value: Any) -> tuple[int, ...]:
    return tuple(int(one) for one in value)
