"""Between APIs: a call in one dialect answered by an upstream that speaks another."""

from promptcache_gateway.translate.bridge import across, can_take, left_out, send_across

__all__ = ["across", "can_take", "left_out", "send_across"]
