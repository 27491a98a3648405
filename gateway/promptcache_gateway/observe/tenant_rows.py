"""One tenant's rows of recent requests by family, and what is done with whole ones.

A head that was compared with a template's requests may turn out to be a template of its own (`lodgers`): its
requests then leave the template's row for another one. Bounds are `history`'s business.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptcache_gateway.observe.failed import Failed
from promptcache_gateway.observe.row import Row, forget_oldest, index_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry


@dataclass(eq=False, slots=True)
class TenantRows:
    """The rows, the least recently used first.

    Attributes:
        rows: by family.
        forgotten: one of them has been forgotten.
        size: theirs together, in bytes.
        failed: requests that were taken out again, for no upstream worked on them.
    """

    rows: OrderedDict[str, Row] = field(default_factory=OrderedDict)
    forgotten: bool = False
    size: int = 0
    failed: Failed = field(default_factory=Failed)

    def drop(self, family: str) -> Row | None:
        """Take a row out."""
        row = self.rows.pop(family, None)
        self.size -= row.size if row is not None else 0
        return row

    def put(self, family: str, row: Row) -> None:
        """Put a row in where there is none."""
        self.rows[family] = row
        self.size += row.size

    def forget_oldest_of(self, row: Row) -> None:
        """Forget a row's oldest request."""
        before = row.size
        forget_oldest(row)
        self.size += row.size - before

    def row_with(self, entry: Entry) -> Row | None:
        """Where a request stands, whatever its family was."""
        return next((row for row in self.rows.values() if entry in row.entries), None)

    def part(self, family: str, to: str, goes: Callable[[Prompt], bool]) -> None:
        """Have those requests of a family that ``goes`` says continue another one."""
        row = self.drop(family)
        if row is None:
            return
        going = [(entry, goes(entry.prompt)) for entry in row.entries]
        other = self.drop(to) or Row()
        found = [*other.entries, *(entry for entry, leaves in going if leaves)]
        self.put(family, _row_of([entry for entry, leaves in going if not leaves], row))
        self.put(to, _row_of(sorted(found, key=lambda entry: entry.received_at), row, other))


def _row_of(entries: Iterable[Entry], *like: Row) -> Row:
    """A row of these requests; what is known of lengths is known of them too."""
    row = Row(forgotten=any(one.forgotten for one in like))
    for one in like:
        row.lengths.update(one.lengths)
    for entry in entries:
        row.entries.append(entry)
        index_entry(row, entry)
        row.size += entry.size
    return row
