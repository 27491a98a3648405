"""Scenarios of requests on the cache's bookkeeping, whole pages only; no model runs.

A scenario says itself, by its fields, which of the forms below it has. What a case states only in words is
checked on the way and raises when it does not hold.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from promptcache_engine.cache import Lease, Namespace, PrefixCache

if TYPE_CHECKING:
    from tests.run_cases.case import Case

Scenario = dict[str, Any]


class PropertyError(Exception):
    """Something a scenario must leave true is not."""


def run(case: Case) -> dict[str, Any]:
    return play(case.load_json("scenario.json"))


def play(scenario: Scenario) -> dict[str, Any]:
    """Play a scenario; its field ``partial_pages``, false by default, lets hits end inside a page."""
    for field, form in FORMS.items():
        if field in scenario:
            return form(scenario)
    raise PropertyError(f"no way to play a scenario with the fields {sorted(scenario)}")


def make_cache(scenario: Scenario, *, share_on_admission: bool = True) -> PrefixCache:
    return PrefixCache(
        scenario.get("num_blocks", 1_024),
        scenario["block_size"],
        partial_pages=scenario.get("partial_pages", False),
        window=scenario.get("window"),
        share_on_admission=share_on_admission,
    )


# --- requests one after another -----------------------------------------------------------------------------


def play_requests(scenario: Scenario) -> dict[str, Any]:
    return play_steps(
        {**scenario, "steps": [{"op": "request", **request} for request in scenario["requests"]]}
    )


def play_steps(scenario: Scenario) -> dict[str, Any]:
    if isinstance(scenario["steps"], str):
        return play_lengths(scenario)
    player = Player(make_cache(scenario))
    for step in scenario["steps"]:
        getattr(player, step["op"])(step)
        player.cache.check()
    return player.answers()


class Player:
    """Plays steps, each by the method named like its ``op``."""

    def __init__(self, cache: PrefixCache) -> None:
        self.cache = cache
        self.cached: dict[str, int] = {}
        self.free_after_evict_all: int | None = None
        self._running: dict[str, Lease] = {}
        self._prefixes: dict[str, list[int]] = {}
        self._weights = ""

    def answers(self) -> dict[str, Any]:
        answers: dict[str, Any] = {"cached_tokens": self.cached, "free_after": self.cache.stats.free}
        if self.free_after_evict_all is not None:
            answers["free_after_evict_all"] = self.free_after_evict_all
        return answers

    def request(self, step: Scenario) -> None:
        tokens = [*self._prefixes.get(step.get("prefix", ""), []), *step["tokens"]]
        lease = admitted(self.cache, tokens, self._namespace(step), extra_keys(step))
        self.cached[step["id"]] = lease.hit
        computed = lease.length
        for accepted, following in rounds(step):
            # The drafts that were accepted are computed with them; the token sampled last is not yet.
            self.cache.append(lease, [*accepted, following])
            computed = lease.length - 1
        self.cache.finish(lease, computed=computed)

    def start(self, step: Scenario) -> None:
        self._running[step["id"]] = lease = admitted(self.cache, step["tokens"], self._namespace(step), ())
        self.cached[step["id"]] = lease.hit

    def finish(self, step: Scenario) -> None:
        self.cache.finish(self._running.pop(step["id"]))

    def update_weights(self, step: Scenario) -> None:
        self._weights = str(step["version"])

    def store_prefix(self, step: Scenario) -> None:
        self._prefixes[step["id"]] = step["tokens"]
        self.cache.finish(admitted(self.cache, step["tokens"], self._namespace(step), ()))

    def length(self, step: Scenario) -> None:
        prefix = self._prefixes[step["of"]]
        found = self.cache.match(prefix, self._namespace(step))
        require(0 <= len(prefix) - found < self.cache.page_size, "a stored prefix changed under its users")

    def evict_all(self, step: Scenario) -> None:
        self.cache.evict()
        self.free_after_evict_all = self.cache.stats.free

    def check(self, step: Scenario) -> None:
        used = {page for lease in self._running.values() for page in lease.pages}
        stats = self.cache.stats
        require(
            stats.free + stats.cached + len(used) == self.cache.num_pages, "pages are lost or counted twice"
        )
        for page in range(self.cache.num_pages):
            holders = sum(page in lease.pages for lease in self._running.values())
            require(
                self.cache.refs(page) == holders, "a page's count differs from the sequences that hold it"
            )

    def _namespace(self, step: Scenario) -> Namespace:
        """The tenant is the gateway's word; a salt in the body is the client's, and is not asked."""
        return Namespace(
            salt=step.get("tenant", ""),
            adapter=step.get("lora_name", ""),
            adapter_version=step.get("lora_version", ""),
            weights=self._weights,
        )


def rounds(step: Scenario) -> list[tuple[list[int], int]]:
    """What each decode step adds: (accepted draft tokens, the model's own next token)."""
    drafted = [(each["draft"][: each["accepted"]], each["next"]) for each in step.get("decode", ())]
    return drafted + [([], 1_000 + i) for i in range(step.get("generate", 0))]


def extra_keys(step: Scenario) -> list[tuple[int, int, str]]:
    return [(image["offset"], image["length"], image["hash"]) for image in step.get("mm", ())]


def admitted(cache: PrefixCache, tokens: list[int], namespace: Any = "", extra: Any = ()) -> Lease:
    lease = cache.admit(tokens, namespace, extra)
    require(lease is not None, "the pool is too small for the scenario")
    return lease


def require(holds: bool, otherwise: str) -> Any:
    if not holds:
        raise PropertyError(otherwise)


# --- scenarios with a form of their own ---------------------------------------------------------------------


def play_retokenized(scenario: Scenario) -> dict[str, Any]:
    """A reply replayed as tokens, or as text and cut differently: where the match ends, and why."""
    first, texts = scenario["turn1"], {int(token): text for token, text in scenario["vocab"].items()}
    stored = first["prompt_tokens"] + first["generated_tokens"]
    answers: dict[str, Any] = {}
    for way in ("retokenised", "spliced"):
        cache = make_cache(scenario)
        lease = admitted(cache, first["prompt_tokens"])
        cache.append(lease, first["generated_tokens"])
        cache.finish(lease)
        second = admitted(cache, scenario[f"turn2_{way}"])
        answers[f"cached_tokens_if_{way}"] = second.hit
        left_at = second.reason.diverged_at
        if left_at is not None and left_at < len(stored):
            before, after = (
                ("".join(texts[t] for t in tokens)) for tokens in (stored, scenario[f"turn2_{way}"])
            )
            if after.startswith(before):
                answers["cause"] = "PC509"
    return answers


def play_lengths(scenario: Scenario) -> dict[str, Any]:
    """Each length cold, again, and with another end: what is reused and what is computed is the prompt."""
    cached = {}
    for length in scenario["lengths"]:
        cache = make_cache(scenario)
        prompts = {
            "cold": range(length),
            "warm": range(length),
            "partial": [*range(length - 7), *range(900, 909)],
        }
        for name, tokens in prompts.items():
            lease = admitted(cache, list(tokens))
            cached[f"{name}_{length}"] = lease.hit
            require(lease.hit % cache.page_size == 0, "a hit ends inside a page")
            require(
                len(lease.pages) * cache.page_size >= lease.length > lease.hit, "nothing is left to compute"
            )
            require(name == "cold" or lease.hit > 0, "the scenario reused nothing")
            cache.finish(lease)
            cache.check()
    return {"cached_tokens": cached}


def play_resumed(scenario: Scenario) -> dict[str, Any]:
    """So many pages hit, then so many tokens to compute: the hit lies on the pages of the first run."""
    for pages in scenario["hit_blocks"]:
        for tail in scenario["tail_tokens"]:
            cache = make_cache(scenario)
            shared = range(pages * cache.page_size)
            first = admitted(cache, [*shared, *range(500, 530)])
            cache.finish(first)
            lease = admitted(cache, [*shared, *range(700, 700 + tail)])
            require(lease.hit == len(shared), "the hit is not the shared pages")
            kept, computed = lease.pages[:pages], lease.pages[pages:]
            cached = first.pages[: first.length // cache.page_size]
            require(kept == cached[:pages], "a hit lies on other pages than were computed")
            require(not set(computed) & set(cached), "computing would overwrite a cached page")
            cache.check()
    return {}


def play_soak(scenario: Scenario) -> dict[str, Any]:
    """Many requests, several at once, some given up: no page is lost."""
    cache, soak, choose = make_cache(scenario), scenario["soak"], random.Random(0)
    running: list[Lease] = []
    for _ in range(soak["requests"]):
        while len(running) >= soak["concurrency"]:
            ending = running.pop(choose.randrange(len(running)))
            (cache.abort if choose.random() < 0.2 else cache.finish)(ending)
        start = choose.randrange(5)
        running.append(admitted(cache, list(range(start, start + choose.choice(soak["lengths"])))))
        cache.append(running[-1], [choose.randrange(9)])
        require(
            cache.stats.held + cache.stats.cached <= cache.num_pages, "more pages are used than there are"
        )
        cache.check()
    for lease in running:
        cache.finish(lease)
    cache.evict()
    return {"free_after_evict_all": cache.stats.free}


def play_same_step(scenario: Scenario) -> dict[str, Any]:
    """Two requests in one step: the second cannot reuse what the first has not computed yet."""
    cache = make_cache(scenario, share_on_admission=False)
    first, second = scenario["step"]
    leader = admitted(cache, first["tokens"])
    same_step = admitted(cache, second["tokens"])
    require(same_step.hit == 0, "a page was shared before it was computed")
    cache.abort(same_step)
    cache.publish(leader, len(first["tokens"]))
    later = admitted(cache, second["tokens"])
    return {"cached_tokens": {first["id"]: leader.hit, second["id"]: later.hit}}


def play_images(scenario: Scenario) -> dict[str, Any]:
    """Images by content, not by name: which share a page."""
    cache = PrefixCache(1_024, 4)
    groups: list[list[str]] = []
    for image in scenario["images"]:
        extra = [(0, 4, image["content_sha256"])]
        known = [group for group in groups if cache.match([9, 9, 9, 9], image_space(group), extra)]
        require(len(known) <= 1, "one image passes for two")
        if not known:
            groups.append([])
        group = known[0] if known else groups[-1]
        group.append(image["id"])
        cache.finish(admitted(cache, [9, 9, 9, 9], image_space(group), extra))
    return {"identity_groups": groups}


def image_space(group: list[str]) -> str:
    """Where a group's images are kept, so that a match says which group an image belongs to."""
    return group[0] if group else ""


FORMS = {
    "turn1": play_retokenized,
    "hit_blocks": play_resumed,
    "soak": play_soak,
    "step": play_same_step,
    "images": play_images,
    "requests": play_requests,
    "steps": play_steps,
}
