"""What the observer's tests share: a clock to turn, calls, outcomes, and a provider's cache that is honest.

The simulated cache does what documented caches do: it holds what it was sent, byte for byte, for its
lifetime after the last use, by model; it reads whole steps, and nothing below its minimum. A token is
four bytes. It knows nothing of segments, templates or causes.
"""

from __future__ import annotations

import gc
import itertools
import json
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from promptcache.segments import cut_request
from promptcache.usage import Usage
from promptcache_gateway.exchange import Call, EngineFacts, Outcome
from promptcache_gateway.observe import Journal, Observer, RequestRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

BYTES_A_TOKEN = 4
_MARKUP = "<|im_end|>\n<"

Body = dict[str, Any]


class Clock:
    """Unix time, turned by hand."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class Provider:
    """A simulated upstream with a prompt cache."""

    name: str = "provider"
    kind: str = "openai"
    granularity: int | None = 128
    minimum: int = 1024
    lifetime_s: float = 300.0
    reports: bool = True
    stored: dict[tuple[str, bytes], float] = field(default_factory=dict)

    def serve(self, body: Body, now: float) -> Usage:
        """Compute a prompt, reading what is cached, and cache it."""
        rendered = render(body)
        model = str(body.get("model"))
        cached = 0
        for (stored_model, stored), used in self.stored.items():
            if stored_model == model and now - used <= self.lifetime_s:
                cached = max(cached, self._readable(common(stored, rendered)))
        self.stored[model, rendered] = now
        for key, used in self.stored.items():
            if key[0] == model and now - used <= self.lifetime_s and rendered.startswith(key[1][:cached]):
                self.stored[key] = now if cached else used
        return self.usage(len(rendered) // BYTES_A_TOKEN, cached)

    def usage(self, prompt: int, cached: int) -> Usage:
        """OpenAI's usage object."""
        usage: Body = {"prompt_tokens": prompt, "completion_tokens": 7, "total_tokens": prompt + 7}
        if self.reports:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        return Usage.from_response({"usage": usage})

    def _readable(self, size: int) -> int:
        step = self.granularity or 1
        tokens = size // BYTES_A_TOKEN // step * step
        return tokens if tokens >= self.minimum else 0


def render(body: Mapping[str, Any]) -> bytes:
    """The prompt as a provider would lay it out: effort, tools, system, messages, each closed by a mark."""
    effort = str(body.get("reasoning_effort", ""))
    own = [segment.text + segment.extra for segment in cut_request(body)]
    return _MARKUP.join([effort, *own, ""]).encode("utf-8", "surrogatepass")


def common(one: bytes, other: bytes) -> int:
    """Bytes two prompts share at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class Stage:
    """An observer in front of a provider, with a clock. ``send`` plays one exchange."""

    def __init__(
        self,
        provider: Provider | None = None,
        journal: Journal | None = None,
        clock: Clock | None = None,
        **options: Any,
    ) -> None:
        self.clock = clock if clock is not None else Clock()
        self.provider = provider if provider is not None else Provider()
        self.observer = Observer([self.provider], journal, clock=self.clock, **options)
        self.records: list[RequestRecord] = []
        self._numbers = itertools.count()

    def call(self, body: Body, **known: Any) -> Call:
        """A call with ordinary values where none are given."""
        values: Body = {
            "id": f"pcr_{next(self._numbers):024x}",
            "received_at": self.clock.now,
            "dialect": "openai.chat",
            "path": "/v1/chat/completions",
            "body": json.dumps(body).encode(),
            "payload": body,
            "model": str(body.get("model", "")),
            "stream": False,
            "tenant": "default",
            "template": None,
            "upstream": self.provider.name,
            "use_cache": True,
            "want_body": False,
        }
        return Call(**(values | known))

    def send(self, body: Body, *, after_s: float = 5.0, **known: Any) -> RequestRecord:
        """Send a request ``after_s`` seconds after the last one, and have it served."""
        self.clock.now += after_s
        call = self.call(body, **known)
        observation = self.observer.open(call)
        self.observer.preview(observation, None)
        usage = self.provider.serve(body, self.clock.now)
        record = self.observer.close(observation, outcome(usage))
        self.records.append(record)
        return record

    def fail(self, body: Body, *, after_s: float = 5.0, status: int = 429, **known: Any) -> RequestRecord:
        """Send a request that no upstream works on."""
        self.clock.now += after_s
        observation = self.observer.open(self.call(body, **known))
        return self.observer.close(observation, outcome(Usage(), status=status))

    def send_to_engine(self, body: Body, facts: EngineFacts, **known: Any) -> RequestRecord:
        """Have a request served by the built-in engine, which knows ``facts``."""
        self.clock.now += 5.0
        observation = self.observer.open(self.call(body, **known))
        self.observer.preview(observation, facts)
        usage = self.provider.usage(facts.prompt_tokens, facts.cached_tokens)
        return self.observer.close(observation, outcome(usage, engine=facts))


def outcome(
    usage: Usage, *, status: int = 200, engine: EngineFacts | None = None, begun: bool | None = None
) -> Outcome:
    """An exchange that ended; ``begun``: output had come before (None: where it ended well)."""
    return Outcome(
        status=status,
        usage=usage,
        ttft_ms=120.0 if begun or (begun is None and status < 400) else None,
        duration_ms=400.0,
        engine=engine,
        error=None if status < 400 else "upstream_error",
        response_id="resp_1",
    )


def engine_provider() -> Provider:
    """The built-in engine's place."""
    return Provider(name="engine", kind="engine", granularity=1, minimum=0)


def facts(prompt: int, cached: int, *, diverged_at: int | None = None, **known: int) -> EngineFacts:
    """The engine's facts; what is not given is zero."""
    values = {"evicted": 0, "isolated": 0, "granularity": 0, "window": 0} | known
    return EngineFacts(
        prompt_tokens=prompt, cached_tokens=cached, reused=cached, diverged_at=diverged_at, **values
    )


def rules_text(lines: int = 90, name: str = "rule") -> str:
    """A system prompt: numbered sentences without a volatile value, about 60 characters each."""
    verbs = ("answer", "explain", "refuse", "summarize", "translate", "quote", "check")
    things = ("orders", "refunds", "invoices", "addresses", "deliveries", "accounts", "warranties")
    return "\n".join(
        f"As {name} {n} says, always {verbs[n % 7]} what customers ask about {things[(n * 3) % 7]} politely."
        for n in range(lines)
    )


def chat(system: str | None, *messages: str, **parameters: Any) -> Body:
    """A chat request: messages alternate between user and assistant."""
    head = [] if system is None else [{"role": "system", "content": system}]
    roles = itertools.cycle(("user", "assistant"))
    talk = [{"role": role, "content": text} for role, text in zip(roles, messages, strict=False)]
    return {"model": "model-a", **parameters, "messages": [*head, *talk]}


def texts_in(held: object) -> set[str]:
    """Every text that an object leads to, what it is made of (modules, classes, functions) aside."""
    texts, seen, left = set(), set(), [held]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, (ModuleType, FunctionType, type)):
            continue
        seen.add(id(one))
        if isinstance(one, str):
            texts.add(one)
        left += gc.get_referents(one)
    return texts
