"""Images that helpers sign or compress anew for each request, and those that are made once."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, Severity, lint_text

HELPERS = """
import base64, io, boto3
from functools import cache
from openai import OpenAI
from PIL import Image
client = OpenAI()
s3 = boto3.client("s3")
def link(key):
    return s3.generate_presigned_url("get_object", Params={"Bucket": "scans", "Key": key})
def encode(path):
    buf = io.BytesIO()
    Image.open(path).save(buf, format="JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(buf.getvalue()).decode()
def lossless(path):
    buf = io.BytesIO()
    Image.open(path).save(buf, format="PNG")
    return base64.b64encode(buf.getvalue()).decode()
def read(path):
    return "data:image/jpeg;base64," + base64.b64encode(open(path, "rb").read()).decode()
@cache
def once(path):
    return encode(path)
def part(url):
    return {"type": "image_url", "image_url": {"url": url}}
def chat(history, path, text):
    new = {"role": "user", "content": text}
    BODY
    return client.chat.completions.create(model="m", messages=messages)
"""
IMAGE = "{'type': 'image_url', 'image_url': {'url': MADE}}"
ALL = f"messages = [{{'role': h.role, 'content': [{IMAGE}]}} for h in history]"
FRONT = f"messages = [{{'role': 'user', 'content': [{IMAGE}]}}, *history, new]"
ADDED = f"history.append({{'role': 'user', 'content': [{IMAGE}]}})"
LOOP = (
    f"messages = []\n    for h in history:\n        messages.append({{'role': 'user', 'content': [{IMAGE}]}})"
)
CASES = {
    "all signed": (ALL.replace("MADE", "link(h.key)"), [("PC701", "error")]),
    "in a loop": (LOOP.replace("MADE", "link(h.key)"), [("PC701", "error")]),
    "one signed": (FRONT.replace("MADE", "link(path)"), [("PC701", "warning")]),
    "all encoded": (ALL.replace("MADE", "encode(h.path)"), [("PC701", "warning")]),
    "one encoded in front": (FRONT.replace("MADE", "encode(path)"), [("PC701", "warning")]),
    "all lossless": (ALL.replace("MADE", "lossless(h.path)"), [("PC701", "info")]),
    "encoded in place": (
        "buf = io.BytesIO()\n    Image.open(path).save(buf, format='WEBP')\n"
        "    url = 'data:' + base64.b64encode(buf.getvalue()).decode()\n    " + FRONT.replace("MADE", "url"),
        [("PC701", "warning")],
    ),
    "a record's": ("page = {'page': 0, 'image_url': link(path)}\n    messages = [*history, new]", []),
    "read": (ALL.replace("MADE", "read(h.path)"), []),
    "remembered": (ALL.replace("MADE", "once(h.path)"), []),
    "added once": (ADDED.replace("MADE", "encode(path)") + "\n    messages = history", []),
    "the newest": ("messages = [*history, {'role': 'user', 'content': [part(encode(path))]}]", []),
    "kept with the message": (ALL.replace("MADE", "h.url"), []),
    "shown": ("show(link(path), encode(path))\n    messages = [*history, new]", []),
}


@pytest.mark.parametrize(("body", "expected"), CASES.values(), ids=CASES)
def test_images_made_by_helpers(body, expected):
    report = lint_text(HELPERS.replace("BODY", body), "sight.py", Settings(severity=Severity.INFO))
    assert [(found.code, str(found.severity)) for found in report.findings] == expected
