"""The public names of pages, computed when somebody asks for them.

A page leaving the process is named by its key: SHA-256 over the key of the page before it and its own packed
tokens, the first page continuing the namespace's seed. So equal pages at another depth, in another namespace
or under another image have other keys. Hashing costs more than all the rest of the bookkeeping, so it waits
until a reader of events wants the key, and what it gave stays with the pages: a shared prefix is hashed once.
"""

import hashlib
from collections.abc import Callable, Iterator


class KeyRun:
    """The keys of the whole pages of one run of tokens.

    ``before`` is the run that holds the page before the first one, None for a namespace's root, which has
    its seed for a key; ``at`` is that page's place in it. ``pages`` are named, ``known`` are the
    keys computed so far, ``unhashed`` the tokens of the pages behind them. Thousands of runs may hang on each
    other unhashed; they are hashed without recursion.
    """

    __slots__ = ("_page_bytes", "at", "before", "known", "pages", "unhashed")

    def __init__(self, before: "KeyRun | None", run: bytes, page_bytes: int) -> None:
        self.before = before
        self.at = before.pages - 1 if before is not None else 0
        self.unhashed = run
        self._page_bytes = page_bytes
        self.known: list[bytes] = []
        self.pages: int = len(run) // page_bytes

    @classmethod
    def seeded(cls, seed: bytes) -> "KeyRun":
        """Return the run a namespace starts with."""
        root = cls(None, b"", len(seed))
        root.known.append(seed)
        root.pages = 1
        return root

    def __len__(self) -> int:
        return self.pages

    def grow(self, run: bytes) -> None:
        """Name the pages of ``run`` too; they follow the last one."""
        self.unhashed += run
        self.pages += len(run) // self._page_bytes

    def cut(self, pages: int) -> tuple["KeyRun", "KeyRun"]:
        """Return two runs that name the same pages, the first ``pages`` and the others; this one stays as
        it is."""
        head = KeyRun(self.before, b"", self._page_bytes)
        head.at = self.at
        head.known = self.known[:pages]
        at = (pages - len(head.known)) * self._page_bytes
        head.unhashed = self.unhashed[:at]
        head.pages = pages
        tail = KeyRun(head, self.unhashed[at:], self._page_bytes)
        tail.known = self.known[pages:]
        tail.pages = self.pages - pages
        return head, tail

    def keys(self, public: Callable[[bytes], bytes] | None = None) -> list[bytes]:
        """Return every page's key; ``public`` turns a page into what other processes would pack."""
        for run in self._chain():
            run.compute(public)
        return self.known

    def key_before(self, page: int) -> bytes:
        """Return the key of the page before ``page``; the namespace's seed when there is none."""
        if page:
            return self.keys()[page - 1]
        assert self.before is not None
        return self.before.keys()[self.at]

    def _chain(self) -> Iterator["KeyRun"]:
        """This run and those it hangs on that are not hashed, those first."""
        waiting: list[KeyRun] = []
        step: KeyRun | None = self
        while step is not None and step.unhashed:
            waiting.append(step)
            step = None if step.known else step.before
        return reversed(waiting)

    def compute(self, public: Callable[[bytes], bytes] | None) -> None:
        """Compute the keys that are not known; those of the run before this one are."""
        before = self.before
        assert before is not None
        keys, run, size = self.known, self.unhashed, self._page_bytes
        previous = keys[-1] if keys else before.known[self.at]
        sha256, add = hashlib.sha256, keys.append
        for at in range(0, len(run), size):
            content = run[at : at + size]
            previous = sha256(previous + (content if public is None else public(content))).digest()
            add(previous)
        self.unhashed = b""
