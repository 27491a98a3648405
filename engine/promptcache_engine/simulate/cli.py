"""``promptcache simulate TRACE.jsonl``: hit rates of the cache on a trace, by capacity and policy.

With ``--replicas N`` it is played over so many replicas, and routing policies are compared.

Exit status: 0 done, 2 could not run.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from promptcache_engine.cache import POLICIES
from promptcache_engine.simulate.errors import RoutingError, SimulationError
from promptcache_engine.simulate.fleet import PREFILL_RATE
from promptcache_engine.simulate.fleet_report import simulate_fleet
from promptcache_engine.simulate.readers import read_trace
from promptcache_engine.simulate.report import Capacity, Report, simulate

DONE = 0
COULD_NOT_RUN = 2
_MOST_REPLICAS = 1024


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate and print; return 0, or 2 when the trace or an argument cannot be used."""
    options = _parser().parse_args(argv)
    try:
        print(_answer(options))
    except SimulationError as error:
        print(f"promptcache simulate: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        return 130
    return DONE


def _answer(options: argparse.Namespace) -> str:
    defaults = ["1%", "5%", "10%", "25%"] if options.replicas is None else ["10%"]
    capacities = [Capacity.parse(text) for text in options.capacity or defaults]
    as_json = options.output_format == "json"
    if options.replicas is None:
        if options.routing:
            raise RoutingError("--routing needs replicas to route over.", remedy="Give --replicas N.")
        policies = _unique(options.policy or ["lru", "learned"])
        report = simulate(read_trace(options.trace, options.page_size), capacities, policies)
        return json.dumps(report.to_dict(), indent=2) if as_json else describe(report)
    fleet = simulate_fleet(
        read_trace(options.trace, options.page_size),
        options.replicas,
        capacities,
        _unique(options.routing),
        policy=(options.policy or ["lru"])[0],
        prefill_rate=options.prefill_rate,
    )
    return json.dumps(fleet.to_dict(), indent=2) if as_json else fleet.describe()


def describe(report: Report) -> str:
    """Write a report as a table; rates in percent of the pages asked for."""
    policies = list(report.rows[0].hits) if report.rows else []
    headings = ["capacity", "pages", *policies, "optimum"]
    table = [headings]
    for row in report.rows:
        rates = [100 * report.rate(hits) for hits in (*row.hits.values(), row.optimum)]
        table.append([row.capacity, f"{row.pages:,}", *(f"{rate:.2f}" for rate in rates)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    size = (
        f"{report.requests:,} requests, {report.num_pages:,} pages of {report.page_size} tokens, "
        f"{report.footprint:,} different"
    )
    lines = [
        size,
        f"a cache that never evicts: {100 * report.rate(report.endless):.2f} %",
        "",
        *("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table),
    ]
    if report.approximate:
        lines += ["", "Tokens are estimated from text, four bytes each."]
    if report.skipped:
        lines += ["", f"{report.skipped:,} lines held no request."]
    return "\n".join(lines)


def _unique(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _page_size(text: str) -> int:
    size = int(text)
    if size < 1:
        raise ValueError
    return size


def _replicas(text: str) -> int:
    number = int(text)
    if not 1 <= number <= _MOST_REPLICAS:
        raise ValueError
    return number


def _rate(text: str) -> float:
    rate = float(text)
    if not 0 < rate < float("inf"):
        raise ValueError
    return rate


_replicas.__name__ = f"number of replicas from 1 to {_MOST_REPLICAS}"
_rate.__name__ = "number of tokens a second"
_page_size.__name__ = "number of tokens"  # what argparse calls it in its message


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "promptcache simulate",
        description="Hit rates of the cache on a trace: page hits in percent of the pages asked for.",
    )
    parser.add_argument(
        "trace", metavar="TRACE.jsonl", type=Path, help="a trace in Mooncake's format, or a log of requests"
    )
    parser.add_argument(
        "--capacity",
        metavar="N[%]",
        nargs="+",
        help="pages, or a share of the trace's different pages (default: 1%% 5%% 10%% 25%%; with --replicas "
        "each replica's, 10%%)",
    )
    parser.add_argument(
        "--page-size",
        metavar="N",
        type=_page_size,
        help="tokens a page (default: 512 for Mooncake, 16 for logs)",
    )
    parser.add_argument(
        "--policy",
        nargs="+",
        choices=sorted(POLICIES),
        help="eviction policies (default: lru learned; with --replicas one, lru)",
    )
    parser.add_argument("--replicas", metavar="N", type=_replicas, help="play it over so many replicas")
    parser.add_argument(
        "--routing", metavar="POLICY", nargs="+", default=[], help="routing policies (default: all)"
    )
    parser.add_argument(
        "--prefill-rate",
        metavar="TOKENS",
        type=_rate,
        default=PREFILL_RATE,
        help=f"prompt tokens a replica computes in a second (default: {PREFILL_RATE:g})",
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    return parser


if __name__ == "__main__":
    sys.exit(main())
