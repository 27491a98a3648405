"""The words cases use for a kind of cause, and the code each stands for."""

from __future__ import annotations

CODES = {
    "dyn.time": "PC101",
    "dyn.date": "PC109",
    "dyn.id": "PC102",
    "dyn.env": "PC105",
    "dyn.counter": "PC107",
    "dyn.random": "PC103",
    "dyn.retrieval": "PC402",
    "dyn.conditional": "PC404",
    "order.tools": "PC301",
    "order.json_keys": "PC201",
    "order.set": "PC202",
    "order.fs": "PC203",
    "order.collection": "PC204",
    "order.volatility": "PC401",
    "tools.changed": "PC302",
    "whitespace.trim": "PC206",
    "bp.shape_flip": "PC206",
    "model.switch": "PC503",
    "model_changed": "PC503",
    "params.toggle": "PC504",
    "cold_start": "PC801",
    "upstream.variance": "PC809",
    "upstream_unexplained": "PC809",
    "acct.unknown": "PC810",
    "history.front_trim": "PC501",
    "history.rewrite": "PC502",
    "history.edit": "PC502",
    "history.compaction": "PC506",
    "template.reasoning_drop": "PC505",
    "template.generation_prompt": "PC508",
    "template.position": "PC508",
    "template.special_tokens": "PC508",
    "serialize.tool_args": "PC507",
    "retokenize": "PC509",
    "bp.on_dynamic": "PC601",
    "bp.dropped": "PC602",
    "bp.history_unmarked": "PC602",
    "bp.too_many": "PC603",
    "bp.ttl_order": "PC603",
    "bp.below_min": "PC604",
    "bp.lookback": "PC605",
    "bp.frozen": "PC610",
    "concurrency.cold_fanout": "PC608",
    "ttl.expired": "PC802",
    "ttl_expired": "PC802",
    "engine.eviction_policy": "PC803",
    "engine.granularity": "PC807",
    "engine.isolation": "PC808",
    "engine.disabled": "PC811",
}
FAMILIES = {"cache_key.": "PC607", "route.": "PC804", "engine.identity_": "PC808"}


def code_of(kind: str) -> str | None:
    """The code for ``kind``; None for the kinds of correctness cases, which have a right value instead."""
    if kind in CODES:
        return CODES[kind]
    return next((code for family, code in FAMILIES.items() if kind.startswith(family)), None)
