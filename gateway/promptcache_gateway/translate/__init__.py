"""Between APIs: a call in one dialect answered by an upstream that speaks another."""

from promptcache_gateway.translate.bridge import across, left_out, send_across

__all__ = ["across", "left_out", "send_across"]
