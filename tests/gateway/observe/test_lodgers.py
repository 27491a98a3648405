"""One prompt with changing values in it, and several that share a part: told apart, nobody blamed."""

from __future__ import annotations

import json
import random
from typing import Any
from xml.sax.saxutils import escape

import pytest

from promptcache_gateway.observe.lodgers import ENOUGH, MOST
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import read_prompt
from promptcache_gateway.observe.templates import Templates
from tests.gateway.observe.scenes import Provider, Stage, chat

WORDS = [
    *("order", "parcel", "depot", "customs", "invoice", "refund", "answer", "politely", "never"),
    *("price", "within", "working", "days", "ask", "licence", "goods", "papers", "shipped"),
    *("arrive", "unless", "explain", "manager", "quote", "warranty", "account", "address"),
    *("delivery", "before", "after", "every", "customer", "question", "short", "formal", "apology"),
    *("window",),
]
GIVEN = [
    *("Alice", "Björn", "Carla", "Dmitri", "Eve", "Farid", "Grace", "Hiro", "Ines", "Jonas", "Kim"),
    *("Lena", "Mats", "Nora", "Olga", "Pavel", "Quinn", "Rosa"),
]
FAMILY = [
    *("Smith", "Jones", "Okafor", "Novak", "Rossi", "Sato", "Weber", "Diaz", "Chen", "Berg"),
    *("Adams",),
]
CHINESE = "请先确认客户的订单编号再回答问题不要透露公司内部价格政策如果生气保持礼貌并道歉退货需在三十天内申请"
THAI = "คุณเป็นผู้ช่วยฝ่ายบริการลูกค้า ตอบคำถามอย่างสุภาพ ห้ามเปิดเผยราคาภายใน หากลูกค้าไม่พอใจให้ขอโทษ ส่งต่อเรื่องกฎหมาย"


def prose(size: int, seed: Any, end: str = ".\n") -> str:
    """About so many characters of ordinary words, other ones for each seed."""
    draw, out = random.Random(str(seed)), ""
    while len(out) < size:
        out += " ".join(draw.choices(WORDS, k=draw.randint(8, 16))).capitalize() + end
    return out[:size]


