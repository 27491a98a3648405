"""Time to first token cold and warm, and decoding speed alone and in a batch.

    python benchmarks/engine.py [--model smollm2-135m-instruct] [--prompt-tokens 1500] [--rounds 3]

Times are the best of the rounds, ratios are cold ÷ warm. ``--model tiny`` needs no file and shows what the
engine itself costs. Ids are random, so nothing is shared but what the benchmark repeats.
"""

import argparse
import random
import threading
import time
from collections.abc import Callable, Sequence

from promptcache_engine import (
    Engine,
    EngineConfig,
    Failed,
    Finished,
    GenerationEvent,
    SamplingParams,
    TokenDelta,
)
from promptcache_engine.models.testing import tiny_model


def main() -> None:
    options = parse_arguments()
    config = EngineConfig(
        model=options.model, threads=options.threads, max_batch_tokens=options.max_batch_tokens
    )
    tiny = options.model == "tiny"
    with Engine.from_loaded(tiny_model(), config) if tiny else Engine(config, on_progress=print) as engine:
        print(engine.info)
        first_tokens(engine, options.prompt_tokens, options.rounds)
        for batch in (1, 8):
            decoding(engine, batch, options.output_tokens)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--prompt-tokens", type=int, default=1500)
    parser.add_argument("--output-tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--max-batch-tokens", type=int, default=512)
    return parser.parse_args()


def first_tokens(engine: Engine, length: int, rounds: int) -> None:
    """The same prompt twice, and once with another last part."""
    cold, warm, turn = [], [], []
    for _ in range(rounds):
        prompt = random_tokens(engine, length)
        cold.append(time_to_first_token(engine, prompt))
        warm.append(time_to_first_token(engine, prompt))
        turn.append(time_to_first_token(engine, prompt + random_tokens(engine, 20)))
    print(f"time to first token, {length} tokens: cold {min(cold) * 1e3:8.1f} ms")
    for name, times in (("repeated", warm), ("20 tokens more", turn)):
        ratio = min(cold) / min(times)
        print(f"    {name:16} {min(times) * 1e3:8.1f} ms, cold ÷ warm = {ratio:.1f}")


def time_to_first_token(engine: Engine, prompt: Sequence[int]) -> float:
    start = time.perf_counter()
    for event in engine.stream(prompt, SamplingParams(temperature=0, max_tokens=1, ignore_eos=True)):
        if isinstance(event, TokenDelta):
            return time.perf_counter() - start
    raise SystemExit("the engine answered without a token")


def decoding(engine: Engine, batch: int, length: int) -> None:
    """Tokens a second over all sequences, from everyone's first token to everyone's last."""
    params = SamplingParams(temperature=0, max_tokens=length, ignore_eos=True)
    ends = [threading.Event() for _ in range(batch)]
    stamps: list[list[float]] = [[] for _ in range(batch)]
    for end, times in zip(ends, stamps, strict=True):
        engine.submit(random_tokens(engine, 64), params, on_event=stopwatch(end, times))
    for end in ends:
        end.wait()
    begin = max(times[0] for times in stamps)
    tokens = sum(1 for times in stamps for stamp in times if stamp > begin)
    seconds = max(times[-1] for times in stamps) - begin
    print(f"decoding, batch {batch}: {tokens / seconds:8.1f} tokens/s")


def stopwatch(end: threading.Event, times: list[float]) -> Callable[[GenerationEvent], None]:
    """Note when each piece of text comes; random tokens may hold a character back, so pieces are counted."""

    def on_event(event: GenerationEvent) -> None:
        if isinstance(event, TokenDelta):
            times.extend([time.perf_counter()] * len(event.token_ids))
        elif isinstance(event, Finished | Failed):
            end.set()

    return on_event


def random_tokens(engine: Engine, count: int) -> list[int]:
    return [random.randrange(engine.info.vocab_size) for _ in range(count)]


if __name__ == "__main__":
    main()
