"""Which other namespaces may hold the same prompt; only a list of suspects, the tree answers.

With a handful of namespaces all are suspects. With thousands (a salt per tenant) it is those that were last
seen with the same first tokens, so the question costs the same however many tenants there are; the answer
is then a lower bound.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable

from promptcache_engine.cache.namespaces import Namespace
from promptcache_engine.cache.tokens import UNIT

_START = 8 * UNIT
_SUSPECTS = 8
_STARTS = 4_096


class Neighbours:
    """The namespaces last seen with each start of a prompt."""

    def __init__(self) -> None:
        self._starts: OrderedDict[bytes, OrderedDict[str | Namespace, None]] = OrderedDict()

    def seen(self, namespace: str | Namespace, data: bytes) -> None:
        """Note that ``namespace`` has a prompt that starts like ``data``."""
        start = data[:_START]
        names = self._starts.get(start)
        if names is None:
            names = self._starts[start] = OrderedDict()
            if len(self._starts) > _STARTS:
                self._starts.popitem(last=False)
        else:
            self._starts.move_to_end(start)
        names[namespace] = None
        if len(names) > 1:
            names.move_to_end(namespace)
            if len(names) > _SUSPECTS + 1:
                names.popitem(last=False)

    def suspects(
        self, namespace: str | Namespace, data: bytes, existing: Collection[str | Namespace]
    ) -> Iterable[str | Namespace]:
        """Return the namespaces other than ``namespace`` worth asking for ``data``."""
        names: Collection[str | Namespace] = existing
        if len(existing) > _SUSPECTS + 1:
            names = self._starts.get(data[:_START], ())
        return [name for name in names if name != namespace]

    def clear(self) -> None:
        """Forget everything."""
        self._starts.clear()