def signs(size: int, seed: Any, alphabet: str = CHINESE, end: str = "\uff0c") -> str:
    """The same in a script without spaces."""
    draw = random.Random(str(seed))
    return end.join("".join(draw.choices(alphabet, k=12)) for _ in range(size // 12))


def who(n: int) -> str:
    return f"{GIVEN[n % len(GIVEN)]} {FAMILY[n % len(FAMILY)]}"


STATIC = prose(3_000, "static")
RULES = [prose(60, k, "") for k in range(40)]

ONE = {
    "a name before one line without sentences": lambda n: f"You help {who(n)} {prose(3_000, 1, ' ')}",
    "a name in a whole prompt": lambda n: f"You are a helpful assistant for {who(n)}.",
    "JSON on one line": lambda n: json.dumps({"user": who(n), "role": "support", "rules": RULES}),
    "indented JSON with the value in the middle": lambda n: json.dumps(
        {"rules": RULES[:20], "user": who(n), "more": RULES[20:]}, indent=1
    ),
    "YAML with short lines": lambda n: (
        f"user: {who(n)}\n" + "\n".join(f"k{k}: v{k * 7 % 13}" for k in range(99))
    ),
    "XML on one line": lambda n: (
        f"<user>{who(n)}</user>" + "".join(f"<r>{escape(rule)}</r>" for rule in RULES)
    ),
    "Thai": lambda n: f"สวัสดี {who(n)} {signs(900, 'th', THAI, ' ')}",
    "Chinese without full stops": lambda n: f"今天是2026年11月{n + 1}日\uff0c{signs(900, 'zh')}",
    "Japanese with a number": lambda n: (
        f"会員番号{n * 7919}。" + signs(900, "ja", "あいうえおかきくけこさしすせそ客様注文", "。")
    ),
    "documents between two short parts": lambda n: prose(200, 2) + prose(3_000, n) + prose(900, 3),
    "documents before little": lambda n: prose(8_000, n) + "\n" + prose(700, 3),
    "documents behind little": lambda n: prose(700, 3) + prose(8_000, n),
    "Chinese documents before rules": lambda n: signs(3_000, n) + "。" + signs(600, "rules"),
    "names all over": lambda n: "\n".join(
        f"{rule} {who(n + k) if k % 3 == 0 else k}" for k, rule in enumerate(RULES)
    ),
}


@pytest.mark.parametrize("form", ONE)
def test_what_changes_in_it_does_not_split_a_template(form: str) -> None:
    stage, made = Stage(Provider()), ONE[form]
    names = {stage.send(chat(made(n), f"Why is it so, and what is it with {n}?")).template for n in range(26)}
    assert len(names) == 1


SEVERAL = {
    "a common footer": lambda n: prose(4_000, n) + prose(1_100, "foot"),
    "a common preamble": lambda n: prose(300, "pre") + prose(4_000, n),
    "a long common preamble": lambda n: prose(1_200, "pre") + prose(1_000, n),
    "both": lambda n: prose(400, "pre") + prose(3_000, n) + prose(400, "foot"),
    "short ones": lambda n: f"You are the {WORDS[n]} agent. {prose(150, n)}",
    "tiny ones": lambda n: f"You are a {WORDS[n * 3]} {WORDS[n + 9]} and {WORDS[n + 20]} everything.",
    "Chinese with a common footer": lambda n: signs(1_500, n) + signs(400, "foot"),
    "JSON with common rules": lambda n: json.dumps({"job": prose(3_000, n), "rules": RULES[:12]}),
}


@pytest.mark.parametrize("order", ["in turn", "one after the other"])
@pytest.mark.parametrize("form", SEVERAL)
def test_prompts_that_share_a_part_are_several_and_nobody_is_blamed(form: str, order: str) -> None:
    stage, made = Stage(Provider()), SEVERAL[form]
    agents = [n % 5 for n in range(25)] if order == "in turn" else [n // 5 for n in range(25)]
    records = [stage.send(chat(made(agent), f"Question {at}?")) for at, agent in enumerate(agents)]
    assert not [record.diagnosis.cause for record in records if record.diagnosis.attribution == "caller"]
    assert len({record.template for record in records}) == 5
    settled = {(agent, record.template) for agent, record in list(zip(agents, records, strict=True))[-4:]}
    assert len(settled) == len(dict(settled))


def test_the_same_words_with_no_tool_in_common_are_two_prompts() -> None:
    stage = Stage(Provider())
    sets = [
        [{"type": "function", "function": {"name": f"{kind}_{k}", "parameters": {}}} for k in range(3)]
        for kind in ("crm", "shop")
    ]
    records = [stage.send(chat(STATIC, f"Hi {n}?", tools=sets[n % 2])) for n in range(6)]
    assert (
        len({record.template for record in records[::2]})
        == len({record.template for record in records}) - 1
        == 1
    )
    assert not any(record.diagnosis.attribution == "caller" for record in records)


def test_documents_before_rules_are_blamed_once_it_is_known_that_they_never_return() -> None:
    stage = Stage(Provider())
    records = [stage.send(chat(prose(8_000, n) + prose(3_000, "rules"), f"Question {n}?")) for n in range(24)]
    causes = [record.diagnosis.cause for record in records]
    assert causes[:ENOUGH] == ["PC801"] * ENOUGH
    assert set(causes[ENOUGH:]) <= {"PC401", "PC402"}
    assert all(record.diagnosis.lost_tokens for record in records[ENOUGH:])


def test_a_conversation_that_goes_on_with_other_documents_is_compared_with_itself() -> None:
    stage = Stage(Provider())
    turns = [
        "Where is my parcel, which I sent on Monday?",
        "At the depot in the north.",
        "And when does it come?",
    ]
    stage.send(chat(prose(2_000, "rules") + prose(4_000, 1), turns[0]))
    record = stage.send(chat(prose(2_000, "rules") + prose(4_000, 2), *turns))
    assert record.diagnosis.compared_with is not None


def test_what_lodged_and_returned_is_the_same_after_a_restart() -> None:
    stage, again = Stage(Provider()), Stage(Provider())
    bodies = [chat(prose(4_000, n % 5) + prose(1_100, "foot"), f"Question {n}?") for n in range(15)]
    names = [stage.send(body).template for body in bodies][-5:]
    again.observer._templates.recall(stage.observer._templates.take_learned())
    assert [again.send(body).template for body in bodies[-5:]] == names


def test_many_that_share_a_part_are_not_all_remembered() -> None:
    masker = Masker()
    templates = Templates(masker)
    for n in range(2 * MOST):
        body = chat(prose(300, n) + prose(500, "foot"), f"Question {n}?")
        templates.name("t", None, read_prompt(body, masker))
    (owner,) = templates._tenants.values()
    assert len(owner.heads.lodgers) <= MOST + 1
    assert len(owner.heads.signatures) <= MOST + 1
