"""Fetch the default model into the user's cache, so that the tests that need it find it."""

import sys

from promptcache_engine.hub import ModelUnavailableError, resolve_model


def main() -> int:
    """Exit 0 when the model is there; 1 with one line when it is not (the tests that need it then say so)."""
    try:
        resolve_model("smollm2-135m-instruct", progress=lambda line: print(line, file=sys.stderr, flush=True))
    except ModelUnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
