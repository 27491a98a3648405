"""One system prompt, two questions: the engine computes the prompt once.

Runs offline on a tiny random model, whose answers are noise. For real answers name a model:
    python examples/02_engine.py smollm2-135m-instruct
"""

import sys

from promptcache_engine import Admitted, Engine, EngineConfig, Finished, SamplingParams, TokenDelta
from promptcache_engine.models.testing import tiny_model

SYSTEM = "You are the assistant of a small library. It opens at nine and closes at six. " * 8
QUESTIONS = ("When do you open?", "When do you close?")


def make_engine() -> Engine:
    if len(sys.argv) > 1:
        return Engine(EngineConfig(model=sys.argv[1]), on_progress=print)
    return Engine.from_loaded(tiny_model(), EngineConfig(model="tiny"))


def main() -> None:
    params = SamplingParams(temperature=0, max_tokens=24)
    with make_engine() as engine:
        for question in QUESTIONS:
            messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
            prompt = engine.tokenizer.encode(engine.render_chat(messages))
            print(f"\n{question}")
            answer = ""
            for event in engine.stream(prompt, params):
                match event:
                    case Admitted():
                        print(f"  {event.cached_tokens} of {event.prompt_tokens} prompt tokens were cached")
                        print(f"  the prompt left the cache at token {event.reason.diverged_at}")
                    case TokenDelta():
                        answer += event.text
                    case Finished():
                        print(f"  {event.output_tokens} tokens, ended by {event.finish_reason}: {answer!r}")
        stats = engine.stats()
        print(f"\npages: {stats.pages_cached} cached, {stats.pages_held} held, {stats.pages_free} free")


if __name__ == "__main__":
    main()
