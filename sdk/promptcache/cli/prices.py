"""``promptcache prices``: the prices that costs are computed with, how old they are, and how to replace them.

The list is `promptcache.price_list`; this module writes words and the user's own file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptcache.cli.output import show, show_json
from promptcache.cli.style import Style
from promptcache.errors import PriceListError, PromptCacheError
from promptcache.price_list import (
    OLD_AFTER_DAYS,
    PriceList,
    load_price_list,
    own_price_file,
    parse_price_list,
)
from promptcache.price_sources import convert_litellm, looks_like_litellm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

FOUND: Final = 0
UNKNOWN: Final = 1
COULD_NOT_RUN: Final = 2

_SHOWN: Final = ("input", "cache_read", "output")


def main(argv: Sequence[str] | None = None) -> int:
    """List prices, or replace them.

    Returns 0; 1 when a model was asked for that has no price; 2 when a file cannot be used.
    """
    options = _parser().parse_args(argv)
    today = datetime.now(tz=UTC).date()
    try:
        if options.action == "update":
            return _update(options.source, today)
        return _list(load_price_list(), options, today)
    except PromptCacheError as error:
        print(f"promptcache prices: {error}", file=sys.stderr)
        return COULD_NOT_RUN


def _list(prices: PriceList, options: argparse.Namespace, today: date) -> int:
    wanted = options.models
    found = {name: entry for name in wanted if (entry := prices.find(name)) is not None}
    models = found if wanted else dict(sorted(prices.models.items()))
    missing = [name for name in wanted if name not in found]
    if options.output_format == "json":
        show_json(
            {
                "dated": prices.dated.isoformat(),
                "age_days": prices.age_days(today),
                "old": prices.is_old(today),
                "source": prices.source,
                "own_file": None if prices.own_file is None else str(prices.own_file),
                "unit": "USD per million tokens",
                "models": {name: dict(entry) for name, entry in models.items()},
                "unknown": missing,
            }
        )
    else:
        show(describe(prices, models, today, Style.for_stream(sys.stdout)))
    if warning := age_warning(prices, today):
        print(f"promptcache prices: {warning}", file=sys.stderr)
    for name in missing:
        print(f"promptcache prices: no price is known for {name!r}; its cost is unknown.", file=sys.stderr)
    return UNKNOWN if missing else FOUND


def age_warning(prices: PriceList, today: date) -> str | None:
    """Return the sentence that says the prices are old, or None where they are not."""
    if not prices.is_old(today):
        return None
    return (
        f"these prices are {prices.age_days(today)} days old (more than {OLD_AFTER_DAYS}). "
        "Replace them with `promptcache prices update --from FILE`."
    )


def describe(prices: PriceList, models: Mapping[str, Mapping[str, Any]], today: date, style: Style) -> str:
    """Write a table of prices, a line for each model, and where they come from."""
    width = max([len(name) for name in models], default=5)
    lines = [
        style.bold(f"{'model':<{width}}  {'input':>8}  {'read':>8}  {'output':>8}  written to the cache")
    ]
    for name, entry in models.items():
        cells = "  ".join(f"{_amount(entry.get(key)):>8}" for key in _SHOWN)
        own = style.dim("  your own") if name in prices.own else ""
        lines.append(f"{name:<{width}}  {cells}  {_writes(entry)}{_tiers(entry)}{own}")
    lines.append("")
    lines.append(f"USD per million tokens, as of {prices.dated} ({prices.age_days(today)} days ago).")
    lines.append(style.dim(f"Source: {prices.source}"))
    if prices.own_file is not None:
        lines.append(style.dim(f"Your own: {prices.own_file} ({len(prices.own)} models)"))
    return "\n".join(lines)


def _amount(price: object) -> str:
    return "?" if price is None else f"{price:g}"


def _writes(entry: Mapping[str, Any]) -> str:
    written = [(key, entry[key]) for key in entry if key.startswith("cache_write")]
    return ", ".join(
        f"{key.removeprefix('cache_write').strip('_') or 'any'} {price:g}" for key, price in written
    )


def _tiers(entry: Mapping[str, Any]) -> str:
    starts = [f"{tier['above_input_tokens']:,}" for tier in entry.get("tiers", ())]
    return f"  (other prices above {' and '.join(starts)} tokens)" if starts else ""


def _update(source: Path, today: date) -> int:
    """Read a list of ours or LiteLLM's and keep it as the user's own."""
    data = _read(source)
    if looks_like_litellm(data):
        assert isinstance(data, dict)
        data = {"dated": today.isoformat(), "source": source.name, "models": convert_litellm(data)}
    prices = parse_price_list(data)
    path = own_price_file()
    _write(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    show(f"{len(prices.models)} models from {source.name}, as of {prices.dated}, are now in {path}.")
    return FOUND


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise PriceListError(str(path), f"cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise PriceListError(str(path), f"is not JSON ({error})") from error


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except OSError as error:
        raise PriceListError(str(path), f"cannot be written ({error.strerror})") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "promptcache prices",
        description="Show the prices that costs are computed with, or replace them. "
        "Exit: 0 done, 1 a model has no known price, 2 could not run.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="show prices and how old they are")
    listed.add_argument("models", metavar="MODEL", nargs="*", help="only these")
    listed.add_argument("--output-format", choices=("text", "json"), default="text")
    update = actions.add_parser(
        "update", help="replace prices by those of a file: our own form, or LiteLLM's map of models"
    )
    update.add_argument("--from", dest="source", metavar="FILE", type=Path, required=True)
    return parser
