"""The main job on real input: reuse that is reported, misses that are explained, by the real client."""

import json
from datetime import datetime
from pathlib import Path

import jinja2
import openai
import pytest

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.hub import resolve_model
from promptcache_engine.tokenizer.from_gguf import tokenizer_from_gguf
from promptcache_lint.cli import main as lint
from tests.acceptance.serving import MODEL, RULES, Served, ask, with_system

pytestmark = pytest.mark.model

PROMPTS = Path(__file__).parents[2] / "examples" / "prompts"


def test_the_second_question_reuses_the_system_prompt(served: Served) -> None:
    empty_cache(served)
    system = "You answer for Fabrikam's help desk.\n" + RULES
    _, first = ask(served, with_system(system, "Where is my parcel?"))
    headers, second = ask(served, with_system(system, "How do I return a lamp?"))
    assert first.usage.prompt_tokens > 1500
    assert "cached_tokens" in first.usage.prompt_tokens_details.model_fields_set
    assert first.usage.prompt_tokens_details.cached_tokens == 0
    shared = first.usage.prompt_tokens - 16  # the question and the turn's closing tokens
    assert second.usage.prompt_tokens_details.cached_tokens >= 0.95 * shared
    assert int(headers["x-promptcache-cached-tokens"]) == second.usage.prompt_tokens_details.cached_tokens
    assert "x-promptcache-cause" not in headers


def test_streams_report_the_same_reuse(served: Served) -> None:
    empty_cache(served)
    system = "You answer for Contoso's night shift.\n" + RULES

    def stream(question: str):
        chunks = list(
            served.client.chat.completions.create(
                model=MODEL,
                messages=with_system(system, question),
                max_tokens=8,
                temperature=0,
                stream=True,
                stream_options={"include_usage": True},
            )
        )
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        usage = [chunk.usage for chunk in chunks if chunk.usage]
        assert len(usage) == 1
        return text, usage[0]

    _, cold = stream("Who is on call?")
    text, warm = stream("Which door is open?")
    assert cold.prompt_tokens_details.cached_tokens == 0
    assert warm.prompt_tokens_details.cached_tokens >= 0.95 * (cold.prompt_tokens - 16)
    _, whole = ask(served, with_system(system, "Which door is open?"))
    assert whole.choices[0].message.content == text


def test_prompts_that_share_nothing_blame_nobody(served: Served) -> None:
    """Behind no system prompt, only the chat template's opening is common to all three."""

    def cached(prompt: str):
        headers, answer = ask(
            served,
            [{"role": "user", "content": prompt}],
            extra_headers={"x-promptcache-template": "incidents"},
        )
        record = served.get(f"/promptcache/v1/requests/{headers['x-promptcache-request-id']}").json()
        return answer.usage.prompt_tokens_details.cached_tokens, record["diagnosis"]

    empty_cache(served)
    first, _ = cached("Summarize this incident report in one paragraph.")
    second, second_why = cached("Summarize this incident report in three bullet points.")
    third, third_why = cached("Write a one-paragraph summary of this incident report.")
    assert first == 0
    assert second == third + len(tokens_of("Summarize this incident report in"))
    for diagnosis in (second_why, third_why):
        assert diagnosis["attribution"] != "caller"
        assert not diagnosis["lost_tokens"]
        assert diagnosis["cause"] in (None, "PC801")


def empty_cache(served: Served) -> None:
    assert served.post("/promptcache/v1/cache/reset").json() == {"success": True}


def tokens_of(text: str) -> list[int]:
    tokenizer, _ = tokenizer_from_gguf(GGUFFile(resolve_model(MODEL)))
    return tokenizer.encode(text)


def support_prompt(now: datetime) -> str:
    """The example's template as an application would render it, with enough text behind it to matter."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(PROMPTS), autoescape=False)
    workshops = [{"city": "Lisbon", "phone": "extension 4"}]
    return environment.get_template("support.j2").render(now=lambda: now, workshops=workshops) + "\n" + RULES


def test_a_clock_is_found_in_traffic_and_in_the_source(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    name = {"x-promptcache-template": "support"}
    earlier = support_prompt(datetime(2026, 11, 29, 15, 3, 11))
    later = support_prompt(datetime(2026, 11, 29, 15, 4, 52))
    ask(served, with_system(earlier, "Hello?"), extra_headers=name)
    headers, _ = ask(served, with_system(later, "Hello?"), extra_headers=name)

    assert headers["x-promptcache-cause"] == "PC101"
    assert headers["x-promptcache-path"] == "messages[0]"
    record = served.get(f"/promptcache/v1/requests/{headers['x-promptcache-request-id']}").json()
    diagnosis = record["diagnosis"]
    assert (diagnosis["cause"], diagnosis["path"], diagnosis["attribution"]) == (
        "PC101",
        "messages[0]",
        "caller",
    )
    assert diagnosis["char_offset"] == earlier.index("3:11")
    assert diagnosis["lost_tokens"] > 1400
    assert diagnosis["remedy"]
    assert headers["x-promptcache-char-offset"] == str(diagnosis["char_offset"])
    assert headers["x-promptcache-lost-tokens"] == str(diagnosis["lost_tokens"])
    assert headers["x-promptcache-remedy"]
    templates = {row["name"]: row for row in served.get("/promptcache/v1/templates").json()}
    support = templates["support"]
    assert support["hit_rate"] == pytest.approx(support["cached_tokens"] / support["prompt_tokens"])
    assert [cause["code"] for cause in support["causes"] if cause["lost_tokens"]] == ["PC101"]

    status = lint([str(PROMPTS), "--output-format", "json"])
    findings = json.loads(capsys.readouterr().out)
    assert status == 1
    assert [(Path(f["filename"]).name, f["code"]) for f in findings] == [("support.j2", "PC101")]


def test_templates_are_learned_where_nobody_names_them(served: Served) -> None:
    system = "You are the night librarian of Tailspin. It is {} now.\n" + RULES
    seen = set()
    for minute in (11, 12, 13):
        headers, _ = ask(served, with_system(system.format(f"2026-11-29T02:{minute}:07Z"), f"Book {minute}?"))
        seen.add(headers["x-promptcache-template"])
    assert len(seen) == 1


def test_the_api_s_own_errors_reach_the_client(served: Served) -> None:
    with pytest.raises(openai.NotFoundError, match="smollm2-135m-instruct"):
        served.client.chat.completions.create(model="gpt-9", messages=[{"role": "user", "content": "hi"}])
    with pytest.raises(openai.BadRequestError) as caught:
        ask(served, [])
    assert caught.value.param == "messages"
