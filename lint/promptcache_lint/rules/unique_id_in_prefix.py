"""# Unique id in the prefix

## What it does
Finds ids that are made for one request or one conversation (UUIDs, tokens, request, trace and session ids)
in the part of a prompt that should stay the same.

## Why is this bad?
An id that no other request has makes the prefix unique: nothing behind it can ever be reused. Ids of a
session or conversation are a warning: within the conversation they hold, across conversations they do not.

## Example
```python
import uuid

def system_prompt():
    return f"Request {uuid.uuid4()}. You are a legal assistant. Quote the paragraph you rely on."
```
```text
Trace: {request_id}
You are a legal assistant. Quote the paragraph you rely on.
```

## Use instead
Send ids beside the prompt (a header, `metadata`, your log), where the model does not read them.
```python
import logging
import uuid

SYSTEM = "You are a legal assistant. Quote the paragraph you rely on."

def ask(client, question):
    request_id = str(uuid.uuid4())
    logging.info("request %s", request_id)
    return client.messages.create(
        model="m",
        system=SYSTEM,
        metadata={"request": request_id},
        messages=[{"role": "user", "content": question}],
    )
```
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability, Text, flatten
from promptcache_lint.rule import Sign, SignRule

if TYPE_CHECKING:
    from promptcache_lint.exposure import Exposed
    from promptcache_lint.prompts import Trait

_BOUNDARY = re.compile(
    r"(?:start|begin|end|input|content|data|document|boundary|delimiter|untrusted)[_: =-]*$", re.IGNORECASE
)


class UniqueIdInPrefix(SignRule):
    """PC102."""

    code = "PC102"
    what = "A unique id"
    signs = (
        Sign(
            Mark("PC102", Severity.ERROR, Stability.TURN),
            python=(
                "uuid.uuid1",
                "uuid.uuid4",
                "uuid.uuid6",
                "uuid.uuid7",
                "secrets.token_hex",
                "secrets.token_urlsafe",
                "secrets.token_bytes",
                "shortuuid.uuid",
                "shortuuid.random",
                "ulid.new",
                "ulid.ULID",
                "ulid.ulid",
                "nanoid.generate",
                "ksuid.ksuid",
                "bson.ObjectId",
                "bson.objectid.ObjectId",
                "cuid.cuid",
                "cuid2.cuid_wrapper",
            ),
            names=(
                r"uuid[1467]?|guid|ulid|nano_?id|nonce|random_?id|unique_?id|cache_?buster",
                (
                    r"(?:request|req|trace|span|correlation|message|msg|run|call|job|execution|invocation)_"
                    r"?(?:id|uuid|guid)"
                ),
                r"(?:generate|new|make|create)_(?:uuid|guid|ulid|id|request_id)",
            ),
        ),
        Sign(
            Mark("PC102", Severity.WARNING, Stability.CONVERSATION),
            names=(r"(?:session|conversation|chat|thread|ticket)_?(?:id|uuid|guid)",),
        ),
    )

    def matters(self, exposed: Exposed, trait: Trait) -> bool:  # noqa: ARG002
        """In one text, a random mark ``<START_{nonce}>`` begins what is quoted: new in any case."""
        if exposed.segment.role != "prompt":
            return True
        return not any(
            part is exposed.part and isinstance(before, Text) and _BOUNDARY.search(before.text)
            for before, part in pairwise(flatten(exposed.segment.parts))
        )
