"""Who a head says that the assistant is: known in many languages, and no customer's name in it."""

from __future__ import annotations

import pytest

from promptcache.segments import cut_request
from promptcache_gateway.observe.faces import Face, face_of
from promptcache_gateway.observe.masking import Masker
from tests.gateway.observe.scenes import chat


def face(system: str) -> Face:
    return face_of(cut_request(chat(system, "Hello?"))[:1], Masker())


SAID = {
    "English": ("You are the billing agent of ACME.", "You are the refund agent of ACME."),
    "English, marked": ("# Who\nYou are **Ada**, who sells", "# Who\nYou are **Bob**, who sells"),
    "English, behind": ("Rules. Act as a tester: be bold.", "Rules. Act as a cook: be bold."),
    "JSON": ('{"who":"You\'re a tester."}', '{"who":"You\'re a cook."}'),
    "German": ("Du bist der Rechnungsagent.", "Du bist der Versandagent."),
    "French": ("Vous \u00eates l'agent de vente.", "Vous \u00eates l'agent de retour."),
    "Spanish": ("Eres un agente de ventas.", "Eres un agente de soporte."),
    "Portuguese": ("Voc\u00ea \u00e9 um vendedor.", "Voc\u00ea \u00e9 um cozinheiro."),
    "Italian": ("Sei un venditore.", "Sei un cuoco."),
    "Dutch": ("Je bent een verkoper.", "Je bent een kok."),
    "Polish": ("Jeste\u015b sprzedawc\u0105.", "Jeste\u015b kucharzem."),
    "Russian": (
        "\u0422\u044b \u2014 \u043f\u0440\u043e\u0434\u0430\u0432\u0435\u0446.",
        "\u0422\u044b \u2014 \u043f\u043e\u0432\u0430\u0440.",
    ),
    "Chinese": (
        "\u4f60\u662f\u5ba2\u670d\u4e13\u5458\u3002",
        "\u4f60\u662f\u9000\u6b3e\u4e13\u5458\u3002",
    ),
    "Japanese": (
        "\u3042\u306a\u305f\u306f\u7ffb\u8a33\u8005\u3067\u3059\u3002",
        "\u3042\u306a\u305f\u306f\u6559\u5e2b\u3067\u3059\u3002",
    ),
    "Korean": (
        "\ub2f9\uc2e0\uc740 \ube44\uc11c\uc785\ub2c8\ub2e4.",
        "\ub2f9\uc2e0\uc740 \uad50\uc0ac\uc785\ub2c8\ub2e4.",
    ),
    "Thai": (
        "\u0e04\u0e38\u0e13\u0e40\u0e1b\u0e47\u0e19\u0e04\u0e23\u0e39",
        "\u0e04\u0e38\u0e13\u0e40\u0e1b\u0e47\u0e19\u0e41\u0e21\u0e48",
    ),
}


@pytest.mark.parametrize("language", SAID)
def test_who_answers_is_told_apart(language: str) -> None:
    one, other = SAID[language]
    assert 0 != face(one).persona != face(other).persona != 0
    assert face(one).persona == face(f"{one}\nAnd more is said, in {len(one)} words.").persona


def test_it_stands_behind_documents_too() -> None:
    documents = "The parcel was sent. " * 1_500
    assert face(f"{documents}\nYou are a tester.").persona == face("You are a tester.").persona


@pytest.mark.parametrize("said", ["You are a helpful assistant for {}.", "Du bist der Assistent von {}!"])
def test_a_customers_name_and_a_clock_make_nobody_else(said: str) -> None:
    assert face(said.format("Alice Smith")).persona == face(said.format("Omar")).persona != 0
    assert face("You are a bot at 10:00:01.").persona == face("You are a bot at 11:30:59.").persona


def test_what_is_said_about_a_reader_is_nobodys_role() -> None:
    texts = (
        "You are entitled to a refund.",
        "If you are a customer, ask.",
        "Refunds. You are not alone.",
        "",
    )
    assert [face(text).persona for text in texts] == [0, 0, 0, 0]


def test_first_lines_are_the_same_whatever_value_is_in_them() -> None:
    one, other = (face(f"It is 2026-11-29T10:{minute}:00Z.\nBe kind.") for minute in (10, 11))
    assert one.line == other.line != 0
    assert face("A line that nothing follows").line == 0
    assert face("-" * 40 + "\nBe kind.").line == 0
    assert face("long " * 90 + "\nBe kind.").line == 0
