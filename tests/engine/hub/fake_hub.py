"""A Hugging Face hub of one's own: the few addresses ``huggingface_hub`` asks for, on a local port."""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"
Repositories = Mapping[str, Mapping[str, bytes]]


@dataclass
class FakeHub:
    """Its address, and what was asked of it."""

    endpoint: str
    served: list[str] = field(default_factory=list)


@contextmanager
def fake_hub(repositories: Repositories, *, gated: frozenset[str] = frozenset()) -> Iterator[FakeHub]:
    """Serve ``{"owner/name": {"path": content}}`` at revision ``main``."""
    hub = FakeHub("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_arguments: Any) -> None:
            """Say nothing."""

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, *, body: bool) -> None:
            parts = self.path.partition("?")[0].strip("/").split("/")
            is_api = parts[:2] == ["api", "models"]
            repo = "/".join(parts[2:4] if is_api else parts[:2])
            rest = parts[4:] if is_api else parts[2:]
            files = repositories.get(repo)
            if repo in gated:
                self.reply(403, b"{}", {"X-Error-Code": "GatedRepo"}, body=body)
            elif files is None:
                self.reply(404, b"{}", {"X-Error-Code": "RepoNotFound"}, body=body)
            elif len(rest) > 1 and rest[1] not in ("main", COMMIT):
                self.reply(404, b"{}", {"X-Error-Code": "RevisionNotFound"}, body=body)
            elif is_api:
                self.reply(200, json.dumps(described(repo, files, rest)).encode(), {}, body=body)
            elif (content := files.get("/".join(rest[2:]))) is None:
                self.reply(404, b"", {"X-Error-Code": "EntryNotFound"}, body=body)
            else:
                tag = {"ETag": f'"{blob_id(content)}"', "X-Repo-Commit": COMMIT}
                if body:
                    hub.served.append("/".join(rest[2:]))
                self.reply(200, content, tag, body=body)

        def reply(self, status: int, content: bytes, headers: Mapping[str, str], *, body: bool) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def described(repo: str, files: Mapping[str, bytes], rest: list[str]) -> Any:
    """What the hub's API says of a repository: its commit and files, or the tree of them."""
    if rest[:1] == ["tree"]:
        return [
            {"type": "file", "path": path, "size": len(content), "oid": blob_id(content)}
            for path, content in files.items()
        ]
    return {"id": repo, "sha": COMMIT, "siblings": [{"rfilename": path} for path in files], "tags": []}


def blob_id(content: bytes) -> str:
    """Git's name for a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def files_of(folder: Path) -> dict[str, bytes]:
    """A folder's files as a repository's."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
