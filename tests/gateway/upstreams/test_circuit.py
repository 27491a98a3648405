"""When an upstream is left alone, and how many retries there are."""

from promptcache_gateway.upstreams.circuit import Circuit, RetryBudget


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_opens_after_failures_in_a_row_only() -> None:
    circuit = Circuit(opens_after=3, clock=Clock())
    for _ in range(5):
        circuit.failed()
        circuit.failed()
        circuit.succeeded()
    assert circuit.allows()
    for _ in range(3):
        circuit.failed()
    assert not circuit.allows()


def test_one_call_probes_after_the_cool_down() -> None:
    clock = Clock()
    circuit = Circuit(opens_after=1, cool_down_s=10, clock=clock)
    circuit.failed()
    assert (circuit.allows(), circuit.retry_after_s) == (False, 10)
    clock.now += 10
    assert circuit.allows()
    assert not circuit.allows(), "the others wait for what the probe meets"
    circuit.failed()
    assert (circuit.allows(), circuit.retry_after_s) == (False, 10)
    clock.now += 10
    assert circuit.allows()
    circuit.succeeded()
    assert circuit.allows()
    assert (circuit.allows(), circuit.retry_after_s) == (True, 0)


def test_a_probe_that_tells_nothing_is_followed_by_another() -> None:
    clock = Clock()
    circuit = Circuit(opens_after=1, cool_down_s=10, clock=clock)
    circuit.failed()
    clock.now += 10
    assert circuit.allows()
    circuit.undecided()
    clock.now += 10
    assert circuit.allows()


def test_a_probe_that_was_not_sent_is_no_probe() -> None:
    """A request that could not be translated, say: the next one need not wait."""
    clock = Clock()
    circuit = Circuit(opens_after=1, cool_down_s=10, clock=clock)
    circuit.unsent()
    assert circuit.allows()
    circuit.failed()
    clock.now += 10
    assert circuit.allows()
    circuit.unsent()
    assert (circuit.allows(), circuit.allows()) == (True, False)


def test_it_says_since_when_and_until_when_an_upstream_is_left_alone() -> None:
    clock = Clock()
    circuit = Circuit(opens_after=2, cool_down_s=10, clock=clock)
    circuit.failed()
    assert (circuit.failures, circuit.open_for_s, circuit.probe_in_s) == (1, 0, 0)
    circuit.failed()
    clock.now += 4
    assert (circuit.failures, circuit.open_for_s, circuit.probe_in_s) == (2, 4, 6)
    clock.now += 6
    assert circuit.probe_in_s == 0
    assert not circuit.is_probed
    assert circuit.allows()
    assert circuit.is_probed
    circuit.failed()
    clock.now += 1
    assert (circuit.is_probed, circuit.opened) == (False, 1)
    assert (circuit.failures, circuit.open_for_s, circuit.probe_in_s) == (3, 11, 9)
    circuit.succeeded()
    assert (circuit.failures, circuit.open_for_s, circuit.probe_in_s) == (0, 0, 0)


def test_retries_are_a_share_of_the_calls() -> None:
    budget = RetryBudget(burst=2, share=0.5)
    assert [budget.take() for _ in range(3)] == [True, True, False]
    budget.called()
    assert not budget.take()
    budget.called()
    assert budget.take()
    for _ in range(100):
        budget.called()
    assert [budget.take() for _ in range(3)] == [True, True, False]


def test_a_fleet_s_never_opens() -> None:
    circuit = Circuit(opens_after=None, clock=Clock())
    for _ in range(100):
        circuit.failed()
    assert (circuit.allows(), circuit.is_open, circuit.opened, circuit.retry_after_s) == (True, False, 0, 0)
