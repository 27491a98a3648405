"""Between APIs: a call in one dialect answered by an upstream that speaks another."""

from promptcache_gateway.translate.bridge import send_across

__all__ = ["send_across"]
