"""Between APIs: a call in one dialect answered by an upstream that speaks another."""

from promptcache_gateway.translate.bridge import (
    across,
    as_taken,
    in_the_caller_s_words,
    left_out,
    send_across,
)

__all__ = ["across", "as_taken", "in_the_caller_s_words", "left_out", "send_across"]
