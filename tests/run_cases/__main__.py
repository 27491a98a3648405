"""``python -m tests.run_cases DIR… [--json]``: exit 0 when all pass, 1 when some fail, 2 on bad input."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.run_cases.case import CaseError, find_cases
from tests.run_cases.runner import Result, run


def main(argv: list[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    try:
        cases = find_cases(options.folders)
    except CaseError as error:
        print(f"run_cases: {error}", file=sys.stderr)
        return 2
    if not cases:
        print("run_cases: no case folders there (a case has an expected.json)", file=sys.stderr)
        return 2
    results = [run(case) for case in cases]
    ran = [result for result in results if not result.skipped]
    failed = [result for result in ran if not result.passed]
    if options.json:
        print(json.dumps(_summary(ran, failed, len(results) - len(ran)), ensure_ascii=False, default=str))
    else:
        _print(results, ran, failed)
    return 1 if failed else 0


def _summary(ran: list[Result], failed: list[Result], skipped: int) -> dict[str, object]:
    return {
        "passed": len(ran) - len(failed),
        "failed": len(failed),
        "skipped": skipped,
        "cases": [result.to_dict() for result in ran],
    }


def _print(results: list[Result], ran: list[Result], failed: list[Result]) -> None:
    for result in results:
        word = "skip" if result.skipped else "pass" if result.passed else "FAIL"
        print(f"{word}  {result.id}  {result.check}{_why(result)}")
    skipped = len(results) - len(ran)
    apart = f" ({skipped} skipped: ordinary tests cover them)" if skipped else ""
    print(f"{len(ran) - len(failed)} passed, {len(failed)} failed{apart}")


def _why(result: Result) -> str:
    if result.error:
        return f": {result.error}"
    wrong = (f"{m.key} expected {m.expected!r}, got {m.actual!r}" for m in result.mismatches)
    text = "; ".join(wrong)
    return f": {text}" if text else ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tests.run_cases", description="Run cases through the public API."
    )
    parser.add_argument(
        "folders", metavar="DIR", nargs="+", type=Path, help="a case folder or a folder of them"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


if __name__ == "__main__":
    sys.exit(main())
