"""Models of the Hugging Face hub, by names such as ``hf:owner/name``: brought here by ``huggingface_hub``.

The library is imported when such a name is used. It keeps the files in its own cache, which other programs
share, checks their sizes and digests, and serves them from there when the hub cannot be reached.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from promptcache_engine.hub.errors import ModelUnavailableError

PREFIX = "hf:"
_NAME = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?(?::(?P<file>[\w./-]+\.gguf))?")
_WANTED = ("*.json", "*.jinja", "model*.safetensors")
_FORM = "Write hf:owner/name, hf:owner/name@revision or hf:owner/name:file.gguf"


@dataclass(frozen=True, slots=True)
class HubName:
    """``hf:owner/name@revision:file.gguf``, taken apart; no ``file`` means the whole folder."""

    repo: str
    revision: str | None
    file: str | None


def parse_hub_name(name: str) -> HubName:
    """Take a name that begins with ``hf:`` apart; raise ModelUnavailableError where it is not one."""
    match = _NAME.fullmatch(name.removeprefix(PREFIX))
    if match is None:
        raise ModelUnavailableError(name, "is not the name of a model on the Hugging Face hub", _FORM)
    return HubName(match["repo"], match["revision"], match["file"])


def fetch_from_hub(name: str, *, cache_dir: Path | None, progress: Callable[[str], None]) -> Path:
    """Return the folder or GGUF file that ``name`` stands for, downloading what is not here yet.

    Args:
        name: begins with ``hf:``.
        cache_dir: where to keep files; None: the hub library's own cache.
        progress: called with a line before the download.

    Raises:
        ModelUnavailableError: not a name, the library is missing, the hub refuses or cannot be reached and
            the files are not cached, or the repository holds no model in a format that is read.
    """
    wanted = parse_hub_name(name)
    try:
        import huggingface_hub as hub  # noqa: PLC0415 - loaded only where a hub's name is used
    except ImportError as error:
        remedy = "Install it with: pip install 'promptcache[engine]'"
        raise ModelUnavailableError(name, "needs the package huggingface_hub", remedy) from error
    progress(f"looking for {wanted.repo} on the Hugging Face hub")
    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        if wanted.file is not None:
            found = hub.hf_hub_download(
                wanted.repo, wanted.file, revision=wanted.revision, cache_dir=cache_dir, endpoint=endpoint
            )
            return Path(found)
        folder = hub.snapshot_download(
            wanted.repo,
            revision=wanted.revision,
            cache_dir=cache_dir,
            endpoint=endpoint,
            allow_patterns=list(_WANTED),
            ignore_patterns=["*/*"],
        )
    except Exception as error:
        raise _explained(name, wanted, error) from error
    path = Path(folder)
    if not any(path.glob("model*.safetensors")):
        files = _listed(lambda: hub.HfApi(endpoint=endpoint).list_repo_files(wanted.repo))
        raise _no_weights(name, wanted, files)
    return path


def _explained(name: str, wanted: HubName, error: Exception) -> ModelUnavailableError:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "GatedRepoError" in kinds:
        remedy = f"Accept its terms at huggingface.co/{wanted.repo}, then log in: hf auth login"
        return ModelUnavailableError(name, "its terms have to be accepted first", remedy)
    if "RepositoryNotFoundError" in kinds:
        remedy = "Check the spelling; for a private model log in first: hf auth login"
        return ModelUnavailableError(name, "the hub has no such model, or hides it", remedy)
    if "RevisionNotFoundError" in kinds:
        return ModelUnavailableError(name, f"the model has no revision {wanted.revision}", _FORM)
    if kinds & {"LocalEntryNotFoundError", "IncompleteSnapshotError", "OfflineModeIsEnabled"}:
        remedy = "Check the connection (HF_ENDPOINT, HF_HUB_OFFLINE) and try again, or give a local path"
        return ModelUnavailableError(name, "the hub cannot be reached and the files are not here", remedy)
    if "EntryNotFoundError" in kinds:
        return ModelUnavailableError(name, f"the model has no file {wanted.file}", _FORM)
    problem = f"the download failed ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
    return ModelUnavailableError(name, problem, "Try again, or give a local path")


def _listed(list_files: Callable[[], list[str]]) -> list[str]:
    """The repository's files, as far as the hub tells; they only make an error's text better."""
    try:
        return list_files()
    except Exception:  # noqa: BLE001 - without them the error is as true
        return []


def _no_weights(name: str, wanted: HubName, files: list[str]) -> ModelUnavailableError:
    known = [file for file in sorted(files) if file.endswith(".gguf")]
    remedy = "Choose a model with safetensors files, or a GGUF file"
    if known:
        remedy = f"Name one of its files: {', '.join(f'hf:{wanted.repo}:{file}' for file in known[:8])}"
    return ModelUnavailableError(name, "the model has no safetensors files", remedy)
