"""LiteLLM's proxy as another process of the gateway's benchmark, from an environment of its own.

It forwards to the same mock upstream, as one worker, without a key, a database or telemetry. The environment
never gets this package: `pip install 'litellm[proxy]'` in a fresh one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_CONFIG = """\
model_list:
  - model_name: m
    litellm_params: {{model: openai/m, api_base: "{upstream}/v1", api_key: unused}}
litellm_settings: {{telemetry: false}}
general_settings: {{dangerously_permit_weak_or_unset_master_key: true}}
"""
_OURS = ("PYTHONPATH", "PYTHONHOME", "DATABASE_URL", "LITELLM_MASTER_KEY")


def command(python: str, upstream: str, folder: Path) -> list[str]:
    """What starts the proxy on ``PORT``; its settings are written into ``folder``."""
    config = folder / "litellm.yaml"
    config.write_text(_CONFIG.format(upstream=upstream), encoding="utf-8")
    proxy = [python, "-m", "litellm.proxy.proxy_cli", "--config", str(config)]
    return [*proxy, "--host", "127.0.0.1", "--port", "PORT", "--num_workers", "1", "--telemetry", "False"]


def environment() -> dict[str, str]:
    """Our environment without what is ours; the proxy asks nobody for prices."""
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    return {**kept, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
