"""Instructions that stand behind what is new in every request: documents, a profile, a long page of data."""

from __future__ import annotations

import pytest

from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import read_prompt
from promptcache_gateway.observe.templates import Templates
from tests.gateway.observe.scenes import Provider, Stage, chat, rules_text

RULES = rules_text(90)
FOOTER = rules_text(6)


def page(number: int, sentences: int) -> str:
    return " ".join(
        f"In {number * 31 + n} the {n * number}th bee of hive {number} flew." for n in range(sentences)
    )


@pytest.mark.parametrize("template", [None, "rag"])
def test_documents_in_front_are_named_with_what_stands_behind_them(template: str | None) -> None:
    stage = Stage(Provider())
    bodies = [chat(f"Answer from these documents:\n{page(n, 500)}\n\n{RULES}", "Why?") for n in (3, 5)]
    first, second = (stage.send(body, template=template) for body in bodies)

    diagnosis = second.diagnosis
    assert second.template == first.template
    assert (diagnosis.cause, diagnosis.attribution) == ("PC402", "caller")
    assert diagnosis.path == "messages[0]"
    assert len(RULES) // 4 * 0.5 < diagnosis.lost_tokens <= len(RULES) // 4


def test_a_large_profile_in_front_is_text_behind_what_changes() -> None:
    stage = Stage(Provider())
    for number in (3, 5):
        record = stage.send(chat(f"<profile>\n{page(number, 200)}\n</profile>\n{RULES}", "Why?"))
    assert "PC401" in record.diagnosis.causes
    assert len(RULES) // 4 * 0.5 < record.diagnosis.lost_tokens <= len(RULES) // 4


def test_a_common_footer_is_too_little() -> None:
    stage = Stage(Provider())
    assert len(FOOTER) < 1_000
    records = [
        stage.send(chat(f"{page(n, 300)}\n{FOOTER}", f"Why? {at}")) for at, n in enumerate((3, 5, 5, 3))
    ]
    assert [record.diagnosis.cause for record in records] == ["PC801", "PC801", None, None]
    assert len({record.template for record in records}) == 2


def test_sentences_end_in_every_script() -> None:
    masker = Masker()
    templates = Templates(masker)
    sentences = [
        f"{n}\uff1a\u8bf7\u793c\u8c8c\u5730\u56de\u7b54\u5ba2\u6237\u7684\u95ee\u9898{n * 7}\u3002"
        for n in range(60)
    ]
    names = {
        templates.name(
            "t", None, read_prompt(chat(f"\u7528\u6237\uff1a{who}\u3002" + "".join(sentences), "a"), masker)
        ).name
        for who in ("\u5f20\u4e09\u7684\u7237\u7237", "\u674e\u56db\u7684\u5976\u5976")
    }
    assert len(names) == 1


def test_what_ends_the_instructions_anew_costs_only_itself() -> None:
    stage = Stage(Provider())
    records = [stage.send(chat(f"{RULES}\n## Retrieved context\n{page(n, 90)}", "Why?")) for n in (3, 5, 7)]
    assert [record.diagnosis.cause for record in records] == ["PC801", None, None]
    assert [record.diagnosis.lost_tokens for record in records] == [0, 0, 0]
    assert all(record.diagnosis.hit for record in records[1:])


def test_it_is_a_fault_where_a_history_stands_behind() -> None:
    stage = Stage(Provider())
    turns = [
        "Where is my parcel, which I sent on Monday?",
        "It is at the depot in the north.",
        "And now, please?",
    ]
    stage.send(chat(f"{RULES}\n## Retrieved context\n{page(3, 90)}", turns[0]))
    record = stage.send(chat(f"{RULES}\n## Retrieved context\n{page(5, 90)}", *turns))
    assert record.diagnosis.hit is False
    assert record.diagnosis.attribution == "caller"
