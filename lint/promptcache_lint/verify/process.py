"""What runs in a process of its own: puts a world in place, imports the code, calls the function.

A job comes as JSON on standard input, the answer goes as JSON to standard output; what the code prints goes
to standard error. Nothing of this package that is heavy may be imported before the world is in place.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from promptcache_lint.verify.bodies import MOST_ITEMS, NoRequestError, as_body, yielded
from promptcache_lint.verify.chance import Chance
from promptcache_lint.verify.clients import RequestCaughtError, catch_requests
from promptcache_lint.verify.clock import Clock
from promptcache_lint.verify.network import Network
from promptcache_lint.verify.surroundings import Surroundings
from promptcache_lint.verify.worlds import World

__all__ = ["main"]


class _Failed(Exception):  # noqa: N818 - it never leaves this module
    """The request could not be rendered; the text says why."""


def main() -> None:
    """Answer one job: ``{target, args, kwargs, folder, world, calls}``, ``calls`` being a list of worlds."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job = json.load(sys.stdin)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 - for the rest of the process
    stage = _Stage(World.from_dict(job["world"]))
    try:
        stage.install()
        function = _function(job["target"], job["folder"])
        bodies = [stage.call(function, job, World.from_dict(world)) for world in job["calls"]]
        result: dict[str, Any] = {"bodies": bodies}
    except _Failed as problem:
        result = {"problem": str(problem), "network": stage.network.asked_for}
    json.dump(result, answer, ensure_ascii=True)
    answer.close()
    sys.stderr.flush()
    os._exit(0)  # threads of the code under test must not keep the process


class _Stage:
    """The world as it is put in place, and moved on between calls."""

    def __init__(self, world: World) -> None:
        self._clock = Clock(world.now)
        self._chance = Chance(world.random_seed)
        self._surroundings = Surroundings(world)
        self.network = Network()
        self._seed = world.random_seed

    def install(self) -> None:
        catch_requests()
        self.network.install()
        self._surroundings.install()
        self._clock.install()
        self._chance.install()
        self._chance.restart(self._seed)

    def call(self, function: Any, job: dict[str, Any], world: World) -> dict[str, Any]:
        """Call the function as if it were now in ``world``, as far as a running process can get there."""
        self._clock.now = world.now
        self._surroundings.reverse_listings = world.reverse_listings
        self._chance.restart(world.random_seed)
        try:
            return as_body(_result(function, job["args"], job["kwargs"]))
        except NoRequestError as error:
            raise _Failed(f"it returned {error.found}, which is no request, messages or text") from error


def _function(target: str, folder: str) -> Any:
    name, _, path = target.partition(":")
    sys.path.insert(0, folder)
    try:
        found = _from_file(Path(folder, name)) if name.endswith(".py") else importlib.import_module(name)
        owner = None
        for part in path.split("."):
            owner, found = found, getattr(found, part)
    except RequestCaughtError as caught:
        raise _Failed("a request is sent while the module is imported") from caught
    except BaseException as error:
        raise _Failed(_told(error)) from error
    if not callable(found):
        return lambda: found
    if inspect.isclass(owner) and inspect.isfunction(found):
        return _method(owner, found.__name__)
    return found


def _method(owner: type, name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(owner(), name)(*args, **kwargs)

    return call


def _from_file(path: Path) -> Any:
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None, "the name ends in .py"
    assert spec.loader is not None, "the name ends in .py"
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _result(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What the function sends, or else returns or yields; coroutines and generators are run to their end."""
    try:
        value = function(*args, **kwargs)
        if inspect.isawaitable(value) or inspect.isasyncgen(value):
            import asyncio  # noqa: PLC0415 - only where it is needed: it takes its time

            value = asyncio.run(_awaited(value))
        elif inspect.isgenerator(value):
            value = yielded(list(islice(value, MOST_ITEMS + 1)))
    except NoRequestError as error:
        raise _Failed(error.found) from error
    except RequestCaughtError as caught:
        return caught.body
    except BaseException as error:
        caught_inside = _caught_inside(error)
        if caught_inside is not None:
            return caught_inside.body
        raise _Failed(_told(error)) from error
    return value


async def _awaited(value: Any) -> Any:
    if inspect.isasyncgen(value):
        items: list[Any] = []
        async for item in value:
            items.append(item)
            if len(items) > MOST_ITEMS:
                break
        return yielded(items)
    return await value


def _caught_inside(error: BaseException | None) -> RequestCaughtError | None:
    """A request that was caught in a task, under the error its group made of it."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, RequestCaughtError):
            return current
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
    return None


def _told(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


if __name__ == "__main__":
    main()
