"""A Hugging Face folder's small files: configuration, generation configuration, tokenizer, chat template.

What the numbers mean is ``hf_config``'s business, and the weights are ``hf_tensors``'.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptcache_engine.models.errors import ModelFileError
from promptcache_engine.tokenizer.hugging_face import HuggingFaceTokenizer

_TOKEN_ROLES = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token")


class HFFolder:
    """The files of ``folder`` that say what the weights are.

    Attributes:
        path: the folder.
        config: the mapping in ``config.json``; ``config_path`` is that file.

    Raises:
        ModelFileError: ``config.json`` is missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.config_path = str(folder / "config.json")
        self.config = _read_json(folder / "config.json", required=True)
        self._tokenizer_config = _read_json(folder / "tokenizer_config.json")

    def eos_token_ids(self) -> tuple[int, ...]:
        """Return the ids that the generation configuration or the configuration says end an answer."""
        found = {index for _, place in self._id_places() for index in _ids(place.get("eos_token_id"))}
        return tuple(sorted(found))

    def _id_places(self) -> list[tuple[str, Mapping[str, Any]]]:
        """What names tokens by their ids, each with its file."""
        generation, text = self.path / "generation_config.json", self.config.get("text_config")
        places = [(str(generation), _read_json(generation)), (self.config_path, self.config)]
        return places + ([(self.config_path, dict(text))] if isinstance(text, Mapping) else [])

    def special_tokens(self) -> dict[str, str]:
        """Return the texts that chat templates know by name; a token the folder does not name is left out."""
        given = {name: self._tokenizer_config.get(name) for name in _TOKEN_ROLES}
        texts = {
            name: token.get("content") if isinstance(token, Mapping) else token
            for name, token in given.items()
        }
        return {name: text for name, text in texts.items() if isinstance(text, str)}

    def tokenizer(self, vocab_size: int) -> HuggingFaceTokenizer:
        """Build the tokenizer for a model of ``vocab_size`` tokens."""
        path = self.path / "tokenizer.json"
        if not path.is_file():
            remedy = "Convert it once: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
            raise ModelFileError(str(self.path), "the folder has no tokenizer.json", remedy=remedy)
        adds_bos = self._tokenizer_config.get("add_bos_token")
        for file, values in self._id_places():
            _check_ids(file, values, vocab_size)
        return HuggingFaceTokenizer(
            str(path),
            _read_text(path),
            vocab_size=vocab_size,
            roles=self.special_tokens(),
            eos_token_ids=self.eos_token_ids(),
            adds_bos=adds_bos if isinstance(adds_bos, bool) else None,
        )

    def chat_template(self) -> str | None:
        """Return the template's text, from the file of its own or from the tokenizer's configuration."""
        for name in ("chat_template.jinja", "chat_template.json"):
            path = self.path / name
            if path.is_file():
                own = _read_text(path) if name.endswith("jinja") else _read_json(path).get("chat_template")
                return own if isinstance(own, str) else None
        given = self._tokenizer_config.get("chat_template")
        if isinstance(given, list):  # several, each with a name
            given = next(
                (
                    each.get("template")
                    for each in given
                    if isinstance(each, Mapping) and each.get("name") == "default"
                ),
                None,
            )
        return given if isinstance(given, str) else None


def _ids(value: Any) -> list[int]:
    values = value if isinstance(value, list) else [value]
    return [index for index in values if isinstance(index, int) and not isinstance(index, bool)]


def _check_ids(path: str, values: Mapping[str, Any], vocab_size: int) -> None:
    """Refuse a role's token that the model does not have, by its key."""
    for key in ("bos_token_id", "eos_token_id"):
        given = values.get(key)
        one = [] if given is None else [given]
        for index in given if isinstance(given, list) and key == "eos_token_id" else one:
            if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < vocab_size:
                problem = f"names a token that is none of the model's {vocab_size}"
                raise ModelFileError(path, problem, where=f"key {key}")


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        remedy = "Check the file and its permissions"
        raise ModelFileError(str(path), f"cannot be read ({error})", remedy=remedy) from error


def _read_json(path: Path, *, required: bool = False) -> dict[str, Any]:
    if not path.is_file():
        if required:
            remedy = "Give a folder with config.json, tokenizer.json and safetensors files, or a .gguf file"
            raise ModelFileError(str(path.parent), f"the folder has no {path.name}", remedy=remedy)
        return {}
    try:
        values = json.loads(_read_text(path))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(str(path), f"is not JSON that can be read ({error})") from error
    if not isinstance(values, dict):
        raise ModelFileError(str(path), "is not a JSON object")
    return values
