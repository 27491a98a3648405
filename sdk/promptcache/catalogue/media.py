"""PC7: images and files."""

from __future__ import annotations

from promptcache.catalogue.cause import Cause

CAUSES = (
    Cause(
        "PC701",
        "image-bytes-changed",
        "The same image came in other bytes",
        "An image was encoded again, or its link signed again, between turns. The picture is the same; the "
        "cache compares what was sent.",
        "Encode once and keep the encoded form, or upload the file and refer to its id.",
    ),
    Cause(
        "PC702",
        "image-detail-changed",
        "The detail setting of an image changed",
        "The same image was sent at another detail level, which turns it into other tokens.",
        "Choose the detail when the image is first sent, and replay it.",
    ),
)
