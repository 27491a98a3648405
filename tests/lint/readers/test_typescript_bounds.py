"""How much is looked at grows no faster than a module: images signed, reasoning left out."""

from __future__ import annotations

import pytest

from promptcache_lint import lint_text
from promptcache_lint.readers.typescript.conversations.names import Names

pytest.importorskip("tree_sitter")

HEAD = """
import OpenAI from "openai";
const client = new OpenAI();
"""
PARTS = """
async function part{n}(photo: any) {{
  const url = await getSignedUrl(s3, photo.key);
  return {{ type: "image_url", image_url: {{ url }} }};
}}
"""
KEPT = """
  const kept{n} = answer{n}.content.filter((block) => block.type !== "thinking");
  log({{ role: "assistant", content: "{n}" }});
"""
ASKS = """
async function ask(messages: any[]) {
  return client.chat.completions.create({ model: "m", messages });
}
"""


def _asked(monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    """How often it is asked which variable an expression is."""
    asked = 0
    key = Names.key

    def counted(self: Names, node: object) -> object:
        nonlocal asked
        asked += 1
        return key(self, node)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Names, "key", counted)
        lint_text(HEAD + text, "talk.ts")
    return asked


@pytest.mark.parametrize("kind", ["parts", "kept"])
def test_names_are_looked_up_in_step_with_a_module(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def text(count: int) -> str:
        each = "".join({"parts": PARTS, "kept": KEPT}[kind].format(n=n) for n in range(count))
        return f"async function keep() {{\n{each}}}\n" * (kind == "kept") + each * (kind == "parts") + ASKS

    few, many = _asked(monkeypatch, text(20)), _asked(monkeypatch, text(80))
    assert few > 20
    assert many < 6 * few


@pytest.mark.parametrize("text", ["llm" * 60_000, "model: string\n" * 20_000])
def test_a_file_is_searched_for_its_models_in_time(text: str) -> None:
    assert lint_text(f"{HEAD}/* {text} */\n{ASKS}", "talk.ts").findings == ()
