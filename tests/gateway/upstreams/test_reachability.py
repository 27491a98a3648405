"""What calls have met, as the health page has it; only after a failure the server is tried by itself."""

import asyncio
import socket

from promptcache_gateway.upstreams.reachability import Reachability


def test_nothing_is_known_before_the_first_call() -> None:
    assert Reachability("127.0.0.1", 9).report() == {"ok": None}


def test_a_failure_is_dated_from_its_first_call_and_an_answer_ends_it() -> None:
    async def main() -> None:
        times = iter([1.0, 2.0, 3.0, 4.0])
        seen = Reachability("127.0.0.1", 9, clock=lambda: next(times))
        seen.answered()
        assert seen.report() == {"ok": True, "answered_at": 1.0}
        seen.failed("upstream_unreachable")
        seen.failed("upstream_disconnected")
        assert seen.report() == {
            "ok": False,
            "answered_at": 1.0,
            "failing_since": 2.0,
            "failed_at": 3.0,
            "error": "upstream_disconnected",
        }
        seen.answered()
        assert seen.report() == {"ok": True, "answered_at": 4.0}
        await seen.close()

    asyncio.run(main())


def test_a_server_that_is_back_is_found_without_a_call() -> None:
    async def main() -> None:
        with socket.socket() as reserved:
            reserved.bind(("127.0.0.1", 0))
            port = reserved.getsockname()[1]
            seen = Reachability("127.0.0.1", port, retry_s=0.02)
            seen.failed("upstream_unreachable")
            await asyncio.sleep(0.1)
            assert seen.ok is False
            reserved.listen()
            for _ in range(200):
                if seen.ok is None:
                    break
                await asyncio.sleep(0.02)
            assert seen.report() == {"ok": None}
        await seen.close()

    asyncio.run(main())
