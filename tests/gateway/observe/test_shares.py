"""Several causes at once: each answers for its own part of the loss, the costliest comes first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.usage import Usage
from promptcache_gateway.observe.shares import split_loss
from tests.gateway.observe.scenes import Provider, Stage, chat, outcome, rules_text
from tests.gateway.observe.traffic import COMBINED, Author, clocked

RULES = rules_text()
HALF = RULES[: len(RULES) // 2]


def test_the_fault_with_more_behind_it_comes_first_and_both_have_their_share() -> None:
    stage = Stage(Provider(granularity=1, minimum=0))

    def body(second: int, request: str) -> dict[str, object]:
        system = f"Now: 12:00:{second:02}\n{HALF}\nRequest id: {request}\n{RULES}"
        return chat(system, "Hi?")

    stage.send(body(1, "3f2b8c1e-9a4d-4e21-8b7a-1c2d3e4f5a6b"))
    diagnosis = stage.send(body(42, "9d8c7b6a-5f4e-4d3c-a2b1-0f1e2d3c4b5a")).diagnosis

    assert diagnosis.cause == "PC102"
    assert diagnosis.causes[:2] == ("PC102", "PC101")
    assert diagnosis.lost_tokens is not None
    assert sum(diagnosis.losses.values()) == diagnosis.lost_tokens
    assert diagnosis.losses["PC101"] == pytest.approx(len(HALF) / 4, rel=0.1)
    assert diagnosis.losses["PC102"] == pytest.approx(len(RULES) / 4, rel=0.1)
    assert diagnosis.path == "messages[0]"
    assert diagnosis.char_offset == len(f"Now: 12:00:42\n{HALF}\nRequest id: ")  # the costliest cause's own


@pytest.mark.parametrize("make", COMBINED, ids=lambda make: make.__name__)
def test_shares_add_up_and_descend(make: object) -> None:
    for seed in range(2_000, 2_005):
        pair = clocked(make(Author(seed)))  # type: ignore[operator]
        stage = Stage()
        for body in pair.earlier:
            stage.send(body)
        diagnosis = stage.send(pair.later, after_s=pair.after_s).diagnosis

        shares = list(diagnosis.losses.values())
        assert sum(shares) == diagnosis.lost_tokens
        assert shares == sorted(shares, reverse=True)
        assert next(iter(diagnosis.losses)) == diagnosis.cause


@given(
    st.integers(0, 10**7),
    st.dictionaries(st.sampled_from(("PC101", "PC102", "PC301", "PC502")), st.integers(0, 10**6)),
)
@settings(max_examples=200)
def test_a_split_loses_no_token(lost: int, weights: dict[str, int]) -> None:
    shares = split_loss(lost, weights)
    assert sum(shares.values()) == (lost if weights else 0)
    assert all(share > 0 for share in shares.values())
    assert set(shares) <= set(weights)


def test_a_stream_that_was_cut_after_its_first_output_is_a_predecessor() -> None:
    stage = Stage()
    observation = stage.observer.open(stage.call(chat(RULES, "One?")))
    cut = stage.observer.close(observation, outcome(Usage.unreported(), status=502, begun=True))

    record = stage.send(chat(RULES, "Two?"))

    assert record.diagnosis.compared_with == cut.id


def test_a_stream_that_never_began_is_none() -> None:
    stage = Stage()
    observation = stage.observer.open(stage.call(chat(RULES, "One?")))
    stage.observer.close(observation, outcome(Usage.unreported(), status=502))

    assert stage.send(chat(RULES, "Two?")).diagnosis.cause == "PC801"
